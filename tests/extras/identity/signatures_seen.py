"""Verifies the signatures that a site was sent: RFC 9421 by hand, without the code under test."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from scrapy_rep.extras.identity.keys import KeyPair
from tests.servers.handle import Seen

AGENT = "https://bot.example"
_INPUT = re.compile(r'sig1=(\((?:"[^ )]+ ?)*\);created=(\d+);expires=(\d+);(.*))')


class Bot:
    """A crawler with a key: the settings by which it signs, and what a site can verify."""

    def __init__(self, folder: Path) -> None:
        self.agent = AGENT
        path = folder / "bot.pem"
        self.pem = path
        pair = KeyPair.create(path)
        self.keyid = pair.signing.keyid
        self._public = Ed25519PublicKey.from_public_bytes(
            base64.urlsafe_b64decode(pair.jwk["x"] + "=")
        )
        self.settings: dict[str, Any] = {"REP_SIGN_KEY": str(path), "REP_SIGN_AGENT": AGENT}

    def verify(self, seen: Seen, *, host: str = "", path: str = "") -> str:
        """Verify a request as if `host` had got it at `path`; return its parameters.

        Raises:
            InvalidSignature: its signature is not for that.
        """
        headers = seen.headers
        assert headers["signature-agent"] == f'sig1="{self.agent}"', "never the bare String"
        found = _INPUT.fullmatch(headers["signature-input"])
        assert found is not None, headers["signature-input"]
        values = {
            "@authority": (host or headers["host"]).lower(),
            "@method": seen.method,
            "@path": (path or seen.path).partition("?")[0],
            '"signature-agent";key="sig1"': f'"{self.agent}"',
            **headers,
        }
        names = found[1].partition(")")[0].lstrip("(").split(" ")
        assert names[:3] == ['"@authority"', '"@method"', '"@path"']
        assert names[-1] == '"signature-agent";key="sig1"'
        lines = [f"{name}: {values.get(name, values.get(name.strip(chr(34))))}" for name in names]
        base = "\n".join([*lines, f'"@signature-params": {found[1]}'])
        octets = base64.b64decode(headers["signature"].removeprefix("sig1=:").removesuffix(":"))
        self._public.verify(octets, base.encode())
        created, expires = int(found[2]), int(found[3])
        assert expires - created == 60
        assert abs(time.time() - created) < 60
        assert f'keyid="{self.keyid}"' in found[4]
        assert 'tag="web-bot-auth"' in found[4]
        return found[4]
