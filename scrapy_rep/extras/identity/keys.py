"""The key with which a crawler signs: Ed25519, in a PEM file that only its owner can read."""

from __future__ import annotations

import os
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from scrapy_rep.extras.identity.signatures import SigningKey, thumbprint
from scrapy_rep.protocol.errors import ConfigurationError

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_HOW = "Make one with 'scrapy rep identity keygen FILE'"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A key to sign with, and its public half.

    Attributes:
        signing: it has the thumbprint, and signs.
        jwk: the public key as a JSON Web Key: `kty`, `crv` and `x`.
    """

    signing: SigningKey
    jwk: Mapping[str, str]

    @classmethod
    def read(cls, path: str | Path) -> KeyPair:
        """Read a PEM file (PKCS8, not encrypted).

        Raises:
            ConfigurationError: it cannot be read, others can read it, or it is not an Ed25519 key.
        """
        try:
            with Path(path).open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                pem = file.read()
        except OSError as error:
            raise ConfigurationError(f"{path}: no key can be read ({error}). {_HOW}") from None
        if os.name == "posix" and mode & _OF_OTHERS:
            raise ConfigurationError(
                f"{path}: other users can read this key. Run: chmod 600 {path}"
            )
        try:
            key = load_pem_private_key(pem, password=None)
        except TypeError:
            raise ConfigurationError(f"{path}: the key is encrypted. {_HOW}") from None
        except (ValueError, UnsupportedAlgorithm):
            raise ConfigurationError(f"{path}: this is no private key in PEM. {_HOW}") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ConfigurationError(f"{path}: the key is not an Ed25519 key. {_HOW}")
        return cls._of(key)

    @classmethod
    def create(cls, path: str | Path) -> KeyPair:
        """Make a key, and write it to a new file that only its owner can read.

        Raises:
            OSError: the file exists (`FileExistsError`), or cannot be written.
        """
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        return cls._of(key)

    @classmethod
    def _of(cls, key: Ed25519PrivateKey) -> KeyPair:
        public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        jwk = {"crv": "Ed25519", "kty": "OKP", "x": urlsafe_b64encode(public).decode().rstrip("=")}
        return cls(SigningKey(thumbprint(jwk), key.sign), jwk)


def is_signed(octets: bytes, signature: bytes, jwk: Mapping[str, str]) -> bool:
    """Whether a signature of octets verifies with a public key."""
    try:
        public = Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(f"{jwk['x']}=="))
        public.verify(signature, octets)
    except (InvalidSignature, ValueError):
        return False
    return True
