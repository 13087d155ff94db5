"""``scrapy rep identity verify``: does a signature of a request verify, and if not, why."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from scrapy_rep.commands.inputs import STDIN, octets_of
from scrapy_rep.commands.running import FOUND, OK, Call, CommandError
from scrapy_rep.extras.identity.card import key_set, keys_by_id
from scrapy_rep.extras.identity.keys import KeyPair, is_signed
from scrapy_rep.extras.identity.signatures import (
    REQUESTS,
    Message,
    SignatureUse,
    Signed,
    agents_in,
    problem_of,
    signatures_in,
)
from scrapy_rep.extras.structured import dictionary

Keys = Mapping[str, Mapping[str, Any]]  # public keys by their thumbprint

_REQUEST = re.compile(r"(?P<method>[A-Z]+) (?P<target>\S+)(?: HTTP/[\d.]+)?")


def verify(call: Call) -> int:
    """Verify the signatures of the request in a file."""
    names = call.options.names or [STDIN]
    message = _message(octets_of(names[0]).decode("latin-1"), names[0])
    keys, now = _keys(call), time.time() if call.options.at is None else call.options.at
    agent = message.headers.get("signature-agent", "")
    if agent and not agents_in(agent):
        call.remark(f'Signature-Agent must be a Dictionary: sig1="https://...", not {agent}')
    inputs = dictionary(message.headers.get("signature-input", "").encode("latin-1")) or {}
    signatures = signatures_in(message)
    if not inputs:
        call.line("no signature: Signature-Input is missing, or is not a Dictionary")
    verified = 0
    for label in inputs:
        signed = signatures.get(label)
        if signed is None:
            call.line(f"{label}: does not verify: its Signature-Input is not a list of components")
            continue
        refusal = refusal_of(signed, keys, REQUESTS, now)
        verified += not refusal
        words = f"does not verify: {refusal}" if refusal else "verifies"
        call.line(f"{label}: {words} (key {signed.parameters.get('keyid')}, {signed.agent})")
        if refusal:
            call.lines(("its signature base:", *signed.base.decode().splitlines()), "  ")
    return OK if verified else FOUND


def refusal_of(signed: Signed, keys: Keys, use: SignatureUse, now: float) -> str:
    """Why a verifier with these keys would refuse a signature; empty if it would not."""
    key = keys.get(str(signed.parameters.get("keyid")), {})
    problem = problem_of(signed, key, use, now)
    if problem:
        return problem
    if not is_signed(signed.base, signed.signature, key):
        return "another key made it, or the message has changed since"
    return ""


def _keys(call: Call) -> Keys:
    if not call.options.keys:
        if not call.ours.sign_key:
            raise CommandError("give --keys FILE, a JWK Set, or set REP_SIGN_KEY")
        return keys_by_id(key_set([KeyPair.read(call.ours.sign_key).jwk]))
    try:
        found = keys_by_id(json.loads(octets_of(call.options.keys)))
    except ValueError:
        found = {}
    if not found:
        raise CommandError(f'{call.options.keys}: not a JWK Set: {{"keys": [...]}}')
    return found


def _message(text: str, name: str) -> Message:
    """A request: its first line, and header fields."""
    first, *lines = text.strip().splitlines() or [""]
    request = _REQUEST.fullmatch(first.strip())
    headers: dict[str, str] = {}
    for line in lines:
        if not line.strip():
            break
        field, _, value = line.partition(":")
        field = field.strip().lower()
        headers[field] = ", ".join(filter(None, (headers.get(field, ""), value.strip())))
    target = request["target"] if request else ""
    url = f"https://{headers.get('host', '')}{target}" if target.startswith("/") else target
    if request is None or (target.startswith("/") and "host" not in headers):
        raise CommandError(
            f"{name}: begin with 'GET https://example.com/ HTTP/1.1', or with "
            "'GET / HTTP/1.1' and a line 'Host: example.com'"
        )
    return Message(request["method"], url, headers)
