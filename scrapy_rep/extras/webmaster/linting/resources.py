"""Rules that keep search engines from style sheets and scripts, found by the effect on their URLs.

`resources.txt` has the URLs that pages of known systems load. A URL is tried if a pattern of the
group has the sign of its folder or system, so the site has probably such files.

Cost: the number of signs in a group, at most `_MOST_PLACES`, times its rules, from the budget.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile, islice
from pkgutil import get_data

from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.effect.rule_patterns import (
    EVERYTHING,
    covers,
    is_live,
    matches,
)
from scrapy_rep.extras.webmaster.findings import Finding, value_finding, with_fix
from scrapy_rep.extras.webmaster.outline import Line, Outline
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.paths import END, normal_path
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import shown

from .crawler_names import BIG_ENGINES, fallback_of, reads_pages
from .merged_rules import Merge, MergedGroups, MergedRules, ban

_MOST_SIGNS = 500
_MOST_PLACES = 50
_MOST_ALLOWS = 50  # for files of a kind
_MOST_LOSING = 200  # Disallow lines that are compared with each of these
_SYSTEM = ":"
# Sites of this system load nothing from their own host.
_SERVED_ELSEWHERE = "/commerce/digital-download/"
_WORDPRESS = "WordPress"


def _signs() -> Iterator[tuple[re.Pattern[str], bool, str, list[str]]]:
    """The signs: an expression, whether it is that of a system, the system, the URLs."""
    lines = (get_data(__name__, "resources.txt") or b"").decode().splitlines()
    system = ""
    for line in dropwhile(lambda line: line.startswith("#"), lines):
        if line.startswith("#"):
            system = line.removeprefix("# ")
            continue
        sign, *cells = (cell.strip() for cell in line.split(" | "))
        known = re.compile(f"({sign.removesuffix(_SYSTEM)})(?=[/*$?=]|$)")
        yield known, sign.endswith(_SYSTEM), system, cells


_SIGNS = list(_signs())
_ANY_SIGN = re.compile("|".join(sign.pattern for sign, *_ in _SIGNS))
_ANY_NAME = "x"
_OF_WORDPRESS = "/wp-"
_OTHER_SYSTEM = re.compile(r"/_(?:next|nuxt)\b")
_MAY_BE_GONE = (
    "allow style sheets and scripts that pages need; leave the line if the site no longer uses {}"
)
# A style sheet with its version: /css/main.css?v=*
_OWN_FILE = re.compile(r"/[^*?]+\.css\?[^$]*\Z")
# Folders that are closed on purpose, with all their files.
_CLOSED = re.compile(
    r"/[\w-]*(?:admin|search|member|account|user|login|auth|comment|komentar|cart|checkout|private|"
    r"internal|cgi-bin|api|ajax|tmp|temp|print)[\w-]*/",
    re.IGNORECASE,
)
_KIND = re.compile(r"\.(?:css|js)\b")
_ALL_OF_A_KIND = re.compile(
    r"(?:/[^*?]*)?\*\.(?:css|js|json|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf)[*$?]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Needed:
    """A file that pages need at one of some URLs, and the system that loads it, if known."""

    urls: tuple[str, ...]
    system: str = ""


def resource_findings(groups: MergedGroups) -> Iterator[Finding]:
    """The first rule that keeps a search engine from style sheets or scripts, and vain Allows."""
    blocked: dict[Line, tuple[_Needed, list[str]]] = {}
    vain: dict[int, Finding] = {}
    for merge, names in _readers(groups.outline).items():
        rules = groups.rules.get(merge, [])
        if ban(rules) is not None:
            continue
        merged = MergedRules(rules, groups.budget)
        for line, needed in _blocked(rules, merged):
            blocked.setdefault(line, (needed, []))[1].extend(names)
        for found in _vain_allows(rules, merged):
            vain.setdefault(found.line, found)
    if blocked:
        order = {line: (bool(one.system), line.number) for line, (one, _) in blocked.items()}
        first, *more = sorted(order, key=order.__getitem__)
        needed, names = blocked[first]
        others = f"; and {counted(len(more), 'more such rule')}" if more else ""
        is_for_all = {name.lower() for name in names}.issuperset(BIG_ENGINES)
        who = "" if is_for_all else f"; {', '.join(dict.fromkeys(names))}"
        detail = f"such as {needed.urls[0]}{others}{who}"
        text = _MAY_BE_GONE.format(needed.system) if needed.system else ""
        yield with_fix(value_finding(Code.BLOCKS_RESOURCES, first, detail), text)
    yield from vain.values()


def _readers(outlined: Outline) -> dict[Merge, list[str]]:
    """The search engines that obey each merged group, the big ones also if no group names them."""
    found: dict[Merge, list[str]] = {}
    for name in BIG_ENGINES:
        names = (name, fallback_of(name), EVERYONE)
        merge = next((outlined.by_name[one] for one in names if one in outlined.by_name), None)
        if merge is not None:
            found.setdefault(merge, []).append(name.capitalize())
    for name, merge in outlined.by_name.items():
        if reads_pages(name) and not fallback_of(name) and name not in BIG_ENGINES:
            found.setdefault(merge, []).append(outlined.spellings[name])
    return found


def _blocked(rules: Sequence[Line], merged: MergedRules) -> Iterator[tuple[Line, _Needed]]:
    """The rules that disallow files of pages, each with such a file."""
    patterns = list(dict.fromkeys(line.pattern for line in rules))
    if any(pattern.startswith(_SERVED_ELSEWHERE) for pattern in patterns):
        return
    own = (_Needed((one.replace("*", "1"),)) for one in patterns if _OWN_FILE.match(one))
    signed = filter(_ANY_SIGN.search, patterns)
    needed = chain(own, (one for pattern in signed for one in _needs(pattern)))
    gone = _gone(patterns)
    places = dict.fromkeys(islice(needed, _MOST_SIGNS))
    allows = [line for line in rules if line.kind is Kind.ALLOW]
    for place in islice(places, _MOST_PLACES):
        lines = [merged.disallows(url) for url in place.urls]
        line, url = lines[0], place.urls[0]
        if line is None or line.pattern in EVERYTHING or None in lines:
            continue
        if place.system not in gone and not any(_opens(allow, line, url) for allow in allows):
            yield line, place


def _gone(patterns: Sequence[str]) -> Collection[str]:
    """The systems that pages load nothing from; many files keep their rules after a move."""
    if any(map(_OTHER_SYSTEM.search, patterns)):
        return {system for _, _, system, _ in _SIGNS if system}
    signs = [pattern for pattern in patterns if _OF_WORDPRESS in pattern]
    is_lone = len(signs) == 1 and signs[0].startswith("*")  # against searches for weak sites
    return {_WORDPRESS} if is_lone else ()


def _needs(pattern: str) -> Iterator[_Needed]:
    """The files that a page may need, by the signs in a pattern."""
    for sign, is_system, system, cells in _SIGNS:
        for found in sign.finditer(pattern):
            before = pattern[: found.start()].strip("/")
            is_top = before in ("", "*") or "?" in before or (is_system and "*" in before)
            base = "" if is_top else "/" + before.replace("*", "x")
            folder = found[1].replace("*", "")
            for cell in cells:
                urls = tuple(f"{base}{url.replace('~', folder)}" for url in cell.split())
                yield _Needed(urls, _WORDPRESS if _OF_WORDPRESS in urls[0] else system)


def _opens(allow: Line, line: Line, url: str) -> bool:
    """Whether an Allow below a disallowed folder lets the pages' own files of this kind through."""
    if not covers(line.pattern, allow.pattern):
        return False
    kind, found = _KIND.search(url), _KIND.search(allow.pattern)
    if found is not None:
        return kind is not None and found[0] == kind[0]
    depth = line.pattern.rstrip("*").count("/")
    rests = (path.split("/", depth)[-1] for path in (allow.pattern, url))
    part, wanted = (rest.partition("/")[0] for rest in rests)
    # It may be any folder if the names of folders at this place are not known.
    is_there = "." in wanted or wanted in (_ANY_NAME, part)
    return is_there and allow.pattern.endswith(("/", "/*"))


def _vain_allows(rules: Sequence[Line], merged: MergedRules) -> Iterator[Finding]:
    """Allow rules for all files of a kind that lose to longer rules for folders."""
    bans = (line for line in rules if line.kind is Kind.DISALLOW and is_live(line.pattern))
    narrow = (line for line in bans if line.pattern not in EVERYTHING)
    folders = [line for line in narrow if line.pattern.rstrip("*").endswith("/")]
    allows = (line for line in reversed(rules) if line.kind is Kind.ALLOW)
    kinds = {line.pattern: line for line in allows if _ALL_OF_A_KIND.fullmatch(line.pattern)}
    for allow in islice(reversed(kinds.values()), _MOST_ALLOWS):
        longer = (line for line in folders if len(line.pattern) > len(allow.pattern))
        ending = allow.pattern.partition("*")[2].removesuffix(END).rstrip("*")
        left = (one for one in islice(longer, _MOST_LOSING) if not _CLOSED.search(one.pattern))
        bare = ((one, one.pattern.lstrip("/").rstrip("*").replace("*", "x")) for one in left)
        urls = ((line, f"/{folder}x{ending}") for line, folder in bare)
        meant = ((line, url) for line, url in urls if matches(allow.pattern, normal_path(url)))
        lost = [line for line, url in meant if merged.decides(url) is line]
        if lost:
            first, more = lost[0], len(lost) - 1
            others = f" and {counted(more, 'other line')}" if more else ""
            folder = shown(first.value)
            detail = f"line {first.number}: {folder}{others}"
            winner = f"{folder.rstrip('*')}*{shown(allow.value).partition('*')[2]}"
            text = f"write Allow: {winner} too, the shortest rule that wins there"
            found = value_finding(Code.ALLOW_OUTRANKED, allow, detail, first.number)
            yield with_fix(found, text)
