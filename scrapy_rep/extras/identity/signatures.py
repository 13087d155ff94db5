"""HTTP message signatures of a crawler, as draft-ietf-webbotauth-httpsig-protocol uses RFC 9421.

Text in, text out: this module has neither keys nor a clock. A signature covers the *base* (RFC
9421, 2.5): a line for each component, and one for the parameters.

A request carries three fields with the same label: `Signature-Agent` (the origin that publishes the
keys), `Signature-Input` (the components and parameters) and `Signature`.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from json import dumps
from math import inf

from scrapy_rep.extras.structured import (
    BareItem,
    InnerList,
    Item,
    Token,
    dictionary,
    written,
)
from scrapy_rep.protocol.access.origin import DIRECTORY_PATH, origin_of
from scrapy_rep.protocol.units import DAY_SECONDS

TAG = "web-bot-auth"
"""The `tag` of the signatures of requests."""

DIRECTORY_TAG = "http-message-signatures-directory"
"""The `tag` of the signatures of a directory."""

DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
"""The media type of a directory."""

LIFETIME_SECONDS = 60
"""How long the signature of a request is valid."""

FIELDS = ("Signature-Agent", "Signature-Input", "Signature")
"""The header fields of a signed request."""

COMPONENTS = ("@authority", "@method", "@path")
"""The derived components that every request signs, before the member of `Signature-Agent`."""

_AGENT = "signature-agent"
_LABEL = "sig1"
_PARAMETERS = '"@signature-params": '
_LINE = re.compile(r"[\t -~]*")
_CLOCK_SECONDS = 60  # clocks differ
_DERIVED = frozenset({*COMPONENTS, "@scheme", "@target-uri", "@request-target", "@query"})
_NONCE_CHARACTERS = 512
_TYPES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("created", "expires"), (int, "an Integer")),
    **dict.fromkeys(("keyid", "tag", "alg", "nonce"), (str, "a String")),
}
_NEEDED = ("created", "expires", "keyid", "tag")
_MEMBERS = {"OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n"), "EC": ("crv", "kty", "x", "y")}
"""The members of a key that its thumbprint covers, by its type (RFC 7638, 3.2; RFC 8037, 2)."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request as it is sent: its method, absolute URL, and header fields by lower-case name.

    If `is_response`, the header fields are those of the response to this request.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    is_response: bool = False


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key: its thumbprint, and a function that signs octets with Ed25519."""

    keyid: str
    sign: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Signed:
    """A signature that a message carries.

    Attributes:
        base: the octets that it covers; empty if they cannot be known.
        fault: why they cannot, such as a component that the message lacks; or empty.
        signature: its octets; empty if the message lacks them.
        parameters: `created`, `expires`, `keyid`, `tag` and so on.
        agent: the URI of the member of `Signature-Agent` with this label; empty without one.
        components: the name of each component that it covers, and its parameters.
    """

    base: bytes
    fault: str
    signature: bytes
    parameters: Mapping[str, object]
    agent: str
    components: tuple[tuple[str, frozenset[tuple[str, object]]], ...]


@dataclass(frozen=True, slots=True)
class SignatureUse:
    """Rules for the signatures of one kind of message.

    Attributes:
        tag: their `tag`.
        covers: names of components, from each group of which a signature must cover one.
        longest_seconds: how long after `created` they may expire.
    """

    tag: str
    covers: tuple[tuple[str, ...], ...]
    longest_seconds: float


REQUESTS = SignatureUse(TAG, (("@authority", "@target-uri"), (_AGENT,)), DAY_SECONDS)
"""The rules for the signatures of requests."""

DIRECTORIES = SignatureUse(DIRECTORY_TAG, (("@authority",), ("content-digest",)), inf)
"""The rules for the signatures of a directory."""


@dataclass(frozen=True, slots=True)
class SignatureWish:
    """The components that a site wants to be signed, from `Accept-Signature` (RFC 9421, 5).

    Attributes:
        components: names of derived components and of header fields.
        nonce: to be copied into the signature; empty without one.
        label: the label of the signature.
    """

    components: tuple[str, ...]
    nonce: str = ""
    label: str = _LABEL


def thumbprint(key: Mapping[str, str]) -> str:
    """The `keyid` of a JSON Web Key: its SHA-256 thumbprint, base64url without padding (RFC 7638).

    Raises:
        ValueError: the key is of an unknown type, or lacks a member.
    """
    members = _MEMBERS.get(key.get("kty", ""))
    if members is None or not all(isinstance(key.get(name), str) for name in members):
        raise ValueError("no JSON Web Key of the type OKP, EC or RSA")
    text = dumps({name: key[name] for name in members}, separators=(",", ":"))
    return urlsafe_b64encode(sha256(text.encode()).digest()).rstrip(b"=").decode()


def signed_fields(
    message: Message, agent: str, key: SigningKey, now: float, wish: SignatureWish | None = None
) -> dict[str, str] | None:
    """The three header fields for a request that leaves at `now` (POSIX seconds).

    `agent` is the https origin that publishes the key. None if the URL names no origin, or if the
    site wishes a component that this request does not have.
    """
    wish = wish or SignatureWish(())
    names = dict.fromkeys((*COMPONENTS, *wish.components))
    names.pop(_AGENT, None)
    parameters: dict[str, BareItem] = {
        "created": int(now),
        "expires": int(now) + LIFETIME_SECONDS,
        "keyid": key.keyid,
        "alg": "ed25519",
        "tag": TAG,
    }
    if wish.nonce:
        parameters["nonce"] = wish.nonce
    covered = InnerList((*map(Item, names), Item(_AGENT, {"key": wish.label})), parameters)
    agent_field = f"{wish.label}={written(Item(agent))}"
    headers = {**message.headers, _AGENT: agent_field}
    sent = Message(message.method, message.url, headers)
    try:
        return {"Signature-Agent": agent_field} | _fields(sent, wish.label, covered, key)
    except ValueError:
        return None


def wish_of(accept_signature: str) -> SignatureWish | None:
    """The first wish of an `Accept-Signature` that a crawler can fulfil; None without one."""
    for label, member in (dictionary(accept_signature.encode("latin-1")) or {}).items():
        if not isinstance(member, InnerList):
            continue
        names = [item.value for item in member.items if isinstance(item.value, str)]
        are_plain = all(not item.parameters or item.value == _AGENT for item in member.items)
        nonce = member.parameters.get("nonce", "")
        tag = member.parameters.get("tag", TAG)
        is_known = all(not name.startswith("@") or name in _DERIVED for name in names)
        if not (are_plain and is_known and isinstance(nonce, str) and tag == TAG):
            continue
        if len(names) == len(member.items) and len(nonce) <= _NONCE_CHARACTERS:
            return SignatureWish(tuple(dict.fromkeys(names)), nonce, label)
    return None


def signatures_in(message: Message) -> dict[str, Signed]:
    """The signatures that a message carries, by label, unless an input has no components."""
    inputs = _members(message.headers.get("signature-input", ""))
    values = _members(message.headers.get("signature", ""))
    agents = agents_in(message.headers.get("signature-agent", ""))
    found = {}
    for label, covered in inputs.items():
        if not isinstance(covered, InnerList):
            continue
        octets = getattr(values.get(label), "value", None)
        base, fault = b"", ""
        try:
            base = _base(message, covered)
        except ValueError as error:
            fault = str(error)
        found[label] = Signed(
            base=base,
            fault=fault,
            signature=octets if isinstance(octets, bytes) else b"",
            parameters=covered.parameters,
            agent=agents.get(_agent_key(covered), ("", ""))[0],
            components=tuple(
                (str(item.value), frozenset(item.parameters.items())) for item in covered.items
            ),
        )
    return found


def agents_in(signature_agent: str) -> dict[str, tuple[str, str]]:
    """The URI and the type (`directory`, `jwks_uri`, `cimd`) by label of a `Signature-Agent`."""
    return {
        label: (member.value, str(member.parameters.get("type", "directory")))
        for label, member in _members(signature_agent).items()
        if isinstance(member, Item) and isinstance(member.value, str)
        if not isinstance(member.value, Token)
    }


def problem_of(signed: Signed, key: Mapping[str, object], use: SignatureUse, now: float) -> str:
    """Why a verifier would refuse a signature, before it computes anything; empty if it would not.

    `key` is the JSON Web Key with the `keyid` of the signature; empty if it is unknown.
    """
    malformed = _malformed(signed, use)
    if malformed:
        return malformed
    created, expires, tag, alg = map(signed.parameters.get, ("created", "expires", "tag", "alg"))
    assert isinstance(created, int) and isinstance(expires, int)  # noqa: S101, PT018 - by `_TYPES`
    valid_from, valid_until = key.get("nbf", -inf), key.get("exp", inf)
    place = (signed.agent or "its agent").removesuffix(DIRECTORY_PATH) + DIRECTORY_PATH
    return _first(
        {
            f"its tag is {tag!r}, not {use.tag!r}": tag != use.tag,
            "expires is before created": expires < created,
            f"it is valid for more than {use.longest_seconds / 3600:.0f} hours": (
                expires - created > use.longest_seconds
            ),
            "created is in the future": created > now + _CLOCK_SECONDS,
            f"it expired {now - expires:.0f} s ago": expires <= now,
            f"its key is unknown; the keys are at {place}": not key,
            "only keys of the type Ed25519 are verified here": key.get("crv") != "Ed25519",
            f"its alg is {alg!r}, not 'ed25519', that of its key": alg not in (None, "ed25519"),
            f"its key is not valid before nbf = {valid_from}": not _is_at_most(valid_from, now),
            f"its key is not valid after exp = {valid_until}": not _is_at_most(now, valid_until),
        }
    )


def _malformed(signed: Signed, use: SignatureUse) -> str:
    """Why a verifier would refuse the components or the types of the parameters; or empty."""
    found, names = signed.parameters, {name for name, _ in signed.components}
    return _first(
        {
            **{f"{name} is missing": name not in found for name in _NEEDED},
            **{
                f"{name} is not {words}": name in found and type(found[name]) is not kind
                for name, (kind, words) in _TYPES.items()
            },
            "it covers a component twice": len(set(signed.components)) < len(signed.components),
            **{
                f"it does not cover {' or '.join(group)}": names.isdisjoint(group)
                for group in use.covers
            },
            signed.fault: signed.fault != "",
            "the message lacks its Signature": not signed.signature,
            "it does not cover a String in Signature-Agent by its key": (
                _AGENT in names and not signed.agent
            ),
        }
    )


def _first(problems: Mapping[str, bool]) -> str:
    return next((words for words, is_so in problems.items() if is_so), "")


def _is_at_most(first: object, second: object) -> bool:
    """Whether both are numbers in this order."""
    return all(type(one) in (int, float) for one in (first, second)) and first <= second  # type: ignore[operator]


def directory_fields(
    body: bytes, authority: str, keys: Iterable[SigningKey], now: float, seconds: int
) -> dict[str, str]:
    """The header fields by which each key signs the directory that `authority` serves.

    They hold for `seconds` from `now` on, and for exactly these octets.

    Raises:
        ValueError: `authority` is not a host.
    """
    digest = f"sha-256={written(Item(sha256(body).digest()))}"
    url = f"https://{authority}{DIRECTORY_PATH}"
    message = Message("GET", url, {"content-digest": digest}, is_response=True)
    fields = {"Content-Digest": digest}
    for number, key in enumerate(keys):
        parameters: dict[str, BareItem] = {
            "created": int(now),
            "expires": int(now) + seconds,
            "keyid": key.keyid,
            "tag": DIRECTORY_TAG,
        }
        covered = InnerList((Item("@authority", {"req": True}), Item("content-digest")), parameters)
        made = _fields(message, f"binding{number or ''}", covered, key)
        fields |= {name: f"{fields[name]}, {made[name]}" for name in made.keys() & fields} or made
    return fields


def texts_of(headers: Mapping[bytes, Sequence[bytes]]) -> dict[str, str]:
    """Header fields as texts by lower-case name, as Scrapy holds them."""
    return {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
        for name, values in headers.items()
    }


def is_digest_of(body: bytes, content_digest: str) -> bool:
    """Whether a `Content-Digest` is that of a body, with SHA-256 (RFC 9530, 2)."""
    return _members(content_digest).get("sha-256") == Item(sha256(body).digest())


def _fields(message: Message, label: str, covered: InnerList, key: SigningKey) -> dict[str, str]:
    """The two fields with a signature."""
    base = _base(message, covered)
    parameters = base.decode().rpartition(_PARAMETERS)[2]  # its last line: they are written once
    return {
        "Signature-Input": f"{label}={parameters}",
        "Signature": f"{label}={written(Item(key.sign(base)))}",
    }


@lru_cache(maxsize=16)  # the `Signature-Agent` of a crawler stays the same
def _members(text: str) -> Mapping[str, Item | InnerList]:
    return dictionary(text.encode("latin-1", "replace")) or {}


def _agent_key(covered: InnerList) -> str:
    """The label of the member of `Signature-Agent` that a signature covers."""
    return next(
        (str(item.parameters.get("key", "")) for item in covered.items if item.value == _AGENT), ""
    )


def _base(message: Message, covered: InnerList) -> bytes:
    """The octets to sign (RFC 9421, 2.5).

    Raises:
        ValueError: the message lacks a component, or no signature of such a message has it.
    """
    lines = [f"{written(item)}: {_value_of(item, message)}" for item in covered.items]
    return "\n".join((*lines, _PARAMETERS + written(covered))).encode("ascii")


def _value_of(item: Item, message: Message) -> str:
    name, parameters, value = str(item.value), set(item.parameters), None
    if name.startswith("@"):  # a derived component (RFC 9421, 2.2)
        derived = {"@method": message.method.upper(), **_parts_of(message.url)}
        if parameters == ({"req"} if message.is_response else set()):
            value = derived.get(name)
    elif not parameters and name in message.headers:
        value = message.headers[name].strip()
    elif parameters == {"key"}:
        member = _members(message.headers.get(name, "")).get(str(item.parameters["key"]))
        value = None if member is None else written(member)
    if value is None or type(item.value) is not str or not _LINE.fullmatch(value):
        raise ValueError(f"the message has no {written(item)}")
    return value


@lru_cache(maxsize=4)  # for the components of one request
def _parts_of(url: str) -> Mapping[str, str]:
    """The derived components that follow from a URL; nothing if it names no origin."""
    origin = origin_of(url)
    if origin is None:
        return {}
    before, mark, query = url.partition("#")[0].partition("?")
    path = "/" + "".join(before.split("/", 3)[3:])
    target = f"{path}{mark}{query}"
    return {
        "@authority": str(origin).partition("://")[2],
        "@path": path,
        "@scheme": origin.scheme,
        "@query": f"?{query}",
        "@request-target": target,
        "@target-uri": f"{origin}{target}",
    }
