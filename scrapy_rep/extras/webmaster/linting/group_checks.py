"""Checks of groups and user-agent lines. Linear in the octets, except for sorting."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby, islice

from scrapy_rep.extras.pages.usage.categories import POLICY_PREFIX, POLICY_TOKENS
from scrapy_rep.extras.webmaster.agents.crawlers import bare_name, crawler_of, other_names
from scrapy_rep.extras.webmaster.checks.codes import Code, Effect
from scrapy_rep.extras.webmaster.effect.rule_patterns import EVERYTHING, is_live
from scrapy_rep.extras.webmaster.findings import Finding, value_finding, with_fix
from scrapy_rep.extras.webmaster.mending import Edit, Mend
from scrapy_rep.extras.webmaster.outline import (
    Block,
    Line,
    Outline,
    has_other_words,
    name_of,
)
from scrapy_rep.protocol.lines import RULES, Kind
from scrapy_rep.protocol.paths import END
from scrapy_rep.protocol.tokens import EVERYONE, token_of
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import shown

from .crawler_names import (
    KNOWN,
    either,
    fallback_of,
    may_not_obey,
    meant_by,
    near_tokens,
    obeys_partly,
)
from .merged_rules import ban
from .swallowed import misplaced_rules, swallowed, told_of_misplaced

# A version or a comment, as in a User-Agent header: Bot/1.0, Bot v2.1, Bot (+https://example.com).
_KEY = re.compile(rb"(?:user-?agent|(?:dis)?allow|sitemap|crawl-?delay|noindex)\s*:", re.IGNORECASE)
_IN_HEADER = re.compile(r"(?<![\w.-])(?!robot\b)[\w.-]+(?:bot|crawler|spider)\b", re.IGNORECASE)
_COMPATIBLE = re.compile(r"compatible;\s*([^\s/;()]+)[/;)]", re.IGNORECASE)
_HEADERS = ("mozilla/", "mozilla ")
_URLS = ("http://", "https://", "mailto:")
_BROWSERS = ("msie", "windows", "konqueror")
_NOBODY = "so the rules below it are for no crawler"
_WORD_BESIDE_STAR = (
    "write the names of the crawlers that are meant, one line for each: all others have the group "
    "for *"
)
_MANAGED = re.compile(rb"\b(?:BEGIN|END) \w+ managed content", re.IGNORECASE)
_AT_CDN = (
    "leave it if the rules do not contradict each other: the content delivery network adds "
    "the group above, and its settings can turn that off"
)
_ONCE = (
    *(Code.USER_AGENT_NEAR, Code.USER_AGENT_NO_CRAWLER),
    *(Code.USER_AGENT_WORDS, Code.USER_AGENT_CUT),
)
_OF_ALONE = {
    (Code.USER_AGENT_NAMES_NOBODY, False): (
        "write the name that the operator of the crawler documents, or remove the line"
    ),
    (Code.USER_AGENT_HEADER, True): (
        "write only the product token that the crawler's operator documents; without one, remove "
        "the group, which has no effect"
    ),
}
"""The fix for a code, by whether the name is the only one of its group."""
_KNOWN_POLICIES = f"known: {', '.join(one.token for one in POLICY_TOKENS)}"
_MOST_NAMES = 500  # different names that are compared with the known ones
_MOST_SHOWN = 5  # names in one finding
_Rules = frozenset[tuple[Kind | None, str]]
_OfStar = tuple[set[tuple[Kind | None, str]], dict[str, bool]]  # the rules for *, and their starts
_MERGING = ("Google",)  # operators that document that their crawlers merge groups
_MOST_OCTETS = 200  # of a path
_MOST_RULES = 1000  # of a name, for comparison with those of another one
_WILDCARDS = frozenset(("*", END))
_DELAYS = (b"crawl-delay", b"request-rate")
_BY_DELAY = "; crawlers that take a Crawl-delay for a rule have only that"
_RULES_FOR_ALL = (
    "write the rules for * below it; an empty Disallow there would let all crawlers fetch "
    "everything; leave it if the next group is for all crawlers"
)


def group_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about groups."""
    for line in outlined.before:
        if line.kind in RULES:
            yield Finding(Code.RULE_BEFORE_GROUP, line.number, line.value, line.key_column)
    for block in outlined.blocks:
        yield from _repeated(block)
    yield from _AgentNames(outlined).findings()
    yield from _merge_findings(outlined)
    yield from _layout_findings(outlined)
    yield from _last_without_rules(outlined)
    if outlined.blocks and EVERYONE not in outlined.by_name:
        yield Finding(Code.NO_STAR)


class _AgentNames:
    """The names in the user-agent lines of a file, and the rules for each."""

    def __init__(self, outlined: Outline) -> None:
        self._outline = outlined
        self._in_file = outlined.by_name
        self._ruled = cache(self._rules_of)

    def findings(self) -> Iterator[Finding]:
        """Findings about names; the same name is compared with others once."""
        worded: list[Line] = []
        told: set[bytes] = set()
        for block in self._outline.blocks:
            rules = [(line.kind, line.pattern) for line in block.rules]
            is_ban = any(kind is Kind.DISALLOW and text in EVERYTHING for kind, text in rules)
            for line in block.agents:
                if by := may_not_obey(name_of(line.value)):
                    yield value_finding(Code.UNENFORCEABLE, line, by)
                is_new = line.value.lower() not in told
                told.add(line.value.lower())
                is_compared = is_new and len(told) <= _MOST_NAMES
                found = self._finding(line, block, is_ban=is_ban, is_compared=is_compared)
                if found is None or (found.code in _ONCE and not is_new):
                    continue
                if found.code is Code.USER_AGENT_WORDS:
                    worded.append(line)
                else:
                    yield found
        if worded:
            texts = [f"{shown(line.value)} is read as {name_of(line.value)}" for line in worded]
            yield value_finding(Code.USER_AGENT_WORDS, worded[0], _some(texts, "; "))

    def _has_rules_of(self, name: str, one: str) -> bool:
        """Whether a crawler has the rules for a name: alone, or in its own group with others."""
        said, own = self._ruled(self._merge_of(name)), self._ruled(self._merge_of(one))
        return own == said or (one in self._in_file and frozenset() < said < own)

    def _is_said_of(self, meant: Iterable[str], name: str) -> bool:
        """Whether all crawlers that a name may mean have the rules of its groups anyway.

        Crawlers that obey robots.txt only sometimes count if there are no others.
        """
        names = [one.lower() for one in meant if one]
        if not names or (name in KNOWN and name not in names):
            return False  # the rules are for the crawler with that name, too
        obeying = [one for one in names if not may_not_obey(one)] or [*filter(obeys_partly, names)]
        return all(self._has_rules_of(name, one) for one in obeying)

    def _merge_of(self, name: str) -> tuple[int, ...]:
        names = (name, fallback_of(name), EVERYONE)
        return next((self._in_file[one] for one in names if one in self._in_file), ())

    def _rules_of(self, merge: tuple[int, ...]) -> _Rules:
        """The rules of some groups: the same for all that disallow nothing, and for all bans."""
        lines = (line for line in self._outline.rules_of(merge) if line.pattern)
        rules = list(islice(lines, _MOST_RULES))
        kinds = {line.kind for line in rules}
        if Kind.DISALLOW not in kinds:
            return frozenset()
        if Kind.ALLOW not in kinds and ban(rules) is not None:
            return frozenset({(Kind.DISALLOW, "/")})
        return frozenset(_said(rules))

    def _finding(
        self, line: Line, block: Block, *, is_ban: bool, is_compared: bool
    ) -> Finding | None:
        """The first unusual thing in the value of a user-agent line, or None."""
        value, name = line.value, name_of(line.value)
        text = value.decode("utf-8", "replace")
        bare = bare_name(text)
        is_known = bare.lower() in KNOWN or text.lower() in KNOWN
        is_policy = name.startswith(POLICY_PREFIX)
        is_odd = is_compared and not is_known
        is_version = bare != text and bare.lower() == name
        key = _KEY.search(value)
        others = other_names(bare)
        is_read = token_of(name) != name and token_of(name) in KNOWN  # Baiduspider+
        near = near_tokens(bare, name) if is_odd and not is_read else ()
        is_alone = len(block.agents) == 1
        meant = near or (meant_by(bare) if is_odd else ())
        if EVERYONE in meant and not is_alone:
            meant = ()  # lists of names contain such words, for parts of names
        is_not_all = is_ban and EVERYONE in meant and EVERYONE in self._in_file
        nobody = "" if block.names else _NOBODY * any(rule.value for rule in block.rules)
        rows = (
            (not value, Code.USER_AGENT_EMPTY, ""),
            (value == b"*", None, ""),
            (text.lower().startswith(_HEADERS), Code.USER_AGENT_HEADER, ""),
            (key, Code.USER_AGENT_LIST, f"{shown(key[0])} begins no record here" if key else ""),
            (others, Code.USER_AGENT_LIST, f"crawlers do not read {shown(_some(others).encode())}"),
            (not name or text.lower().startswith(_URLS), Code.USER_AGENT_NAMES_NOBODY, nobody),
            (b"*" in value and not is_known, Code.USER_AGENT_WILDCARD, ""),
            (is_policy and not is_known, Code.POLICY_TOKEN_UNKNOWN, _KNOWN_POLICIES),
            (near, Code.USER_AGENT_NEAR, f"perhaps {either(near)}"),
            (meant, Code.USER_AGENT_NO_CRAWLER, f"perhaps {either(meant)}" * (not is_not_all)),
            (is_version and (is_known or token_of(name) == name), Code.USER_AGENT_VERSION, ""),
            (is_known, None, ""),
            (" " in bare, Code.USER_AGENT_WORDS, ""),
            (token_of(name) != text.lower(), Code.USER_AGENT_CUT, ""),
        )
        code, detail = next(((code, detail) for holds, code, detail in rows if holds), (None, ""))
        sure = {Code.USER_AGENT_NEAR: near, Code.USER_AGENT_HEADER: (_crawler_in_header(text),)}
        said = {**sure, Code.USER_AGENT_NO_CRAWLER: meant}
        if code is None or (is_compared and self._is_said_of(said.get(code, ()), name)):
            return None
        found = value_finding(code, line, detail)
        likely = either(sure.get(code, ()))
        found = replace(found, proposal=_mend_of_name(code, line, likely, is_alone=is_alone))
        if is_not_all and code is Code.USER_AGENT_NO_CRAWLER:
            return with_fix(found, _WORD_BESIDE_STAR)
        left = [one for one in meant if not self._has_rules_of(name, one.lower())]
        named = [one for one in left if one.lower() in self._in_file]
        if code is Code.USER_AGENT_NO_CRAWLER and not named and len(left) < len(meant):
            text = f"write {either(left)} if meant: the file has these rules for the others already"
            found = with_fix(found, text)
        if named and code in (Code.USER_AGENT_NEAR, Code.USER_AGENT_NO_CRAWLER):
            other = "" if len(named) == len(left) else ", or write the other names"
            text = f"remove the line{other}: the file names {', '.join(named)} already"
            if is_alone:
                text = f"move these rules to the group for {either(named)}{other}"
            found = with_fix(found, text)
        return found


def _some(texts: list[str], between: str = ", ") -> str:
    """The first texts, and the number of the others."""
    left = len(texts) - _MOST_SHOWN
    return between.join([*texts[:_MOST_SHOWN], *([f"and {left} more"] if left > 0 else [])])


def _mend_of_name(code: Code, line: Line, likely: str, *, is_alone: bool) -> Mend | None:
    """The fix for a name, by its line and group alone; None if the table has it."""
    if code is Code.USER_AGENT_NAMES_NOBODY and line.value.startswith(b"*"):
        return _instead_of_stars(line, line.value.decode("utf-8", "replace").strip("*"))
    usual = _OF_ALONE.get((code, is_alone), "")
    text = f"write {likely} if this crawler is meant" if likely else usual
    return Mend(text) if text else None


def _instead_of_stars(line: Line, bare: str) -> Mend:
    """The fix for a name that begins with a star: the known name, or ``*``."""
    crawler = crawler_of(bare)
    known = (crawler.token,) if crawler is not None else near_tokens(bare)
    if bare and not known:
        is_word = meant_by(bare) == (EVERYONE,)
        name = "the name of each crawler that is meant" if is_word else f"{bare} for that crawler"
        return Mend(f"write {name}")
    (name,) = known or ("*",)
    return Mend(f"write {name}", edits=(Edit.of_value(line, name.encode()),))


def _crawler_in_header(text: str) -> str:
    found = _COMPATIBLE.search(text)
    names = [found[1]] if found and found[1].lower() not in _BROWSERS else _IN_HEADER.findall(text)
    return shown(names[-1].encode()) if names else ""


def _repeated(block: Block) -> Iterator[Finding]:
    seen: set[str] = set()
    for line in block.agents:
        name = name_of(line.value)
        if name and has_other_words(line.value):  # several names, perhaps
            name = line.value.decode("latin-1").lower()
        if name and name in seen:
            yield value_finding(Code.USER_AGENT_REPEATED, line)
        seen.add(name)


def _merge_findings(outlined: Outline) -> Iterator[Finding]:
    """Groups with the same name: they are merged, but not by all crawlers."""
    said = [{(line.kind, line.says) for line in b.rules} for b in outlined.blocks]
    agents = [reversed(block.agents) for block in outlined.blocks]  # so that the first line counts
    named = [{name_of(line.value): line for line in lines} for lines in agents]
    managed = managed_lines(outlined)
    of_cdn = {i for i, block in enumerate(outlined.blocks) if block.agents[0].number in managed}
    told: dict[tuple[Code, int, int], list[tuple[str, int]]] = {}
    for name, indices in outlined.by_name.items():
        first, *more = indices
        crawler = crawler_of(name)
        is_merging = crawler is not None and crawler.operator in _MERGING
        for index in more:
            has_rules = any(rule.value for rule in outlined.blocks[index].rules)
            if name == EVERYONE and (first in of_cdn or not has_rules):
                continue  # the site can't change it, or no rule is lost
            code = Code.DUPLICATE_GROUP if said[index] == said[first] else Code.GROUP_SHADOWED
            if name == EVERYONE:
                told[Code.MULTIPLE_STAR, first, index] = [(name, index)]
            elif code is Code.DUPLICATE_GROUP or not is_merging:
                told.setdefault((code, first, 0), []).append((name, index))
    for (code, first, _), found_in in told.items():
        names = list(dict.fromkeys(outlined.spellings[name] for name, _ in found_in))
        name, index = found_in[0]
        above = named[first][name].number
        some = f"for {_some(names)}; " * (len(names) > 1)
        found = value_finding(code, named[index][name], f"{some}see line {above}")
        at_cdn = Mend(_AT_CDN, Effect.OUTSIDE) if above in managed else None
        yield replace(found, proposal=at_cdn)


def managed_lines(outlined: Outline) -> range:
    """The numbers of the lines that a content delivery network puts in front of the file."""
    lines = outlined.lines
    marks = [line.number for line in lines if _MANAGED.search(line.comment or b"")]
    return range(marks[0], marks[-1] + 1) if len(marks) > 1 else range(0)


def _layout_findings(outlined: Outline) -> Iterator[Finding]:
    """Lines in the middle of a group at which some parsers end it.

    If crawlers get the rules of the next group because of such a line, only that is reported: the
    advice for the line would make the mistake permanent.
    """
    cut: dict[int, int] = {}
    for number, of_rule in groupby(swallowed(outlined), key=lambda one: one.rule.number):
        run = list(of_rule)
        rule, agents = run[0].rule, [one.agent for one in run]
        code = Code.GROUP_JOINS_STAR if run[0].is_before_star else Code.GROUP_SWALLOWED
        detail = f"line {number}: {shown(rule.octets.strip()[:80])}"
        block = run[0].block
        below = next(one.number for one in block.agents if one.number > agents[-1].number)
        delays = (line.number for line in block.others if line.name == b"crawl-delay")
        if any(agents[0].number < delay < below for delay in delays):
            detail += _BY_DELAY
        if len(agents) > 1:
            names = _some([shown(agent.value) for agent in agents])
            detail = f"{len(agents)} names up to line {agents[-1].number}: {names}; {detail}"
        found_here = value_finding(code, agents[0], detail, number)
        is_for_all = any(name_of(agent.value) == EVERYONE for agent in agents)
        yield with_fix(found_here, _RULES_FOR_ALL * is_for_all)
        cut[number] = agents[-1].number
    lines = enumerate((outlined.octets + b"\n").split(b"\n"), start=1)
    empty = [number for number, octets in lines if not octets]
    star = outlined.rules_of(outlined.by_name.get(EVERYONE, ()))
    of_star = _said(star), _starts(star)
    for index, block in enumerate(outlined.blocks):
        start = max((cut.get(line.number, 0) for line in block.rules), default=0)
        start = next((a.number for a in block.agents if a.number > start), block.agents[-1].number)
        has_rule = any(rule.value for rule in block.rules)
        for line in block.others if has_rule else ():
            if start < line.number < block.agents[-1].number:
                text = line.octets.strip()[:200]
                yield Finding(Code.RECORD_SPLITS_GROUP, line.number, text, line.key_column)
        if all(outlined.by_name[name][0] < index for name in block.names):
            continue  # such crawlers read only the first group of a name
        if (found := _blank_line(block, start, empty, of_star)) is not None:
            yield found


def _last_without_rules(outlined: Outline) -> Iterator[Finding]:
    """The last group, if it has no rule."""
    last = outlined.blocks[-1] if outlined.blocks else None
    has_rules = any(rule.value for block in outlined.blocks for rule in block.rules)
    is_open = not has_rules and last is not None and EVERYONE in last.names  # as all the file says
    if last is None or last.rules or is_open:
        return
    if not all(outlined.rules_of(outlined.by_name[name]) for name in last.names):
        yield value_finding(Code.GROUP_WITHOUT_RULES, last.agents[-1])


def _blank_line(block: Block, start: int, empty: list[int], of_star: _OfStar) -> Finding | None:
    """The first empty line between a user-agent line of a group and one of its rules.

    Crawlers that miss all rules of their group obey those for ``*``.
    """
    number = empty[bisect_left(empty, start)]
    above = {name_of(agent.value) for agent in block.agents if agent.number < number}
    below = {name_of(agent.value) for agent in block.agents if agent.number > number}
    if above <= below:  # they are named again
        return _blank_line(block, block.agents[-1].number, empty, of_star)
    lost = [rule for rule in block.rules if rule.number > number]
    kept = [rule for rule in block.rules if rule.number < number]
    if not lost:
        return None
    if misplaced_rules(block) and not block.rules[0].value:
        return None  # the line with the empty Disallow has a finding that says it
    detail = f"{counted(len(lost), 'rule')}, from line {lost[0].number} on"
    found = Finding(Code.BLANK_LINE_INSIDE, number, detail=detail)
    has_own = any(start < line.number < number for line in (*kept, *block.others))
    are_repeated = 2 * sum((rule.kind, rule.says) in of_star[0] for rule in lost) > len(lost)
    begins_anew = lost[0].kind is Kind.DISALLOW and lost[0].says not in {one.says for one in kept}
    if has_own and EVERYONE not in block.names and begins_anew and not are_repeated:
        return told_of_misplaced(found, block, lost, "blank line")
    # Without any rule, the crawler obeys those for *.
    has_delay = any(line.name in _DELAYS and line.number < number for line in block.others)
    has_any = kept or has_delay or EVERYONE in block.names
    left, meant = _starts(kept) if has_any else of_star[1], _starts([*kept, *lost])
    is_same = all(_allows(left, path) is _allows(meant, path) for path in (*meant, *left))
    return None if is_same else found


def _said(rules: Iterable[Line]) -> set[tuple[Kind | None, str]]:
    return {(rule.kind, rule.says) for rule in rules if rule.pattern}


def _starts(rules: Iterable[Line]) -> dict[str, bool]:
    """The starts of paths that rules name, and whether an old crawler may fetch these.

    Such a crawler ends a group at a blank line, obeys the first rule that matches, and knows no
    wildcards. So of these starts the longest decides: others are left out.
    """
    found: dict[str, bool] = {}
    for rule in rules:
        start = "" if rule.value in (b"", b"*") else rule.pattern
        is_read = not start or (is_live(start) and _WILDCARDS.isdisjoint(start))
        if is_read and not any(start[:end] in found for end in _ends(start)):
            found[start] = rule.kind is Kind.ALLOW or not rule.value
    needed = (
        start for start in found if not start or _allows(found, start[:-1]) is not found[start]
    )
    return {start: found[start] for start in needed}


def _allows(starts: dict[str, bool], path: str) -> bool:
    return next((starts[path[:end]] for end in _ends(path) if path[:end] in starts), True)


def _ends(path: str) -> range:
    return range(min(len(path), _MOST_OCTETS), -1, -1)
