"""The checks of settings: each check returns the value for use, or raises `ValueError`.

The user sees the setting's name and value, followed by the text of the `ValueError`. Values that
are more than a word or a number have a class here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy.settings import BaseSettings

from scrapy_rep.extras import part
from scrapy_rep.protocol.access.events import PRESETS, AccessPolicy
from scrapy_rep.protocol.access.origin import DEFAULT_PORTS, Origin
from scrapy_rep.protocol.access.redirects import FOLLOWED
from scrapy_rep.protocol.units import DAY_SECONDS

if TYPE_CHECKING:
    from tldextract import TLDExtract

_IGNORE = "ignore"
_NOTICE_SECONDS = 30 * DAY_SECONDS  # before its end, each start names a grant
_PATTERN = re.compile(
    r"((?P<scheme>[a-z*?]+)://)?(\[[0-9a-f:.*?]+\]|[a-z0-9._*?-]+)(?P<port>:[1-9*?][0-9*?]{0,4})?"
)
# Also of a `Path`, which keeps one slash; C:/ and C:\ are drives. A file URI may name its host.
_URI = re.compile(r"([a-z][a-z0-9+.-]+):/+(?:(?<=file://)localhost/)?", re.IGNORECASE)
_KEYS = ({"policy"}, {"robots_txt"})


def of_json(value: Any) -> Any:
    """Decode a string with a dict or a list in JSON, as the command line passes them."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"begins like JSON, but is not valid JSON ({error})") from None


def number(minimum: float, *, whole: bool = False) -> Callable[[Any], Any]:
    """A check for numbers of at least a minimum; strings with a number are accepted."""
    kind = "a whole number" if whole else "a number"

    def check(value: Any) -> Any:
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):  # OverflowError: 10**400
            number = float("nan")
        if not minimum <= number < float("inf") or (whole and number != int(number)):
            raise ValueError(f"must be {kind} of {minimum:g} or more")
        return int(number) if whole else number

    return check


def _listed(value: Any) -> Any:
    """A list; also one in JSON, or as a string with commas between its members."""
    value = of_json(value)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def numbers(value: Any) -> tuple[float, ...]:
    """A list of numbers of 0 or more, or a string with commas between them."""
    value = _listed(value)
    if isinstance(value, (list, tuple)):
        return tuple(map(number(0), value))
    raise ValueError("must be a list of numbers")


def networks(value: Any) -> tuple[Any, ...]:
    """A list of networks of IP addresses, as `ipaddress` has them."""
    listed = names(value)
    try:
        return tuple(map(ip_network, listed))
    except ValueError as error:
        raise ValueError(
            f"{error}: write networks such as '10.0.0.0/8' or 'fd00::/8', and single addresses "
            "such as '10.1.2.3'"
        ) from None


def names(value: Any) -> tuple[str, ...]:
    """A list of names, or a string with commas between them."""
    value = _listed(value)
    if isinstance(value, (list, tuple, set, frozenset)) and all(
        isinstance(name, str) for name in value
    ):
        return tuple(value)
    raise ValueError("must be a list of strings")


def by_extra(name: str, default: Any) -> Callable[[Any], Any]:
    """The check of an extra, which is loaded for another value than the default."""
    return lambda value: value if value == default else part(name)(value)


def text(value: Any) -> str:
    """A string, without blanks around it."""
    if not isinstance(value, str):
        raise ValueError("must be a string")  # noqa: TRY004 - what the reader of settings expects
    return value.strip()


def flag(value: Any) -> bool:
    """True or False, in the spellings that Scrapy takes."""
    flags = {"1": True, "true": True, "0": False, "false": False}
    if isinstance(value, (bool, int, str)) and str(value).lower() in flags:
        return flags[str(value).lower()]
    raise ValueError("must be True or False")


def one_of(*choices: str) -> Callable[[Any], Any]:
    """A check for one of these words."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and value in choices:
            return value
        raise ValueError(f"must be one of {', '.join(map(repr, choices))}")

    return check


def member_of(kind: type[Enum]) -> Callable[[Any], Any]:
    """A check that takes the value of a member of an enum, and returns the member."""
    check = one_of(*(member.value for member in kind))
    return lambda value: kind(check(value))


STORES = ("memory", "sqlite", "redis")
"""The names of the stores; `fetch/chosen_store` opens them."""

STORE_WORDS = f"{', '.join(map(repr, ('auto', *STORES)))} or the import path of a class"
"""The values of `REP_STORE`, in words."""


def store(value: Any) -> Any:
    """The name of a store, a class, or its import path."""
    if value in ("auto", *STORES) or callable(value):
        return value
    if isinstance(value, str) and "." in value:
        return value
    raise ValueError(f"must be {STORE_WORDS}")


def path(value: Any) -> str:
    """A path on this machine, as text; ``~`` stands for a home folder."""
    text = os.fsdecode(value) if isinstance(value, (str, os.PathLike)) else None
    if text is None:
        raise ValueError("must be a path")
    if "\0" in text:
        raise ValueError("must be a path, and no path holds a NUL character")
    if uri := _URI.match(text):
        local = f"/{unquote(text[uri.end() :])}"
        fix = f"write {local!r}" if uri[1].lower() == "file" else "use a local one, and copy files"
        raise ValueError(f"must be a path on this machine, and not a URI: {fix}")
    expanded = os.path.expanduser(text)
    if text.startswith("~") and expanded == text:
        raise ValueError(
            "must be a path, but begins with ~ and the home folder is not known; write ./~ for "
            "a folder of that name"
        )
    return expanded


def mapping(value: Any) -> dict[str, Any]:
    """A dict with strings as keys."""
    value = of_json(value)
    # Scrapy passes a dict setting as BaseSettings if it was set with a priority.
    if isinstance(value, (Mapping, BaseSettings)) and all(isinstance(key, str) for key in value):
        return {key: value[key] for key in value}
    raise ValueError("must be a dict with strings as keys")


def event_meanings(value: Any) -> dict[str, str]:
    """A dict of meanings by class of events, which may not be a redirect that is followed."""
    meanings = mapping(value)
    for name in meanings:
        if name in FOLLOWED:
            raise ValueError(
                f"{name!r} would have no effect, because redirects are followed to their end: use "
                "'redirect' for redirects that lead to no file, or the status at their end"
            )
    return dict(AccessPolicy(overrides=meanings).overrides)


@dataclass(frozen=True, slots=True)
class Override:
    """The policy that the user sets for the hosts of one pattern: exactly one of the first three.

    Attributes:
        ignore: whether everything is allowed and no robots.txt is fetched.
        text: a file to obey instead of the host's own, which is not fetched.
        preset: the policy for errors of these hosts.
        until: the last day (UTC) on which it is applied; None without an end.
        why: the reason, such as the number of a contract; may be empty.
    """

    ignore: bool = False
    text: bytes | None = None
    preset: str | None = None
    until: date | None = None
    why: str = ""

    @classmethod
    def of(cls, pattern: str, value: Any) -> Override:
        """Read the value of a pattern."""
        written = dict(value) if isinstance(value, Mapping) else {"policy": value}
        until, why = written.pop("until", None), written.pop("why", "")
        policy, file = written.get("policy"), written.get("robots_txt")
        is_known = isinstance(file, str) or policy in (_IGNORE, *PRESETS)
        if written.keys() not in _KEYS or not is_known or not isinstance(why, str):
            raise ValueError(
                f"{pattern!r} cannot be {value!r}: use 'ignore', one of {', '.join(PRESETS)}, "
                "{'robots_txt': 'a file to obey'}, or a policy with its end and its reason: "
                "{'policy': 'ignore', 'until': '2027-01-31', 'why': 'contract 12'}"
            )
        return cls(
            ignore=policy == _IGNORE,
            text=None if file is None else file.encode(),
            preset=None if policy == _IGNORE else policy,
            until=None if until is None else _day(pattern, until),
            why=why.strip(),
        )

    @property
    def until_at(self) -> float:
        """When it ends, in POSIX seconds: after its last day."""
        if self.until is None:
            return float("inf")
        day = datetime(self.until.year, self.until.month, self.until.day, tzinfo=timezone.utc)
        return day.timestamp() + DAY_SECONDS

    @property
    def grant_words(self) -> str:
        """Its reason and its last day in words; empty without both."""
        until = "" if self.until is None else f"until {self.until}"
        return ", ".join(filter(None, (self.why, until)))


@dataclass(frozen=True, slots=True)
class Overrides:
    """Overrides by pattern, in order: the first that matches and has not ended decides.

    A pattern is a host, a host with its port, or an origin. ``*`` stands for any characters, ``?``
    for one. Letter case is ignored.

    Attributes:
        by_pattern: the overrides by the patterns as the user wrote them.
    """

    by_pattern: Mapping[str, Override] = field(default_factory=dict)
    _patterns: tuple[tuple[re.Pattern[str], bool, bool, Override], ...] = ()

    @classmethod
    def of(cls, value: Any) -> Overrides:
        """Read a dict of overrides by pattern."""
        found = {pattern: Override.of(pattern, one) for pattern, one in mapping(value).items()}
        return cls(found, tuple((*_compiled(pattern), one) for pattern, one in found.items()))

    def match(self, origin: Origin, now: float) -> Override | None:
        """The override for an origin at a time in POSIX seconds, if there is one."""
        for pattern, has_scheme, has_port, override in self._patterns:
            name = f"[{origin.host}]" if ":" in origin.host else origin.host
            if has_scheme:
                name = f"{origin.scheme}://{name}"
            if has_port or (has_scheme and origin.port != DEFAULT_PORTS.get(origin.scheme)):
                name = f"{name}:{origin.port}"
            if now < override.until_at and pattern.fullmatch(name):
                return override
        return None

    def endings(self, now: float) -> Iterator[str]:
        """A sentence about each override that has ended, or ends within 30 days."""
        for pattern, one in self.by_pattern.items():
            left_seconds = one.until_at - now
            why = f" ({one.why})" if one.why else ""
            if left_seconds <= 0:
                yield (
                    f"the entry for {pattern!r}{why} ended on {one.until}, so it is not applied: "
                    "renew it or remove it"
                )
            elif left_seconds <= _NOTICE_SECONDS:
                yield f"the entry for {pattern!r}{why} is applied until {one.until}, and not later"


def _day(pattern: str, until: Any) -> date:
    try:
        return date.fromisoformat(str(until))
    except ValueError:
        raise ValueError(
            f"{pattern!r} cannot end on {until!r}: write the last day as '2027-01-31'"
        ) from None


def _compiled(pattern: str) -> tuple[re.Pattern[str], bool, bool]:
    """The pattern for the names of origins, and whether these names hold a scheme and a port.

    An origin without a port stands for the usual port of its scheme.
    """
    lowered = pattern.lower()
    found = _PATTERN.fullmatch(lowered)
    scheme = found and found["scheme"]
    if found is None or not any(fnmatchcase(one, scheme or one) for one in DEFAULT_PORTS):
        raise ValueError(
            f"{pattern!r} names no host: write a host ('example.org'), a host and its port "
            "('example.org:8080') or an origin ('https://example.org'), all without a path, in "
            "ASCII ('xn--bcher-kva.example'), IPv6 in brackets ('[::1]'); * is any text"
        )
    expression = re.escape(lowered).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(expression), scheme is not None, found["port"] is not None


class HostScope(Enum):
    """The other hosts that count as near enough to a host: all, the same site, or none."""

    ANY = "any"
    SAME_SITE = "same-site"
    SAME_HOST = "same-host"

    def holds(self, host: str, other: str) -> bool:
        """Whether the other host is near enough."""
        if self is HostScope.ANY or host == other:
            return True
        return self is HostScope.SAME_SITE and site_of(host) == site_of(other)


def site_of(host: str) -> str:
    """The registrable domain of a host, by the installed list; nothing is downloaded."""
    return _extract()(host).top_domain_under_public_suffix or host


@cache
def _extract() -> TLDExtract:
    from tldextract import TLDExtract

    # Hosters such as github.io give each name to another owner.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
