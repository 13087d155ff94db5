"""Checks of single rules, and of equal rules. Linear in the octets, except for sorting."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.effect.rule_patterns import EVERYTHING
from scrapy_rep.extras.webmaster.findings import MOST_WILDCARDS, Finding, value_finding, with_fix
from scrapy_rep.extras.webmaster.mending import Edit, EditPlace
from scrapy_rep.extras.webmaster.outline import Block, Line, Outline
from scrapy_rep.protocol.lines import RULES, Kind
from scrapy_rep.protocol.verdict import shown

from .swallowed import misplaced_rules, told_of_misplaced

NEEDLESS_ESCAPE = rb"%(?:2[DEde]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
"""Escapes of characters that need none."""

_URL = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://|//[^/][^/.]*\.[^/]+/")
_SPACE = re.compile(rb"\s")
_SEVERAL = re.compile(rb"(?<![\s,*])[\s,]+(?:/|\*/|https?://)")
# Ranges, alternatives and escapes; bounded, so that the search is linear. A dot before a star is
# usually a dot: /main.*.js.
_EXPRESSION = (
    rb"(?:(?<=^)|(?<=[/^(]))\.\*(?=[^/*$])|\[[^\[\]]{0,40}\w-\w[^\[\]]{0,40}\]|\([^()]{0,60}\|[^()]{0,60}\)"
    rb"|\([^()]{0,60}\)[*+?$]|\\[^\sA-Za-z0-9\\]|\\[dws](?![A-Za-z])|^\^"
)
_INVISIBLE = (
    rb"(?:[\x01-\x08\x0e-\x1f\x7f]|(?<!\xc3[\x80-\xbf])\xc2[\xa0\xad]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa9]"
    rb"|\xef\xbb\xbf)+"
)

_MOST_ADVISED = 200  # characters of a value in advice
# Parts of a regular expression that mean any characters (a dot and a star behind a letter are
# usually just these); alternatives; and escapes.
_ANY = re.compile(
    r"(?:\[\^?[^\[\]]{1,40}\]|\\[dwsDWS](?![A-Za-z])|(?<![\\\w])\.(?=[*+])|(?<!\\)\.(?=\+))(?:[*+?]|\{[\d,]{1,9}\})?"
)
_ALTERNATIVES = re.compile(r"\((?:\?:)?([^()|]{1,40}(?:\|[^()|]{1,40}){1,5})\)(?![*+?{])")
_GROUP = re.compile(r"(?<!\\)\((?:\?:)?(?!\?)((?:[^()|\\]|\\.)*)\)(?![*+?{])")
_ESCAPE = re.compile(r"\\([^\sA-Za-z0-9\\])")
_NOTHING = ("none", "nothing", "no", "false", "null", "n/a", "-")
_ALL = ("all", "everything", "any", "yes", "true", "site")
_DAMAGED_URL = re.compile(r"https?[:;/]", re.IGNORECASE)
_FOR_PAGES = re.compile(r"/\*\.(?:css|m?js)\b", re.IGNORECASE)
_NOT_FOR_PAGES = (
    "remove the line: it has no effect now, and with / it would keep search engines from style "
    "sheets or scripts"
)
_WORKS_THEN = "; the rule has no effect now and disallows such paths then"
_FOR_TWO_SLASHES = (
    "leave it if URLs with two slashes are meant; a rule with one / would be for the whole site"
)
_ENDING = re.compile(r"\.\w{1,5}[$*]?")
_AFTER_AUTHORITY = re.compile(r"(?=[/?#])|\Z")
_ENTITY = re.compile(r"&#?\w{1,10};")
# A path on a disk: ./tmp, ../tmp, C:\inetpub
_LOCAL_PATH = re.compile(r"(?:[A-Za-z]:|\.{1,2})/(?:\.{1,2}/)*")
_HOST_FIRST = re.compile(
    r"(?:[\w-]+\.)+([A-Za-z]{2,18})(?::\d+)?/|(?:www\.)?(?:[\w-]+\.)+(com|org|net)(?::\d+)?$"
)
_FILES = frozenset(  # endings of file names that look like those of hosts
    ["php", "html", "htm", "asp", "aspx", "jsp", "xml", "txt", "js", "css", "json", "pdf", "cgi"]
)
_WORD = re.compile(r"[\w.~-]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_TO_ESCAPE = re.compile(rb"[\x80-\xff\s]+")


def is_utf8(octets: bytes) -> bool:
    """Whether octets are UTF-8."""
    return _not_utf8(octets) is None


def _not_utf8(octets: bytes) -> re.Match[bytes] | None:
    """The first octets that are not UTF-8, up to the next ASCII character."""
    try:
        octets.decode("utf-8")
    except UnicodeDecodeError as error:
        return _NOT_ASCII.search(octets, error.start)
    return None


def _search(pattern: bytes) -> Callable[[bytes], re.Match[bytes] | None]:
    return re.compile(pattern).search


_Check = tuple[int, Code, Callable[[bytes], re.Match[bytes] | None]]
_WRONG_CHARACTERS: tuple[_Check, ...] = (
    (6, Code.INVISIBLE_IN_PATH, _search(_INVISIBLE)),
    (6, Code.NOT_UTF8_PATH, _not_utf8),
    (6, Code.ENCODED_TWICE, lambda it: _NOT_ASCII.search(it) if _encoded_once(it) else None),
)


def has_wrong_characters(value: bytes) -> bool:
    """Whether a path probably has other characters than its author meant."""
    return any(find(value) for _, _, find in _WRONG_CHARACTERS)


# The checks of a value: its code, and an expression that finds it in the value. Of rows with the
# same number only the first match is reported, since the others follow from it.
_VALUE_CHECKS: tuple[_Check, ...] = (
    (1, Code.FULL_URL, _URL.match),
    (1, Code.SEVERAL_PATHS, _SEVERAL.search),
    (1, Code.RULE_MATCHES_NOTHING, re.compile(rb"(?![/*]).+", re.DOTALL).match),
    (1, Code.DOUBLE_SLASH, re.compile(rb"//(?=[\w.-]|$)").match),
    (1, Code.REGULAR_EXPRESSION, _search(_EXPRESSION)),
    (1, Code.BACKSLASH, _search(rb"\\")),
    (2, Code.SPACE_IN_PATH, lambda value: None if _encoded_once(value) else _SPACE.search(value)),
    (3, Code.DOT_SEGMENTS, _search(rb"/\.{1,2}(?:/|$|\?)")),
    (4, Code.DOLLAR_NOT_LAST, _search(rb"\$(?=.)")),
    (5, Code.BAD_ESCAPE, _search(rb"%(?![0-9A-Fa-f]{2})")),
    *_WRONG_CHARACTERS,
    (6, Code.NOT_ASCII, _search(rb"[\x80-\xff]+")),
    (7, Code.REPEATED_STAR, _search(rb"\*\*+")),
    (7, Code.TRAILING_STAR, _search(rb"(?<=.)\*$")),
    (8, Code.NEEDLESS_ESCAPE, _search(NEEDLESS_ESCAPE)),
    (9, Code.LOWER_CASE_ESCAPE, _search(rb"%(?:[89A-Fa-f][a-f]|[a-f][0-9A-Fa-f])")),
    (10, Code.LEADING_STAR, re.compile(rb"\*(?=.)").match),
    (11, Code.HTML_ENTITY, _search(rb"&amp;")),
)


_NO_PATH = (Code.FULL_URL, Code.SEVERAL_PATHS)
"""After these, advice about parts of the path would mislead."""


def rule_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about rules."""
    rules = [line for line in outlined.lines if line.kind in RULES]
    hosts = own_hosts(outlined)
    said = {(line.kind, line.value.rstrip(b"*")) for line in rules}
    for line in rules:
        yield from _value_findings(line, outlined.uri, said)
        yield from _host_findings(line, hosts)
    wildcards = sum(b"*" in line.value for line in rules)
    if wildcards > MOST_WILDCARDS:
        yield Finding(Code.MANY_WILDCARDS, detail=f"{wildcards:,}")
    for block in outlined.blocks:
        yield from _empty_findings(block)
    yield from _same_findings(outlined)


def _value_findings(
    line: Line, uri: str, said: set[tuple[Kind | None, bytes]]
) -> Iterator[Finding]:
    """Findings about a value; `said` has all rules of the file, without stars at their ends."""

    def is_said(value: bytes) -> bool:
        """Whether another rule of the file covers a value by its first octets."""
        return any((line.kind, value[:end]) in said for end in range(2, _MOST_ADVISED))

    told = 0
    for number, code, holds in _VALUE_CHECKS:
        match = holds(line.value) if number != told else None
        if match is not None:
            told = number
            if code is Code.SPACE_IN_PATH and is_said(_SPACE.sub(b"%20", line.value)):
                continue
            at = line.value_at + match.start()
            found = match[0] or line.value
            finding = Finding(code, line.number, found[:200], line.column_of(at))
            advice = _advice(code, line, uri)
            if advice is not None:
                meant = [value.encode() for value in advice.values]
                if code is Code.REGULAR_EXPRESSION and meant and all(map(is_said, meant)):
                    continue
                finding = with_fix(finding, advice.text, *_edits(line, advice.values))
            yield finding
            if code in _NO_PATH:
                break
    before, mark, _ = line.octets.partition(b"#")
    if mark and not before[-1:].isspace() and line.value and line.pattern in EVERYTHING:
        yield Finding(Code.FRAGMENT, line.number, b"#", line.column_of(len(before)))
    if line.kind is Kind.DISALLOW and line.pattern in ("/robots.txt", "/robots.txt$"):
        yield Finding(Code.BLOCKS_ROBOTS, line.number, line.value, line.value_column)


def _host_findings(line: Line, hosts: Collection[str]) -> Iterator[Finding]:
    """The finding about a path that begins with a host of this site."""
    first, slash, rest = line.value.lstrip(b"/*").partition(b"/")
    if shown(first).lower().removeprefix("www.") in hosts:
        path = b"/" + rest
        edits = [Edit.of_value(line, path)] if slash else []
        found = value_finding(Code.HOST_IN_PATH, line)
        yield with_fix(found, f"write {shown(path)}", *edits)


def own_hosts(outlined: Outline) -> frozenset[str]:
    """The hosts of the file and of its sitemaps, without ``www.``."""
    uris = [outlined.uri, *(shown(line.value) for line in outlined.sitemaps)]
    hosts = (_authority_and_path(uri)[0].lower().removeprefix("www.") for uri in uris)
    return frozenset(host for host in hosts if "." in host)


def _encoded_once(value: bytes) -> str:
    """The text of UTF-8 that was read as Windows-1252, and encoded again; otherwise empty."""
    try:
        text = b"".join(map(_octet, value.decode("utf-8"))).decode("utf-8")
    except UnicodeError:
        return ""
    return "" if text.isascii() else text


def _octet(letter: str) -> bytes:
    try:
        return letter.encode("cp1252")
    except UnicodeEncodeError:
        return letter.encode("latin-1")


@dataclass(frozen=True, slots=True)
class _Advice:
    """The words of a fix, and the values of the rules that an unsafe fix writes."""

    text: str
    values: tuple[str, ...] = ()


def _advice(code: Code, line: Line, uri: str) -> _Advice | None:
    """The fix that a value suggests; None if the words of the table fit."""
    value = shown(line.value)
    if code is Code.NOT_UTF8_PATH:
        text = as_windows_1252(line.value)
        is_text = all(letter.isalpha() for letter in text if not letter.isascii())
        return _advice_for_text(text) if is_text else None
    if code is Code.ENCODED_TWICE:
        return _advice_for_text(_encoded_once(line.value))
    if len(value) > _MOST_ADVISED:
        return None
    advice: dict[Code, Callable[[], _Advice | None]] = {
        Code.DOUBLE_SLASH: lambda: None if value.strip("/*$") else _Advice(_FOR_TWO_SLASHES),
        Code.FULL_URL: lambda: _advice_for_url(value, uri),
        Code.REGULAR_EXPRESSION: lambda: _as_wildcards(value),
        Code.RULE_MATCHES_NOTHING: lambda: _advice_for_dead_rule(line, uri),
    }
    return advice[code]() if code in advice else None


def _advice_for_dead_rule(line: Line, uri: str) -> _Advice:
    """The path that was meant; for a Disallow, with what it would do then."""
    advice = _advice_for_no_path(shown(line.value), uri)
    if line.kind is not Kind.DISALLOW or not advice.text.startswith("write /"):
        return advice
    if _FOR_PAGES.search(advice.text):
        return _Advice(_NOT_FOR_PAGES)
    return _Advice(advice.text + _WORKS_THEN, advice.values)


def _edits(line: Line, values: tuple[str, ...]) -> Iterator[Edit]:
    """The edits that write a rule for each value."""
    for value in values[:-1]:
        octets = line.octets[: line.value_at] + value.encode()
        yield Edit(EditPlace.ABOVE, line.number, octets)
    for value in values[-1:]:
        yield Edit.of_value(line, value.encode())


def _as_wildcards(value: str) -> _Advice | None:
    """A simple regular expression as path patterns; without words if that is not possible."""
    plain = _GROUP.sub(r"\1", _ANY.sub("*", value.removeprefix("^")))
    plain = _ESCAPE.sub(r"\1", plain)
    before, *some = _ALTERNATIVES.split(plain, maxsplit=1)
    found = [f"{before}{one}{some[1]}" for one in some[0].split("|")] if some else [before]
    found = [re.sub(r"(?<=/)\*\$\Z", "", re.sub(r"\*\*+", "*", one)) for one in found]
    is_simple = all(
        re.match(r"(?!.*\(\?)[/*].*[^/*$]", one) and not re.search(_EXPRESSION, one.encode())
        for one in found
    )
    if not is_simple or found == [value]:
        return None
    text = f"write {' and '.join(found)} if that is meant; otherwise write several rules"
    return _Advice(text, tuple(found))


def _advice_for_text(text: str) -> _Advice | None:
    """The escapes of the text that was meant; None without one."""
    if not text:
        return None
    octets = text.encode()
    path = _TO_ESCAPE.sub(lambda found: quote(found[0]).encode(), octets).decode()
    return _Advice(f"write {path}, which is {shown(octets)} in UTF-8, if that is meant", (path,))


def as_windows_1252(octets: bytes) -> str:
    """Text from octets of Windows-1252. An octet without a character there becomes a control."""
    return "".join(bytes([octet]).decode("cp1252", "ignore") or chr(octet) for octet in octets)


def _advice_for_url(value: str, uri: str) -> _Advice:
    host, path = _authority_and_path(value)
    own, _ = _authority_and_path(uri)
    site, own_site = (name.lower().removeprefix("www.") for name in (host, own))
    if site == own_site:
        return _Advice(f"write only the path: {path}", (path,))
    if not uri:
        return _Advice(f"write only {path} if this file is for {host}; otherwise remove the line")
    if not site.endswith(f".{own_site}"):
        return _Advice(f"remove the line: this file is only for {own}")
    whole = ", which is for all of it" * (path == "/")
    return _Advice(f"remove the line, or write {path} in the robots.txt of {host}{whole}")


def _authority_and_path(url: str) -> tuple[str, str]:
    host, path = _AFTER_AUTHORITY.split(url.partition("//")[2], maxsplit=1)
    return host, path or "/"


def _advice_for_no_path(value: str, uri: str) -> _Advice:
    word = value.lower()
    plain = _as_wildcards(value)
    if word in _ALL:
        return _Advice("write / for everything", ("/",))
    if plain is not None:
        return plain
    local = _LOCAL_PATH.sub("/", value.replace("\\", "/"))
    if local.startswith("/"):
        return _Advice(f"write {local} if that is the path in the URL", (local,))
    host, ending = _HOST_FIRST.match(value), _ENDING.fullmatch(value)
    if host is not None and (host[1] or host[2]).lower() not in _FILES and not ending:
        return _advice_for_url(f"http://{value}", uri)
    of_ending = f"/*{value.rstrip('$*')}$"
    rows = (
        (word in _NOTHING, "write an empty Disallow if everything may be fetched, or / if nothing"),
        (_DAMAGED_URL.match(value), "write only the path of the URL, from the / after the host on"),
        (ending, f"write {of_ending} for all paths with this ending"),
        (_ENTITY.match(value), "remove what is in front of the path"),
        (value.startswith(("?", "&", "=")), f"write /*{value} if a part of the query is meant"),
        (value.startswith("."), f"write /*{value} for any place"),
        (_WORD.match(value), f"write /{value} for the top of the site, or /*{value} for any place"),
    )
    usual = "write the path as it is in the URL, from the / after the host on"
    return _Advice(next((text for holds, text in rows if holds), usual))


def _empty_findings(block: Block) -> Iterator[Finding]:
    has_rules = any(line.value for line in block.rules)
    misplaced = misplaced_rules(block)
    for line in block.rules:
        if line.value:
            continue
        if line.kind is Kind.ALLOW:
            yield Finding(Code.EMPTY_ALLOW, line.number, line.key, line.key_column)
        elif has_rules:
            found = Finding(Code.EMPTY_BESIDE_RULES, line.number, line.key, line.key_column)
            is_above = misplaced and line.number < misplaced[0].number
            yield told_of_misplaced(found, block, misplaced, "line") if is_above else found


def _same_findings(outlined: Outline) -> Iterator[Finding]:
    """Rules of one group that are the same to all readers."""
    for block in outlined.blocks:
        first: dict[tuple[Kind | None, str], Line] = {}
        for line in block.rules:
            if not line.pattern:
                continue
            same = first.setdefault((line.kind, line.spelling), line)
            if same is not line:
                yield value_finding(Code.DUPLICATE_RULE, line, f"see line {same.number}")
