"""The key file: it is read, or refused with advice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from scrapy_rep.extras.identity.keys import KeyPair
from scrapy_rep.protocol.errors import ConfigurationError


def test_key_that_others_can_read_is_refused_with_a_fix(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bot.pem"
    KeyPair.create(path)
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(ConfigurationError, match=f"chmod 600 {path}"):
            KeyPair.read(path)


@pytest.mark.parametrize(
    ("octets", "says"),
    [
        (None, "no key can be read"),
        (b"", "no private key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no private key"),
        ("encrypted", "the key is encrypted"),
        ("curve", "not an Ed25519 key"),
    ],
)
def test_file_without_a_key_is_refused(
    tmp_path: Path, octets: bytes | str | None, says: str
) -> None:
    path = tmp_path / "bot.pem"
    if octets == "encrypted":
        octets = _pem(Ed25519PrivateKey.generate(), BestAvailableEncryption(b"password"))
    elif octets == "curve":
        octets = _pem(generate_private_key(SECP256R1()), NoEncryption())
    if isinstance(octets, bytes):
        path.write_bytes(octets)
        path.chmod(0o600)
    with pytest.raises(ConfigurationError, match=says) as raised:
        KeyPair.read(path)
    assert "identity keygen" in str(raised.value)
    assert os.linesep not in str(raised.value)


def _pem(key: object, encryption: KeySerializationEncryption) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)  # type: ignore[attr-defined,no-any-return]
