"""The JSON that the operator of a crawler publishes: a set of keys, and a card.

The set of keys is that of draft-ietf-webbotauth-httpsig-protocol. The card is that of
draft-meunier-webbotauth-registry of 2026-08-20, which may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scrapy_rep.protocol.access.origin import DIRECTORY_PATH

from .signatures import thumbprint

_MOST_KEYS = 100
_OBJECT = "web_bot_auth"
_USER_AGENT = "expected-user-agent"
_TOKEN = "rfc9309-product-token"  # noqa: S105 - not a secret


@dataclass(frozen=True, slots=True)
class Profile:
    """The facts that an operator publishes about a crawler; empty text for an unknown one.

    Attributes:
        agent: the https origin that publishes the keys.
        name: the name for people.
        token: the product token.
        user_agent: the User-Agent header.
        purpose: the use of the content, such as `search`.
        contacts: URIs, such as `mailto:bot@bot.example`.
        is_compliant: whether it obeys robots.txt (RFC 9309).
    """

    agent: str
    name: str
    token: str
    user_agent: str
    purpose: str = ""
    contacts: tuple[str, ...] = ()
    is_compliant: bool = True

    @property
    def directory_url(self) -> str:
        """The URL of the keys."""
        return self.agent + DIRECTORY_PATH

    def card(self, url: str) -> dict[str, Any]:
        """The card to be served at `url`."""
        about = {
            _USER_AGENT: self.user_agent,
            _TOKEN: self.token,
            "rfc9309-compliance": self.is_compliant,
            "trigger": "crawler",
            "purpose": self.purpose,
        }
        card = {
            "client_id": url,
            "client_name": self.name,
            "client_uri": self.agent,
            "contacts": list(self.contacts),
            "jwks_uri": self.directory_url,
            _OBJECT: {name: value for name, value in about.items() if value != ""},
        }
        return {name: value for name, value in card.items() if value not in ("", [])}

    def disagreements(self, card: Mapping[str, Any]) -> list[str]:
        """How a served card contradicts the settings: its keys, User-Agent and product token."""
        ours, about = self.card(""), card.get(_OBJECT)
        theirs = {**card, **(about if isinstance(about, dict) else {})}
        return [
            f"{name} is {theirs[name]!r}, and this project has {one!r}"
            for name, one in {**ours, **ours[_OBJECT]}.items()
            if name in ("jwks_uri", _USER_AGENT, _TOKEN) and theirs.get(name, one) != one
        ]


def card_problems(card: object, url: str) -> list[str]:
    """Why a verifier would refuse the card that is served at `url`."""
    if not isinstance(card, dict):
        return ["card must be a JSON object"]
    contacts = card.get("contacts", [])
    is_list = isinstance(contacts, list) and all(
        isinstance(one, str) and ":" in one for one in contacts
    )
    wrong = {
        "client_id must match the card URL": card.get("client_id") != url,
        "card must not contain both jwks and jwks_uri": "jwks" in card and "jwks_uri" in card,
        "card must contain jwks or jwks_uri": "jwks" not in card and "jwks_uri" not in card,
        "contacts must be a list of URIs, such as mailto:bot@bot.example": not is_list,
        f"{_OBJECT} must be an object": not isinstance(card.get(_OBJECT, {}), dict),
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]


def key_set(keys: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """The JWK Set of some public keys; during a rotation, of the old one and the new one."""
    return {"keys": [{**key, "kid": thumbprint(key), "use": "sig"} for key in keys]}


def keys_by_id(keys: object) -> dict[str, Mapping[str, Any]]:
    """The keys of a JWK Set by their thumbprint, as far as they can be read."""
    return {keyid: key for key, keyid in _keys(keys) if keyid}


def key_set_problems(keys: object) -> list[str]:
    """Why a verifier would refuse a JWK Set, or one of its keys."""
    found = _keys(keys)
    problems = [] if found else ['it must be a JWK Set with a key: {"keys": [...]}']
    if len(found) > _MOST_KEYS:
        problems = [f"it has more than {_MOST_KEYS} keys; publish only those in use"]
    for key, keyid in found:
        name = key.get("kid") if isinstance(key, dict) else None
        wrong = {
            f"{name!r} is not a JSON Web Key": not keyid,
            f"the kid {name!r} must be the thumbprint {keyid!r}": bool(keyid) and name != keyid,
            f"the key {name!r} must have use: sig": bool(keyid) and key.get("use") != "sig",
            f"the key {name!r} is private: make a new one": bool(keyid) and "d" in key,
        }
        problems += [words for words, is_wrong in wrong.items() if is_wrong]
    return problems


def _keys(keys: object) -> list[tuple[Any, str]]:
    """The first members of a JWK Set, and their thumbprints; empty text if it is not a key."""
    listed = keys.get("keys") if isinstance(keys, dict) else None
    first = listed[: _MOST_KEYS + 1] if isinstance(listed, list) else []
    return [(key, _thumbprint(key)) for key in first]


def _thumbprint(key: object) -> str:
    try:
        return thumbprint(key) if isinstance(key, dict) else ""
    except (TypeError, ValueError):
        return ""
