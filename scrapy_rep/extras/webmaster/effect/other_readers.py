"""The readings of rules by other crawlers, which a rewritten file must not change either.

Our reading compares normal forms (`paths`). Google's open matcher decodes nothing: it compares
octets, after it escapes those above 127 in rules and writes all escapes of rules in upper case. The
standard of 1994 has neither Allow nor wildcards: a rule is the beginning of a path.

Both use our matching code, with other special characters::

    /a%3D*$     Google: /a, "%" as a plain character, 3D, any octets, the end
                1994:   the plain characters /a%3D*$

They read lines and groups as we do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scrapy_rep.protocol.matching import FewRules
from scrapy_rep.protocol.packed import UNDECIDED, PackedRules
from scrapy_rep.protocol.paths import END, normal_pattern, octets_of, path_of
from scrapy_rep.protocol.ruleset import PACKED_FROM, places_of_allow
from scrapy_rep.protocol.tokens import as_product_tokens, is_product_token
from scrapy_rep.protocol.verdict import Reason, Rule, Verdict

_ESCAPE, _NOT_ASCII = re.compile(rb"%[0-9A-Fa-f]{2}"), re.compile(rb"[\x80-\xff]")
_PLAIN = {"%": "\x11", "$": "\x12", "*": "\x13"}
_OTHER = "\x14"  # for control characters, which no client sends
_SYMBOLS = str.maketrans({**{chr(one): _OTHER for one in (*range(32), 127)}, **_PLAIN})
_WITH_WILDCARDS = {symbol: text for symbol, text in _SYMBOLS.items() if symbol != ord("*")}
_CHARACTERS = str.maketrans({symbol: character for character, symbol in _PLAIN.items()})

Judge = Callable[[str], Verdict]
"""Gives the verdict on a URL."""


def escaped(value: bytes) -> str:
    """A rule's value as Google's matcher writes it: escapes in upper case, no octet above 127."""
    if value.isascii() and b"%" not in value:
        return value.decode("ascii")
    odd = _ESCAPE.sub(lambda found: found[0].upper(), value)
    return _NOT_ASCII.sub(lambda found: b"%%%02X" % found[0][0], odd).decode("ascii")


def _as_octets(value: bytes) -> str:
    text = escaped(value)
    bare = text.removesuffix(END)
    return bare.translate(_WITH_WILDCARDS) + text[len(bare) :]


def _as_prefix(value: bytes) -> str:
    return escaped(value).translate(_SYMBOLS)


@dataclass(frozen=True, slots=True)
class Reader:
    """A way to read rules.

    Attributes:
        name: its name on the command line.
        words: the crawlers that read so, as the end of a sentence.
        pattern: the pattern of a rule's value: characters, ``*``, and ``$`` at the end. Two rules
            with the same pattern mean the same.
        has_allow: whether it knows allow rules.
    """

    name: str
    words: str
    pattern: Callable[[bytes], str]
    has_allow: bool = True

    def url(self, path: str) -> str:
        """The path of a URL, given one in the characters of `pattern`."""
        return path.translate(_CHARACTERS)

    def tokens(self, agent: str) -> tuple[str, ...]:
        """The product tokens by which a crawler finds its group; empty for the ``*`` group.

        Raises:
            InvalidProductToken: no user-agent line could name the crawler.
        """
        found = as_product_tokens(agent)
        return found if self is not GOOGLE or all(map(is_product_token, found)) else ()

    def judge(self, rules: Iterable[Rule], product_token: str = "") -> Judge:
        """The verdicts of a reader other than `OURS`, given the rules of a merged group."""
        return _ReadGroup(self, rules, product_token).verdict


OURS = Reader("rfc9309", "follow RFC 9309", lambda value: normal_pattern(value.decode("latin-1")))
GOOGLE = Reader("google", "compare octets as they are written, as Google's do", _as_octets)
PREFIXES = Reader("1994", "know neither wildcards nor Allow", _as_prefix, has_allow=False)
READERS = (OURS, GOOGLE, PREFIXES)
"""The readers for which a safe change of a file changes nothing."""


class _ReadGroup:
    """The rules of one merged group, as another reader compares them."""

    def __init__(self, reader: Reader, rules: Iterable[Rule], product_token: str) -> None:
        self._token = product_token
        self._rules: dict[bool, list[Rule]] = {False: [], True: []}
        for rule in rules:
            if reader.has_allow or not rule.allow:
                self._rules[rule.allow].append(rule)
        disallow, allow = (
            [reader.pattern(rule.path_pattern) for rule in some] for some in self._rules.values()
        )
        form = FewRules if len(disallow) + len(allow) < PACKED_FROM else PackedRules
        self._set = form(disallow, places_of_allow(allow), has_wild=True)

    def verdict(self, url: str) -> Verdict:
        """The verdict on a URL."""
        key: int | str | None = self._set.match(octets_of(path_of(url)).translate(_SYMBOLS) + END)
        if key is None or key == UNDECIDED:
            unmatched = Reason.NO_RULE_MATCHES if self._token else Reason.NO_GROUP
            reason = unmatched if key is None else Reason.TOO_MUCH_WORK
            return Verdict(allowed=key is None, reason=reason, product_token=self._token)
        octets, allow = self._set.decider(key)  # type: ignore[arg-type]
        rule = self._rules[allow][self._set.place(key)]  # type: ignore[arg-type]
        reason = Reason.RULE if octets else Reason.EMPTY_RULE
        return Verdict(allow or not octets, reason, rule, self._token)
