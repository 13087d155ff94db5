"""Checks of the effect of rules in merged groups.

Cost: comparisons of rules, bounded by `BUDGET_STEPS` of work for the file. If that is not enough, a
finding says so, and the rest is not checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from scrapy_rep.analysis.checks.codes import Code, Effect
from scrapy_rep.analysis.effect.analysis import Needless, needless_lines
from scrapy_rep.analysis.effect.rule_patterns import (
    EVERYTHING,
    StepBudget,
    is_live,
    look_steps,
    matches,
    may_meet,
)
from scrapy_rep.analysis.findings import Finding, value_finding
from scrapy_rep.analysis.mending import Mend
from scrapy_rep.analysis.outline import Block, Line, Outline
from scrapy_rep.protocol.extensions.sitemaps import sitemap_line
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.paths import normal_path, path_of
from scrapy_rep.protocol.ruleset import folder_of
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.written import matches_as_written

from .crawler_names import BIG_ENGINES, fallback_of, is_search_crawler, own_group_only
from .group_checks import managed_lines

BUDGET_STEPS = 3_000_000

_READY_STEPS = 8  # to prepare a rule for comparison, in each merged group that contains it

_MANY_RULES = 3  # of a group for *, which a crawler with a group of its own ignores
_MOST_NAMED = 5  # crawlers in one finding

_AT_CDN = Mend(
    "turn the managed robots.txt off in the settings of the content delivery network, or name the "
    "crawlers in your own groups",
    Effect.OUTSIDE,
)
_RESOURCES = re.compile(
    r"(?:/|^)\*\.(?:css|js)(?:\*|\$|\?|$)|/(?:css|js|javascripts?|stylesheets?|styles)/?\*?$",
    re.IGNORECASE,
)


def effect_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about the effect of rules."""
    budget = StepBudget(BUDGET_STEPS)
    by_number = {line.number: line for line in outlined.lines}
    merges = _merges(outlined, budget)
    yield from _needless_findings(merges, by_number, budget)
    yield from _tie_findings(outlined, merges, budget)
    yield from _ban_findings(outlined, merges)
    yield from _order_findings(outlined, budget)
    yield from _blocked_sitemaps(outlined, merges, budget)
    yield from _resources(outlined)
    yield from _ignores_star(outlined, merges)
    yield from _like_star(outlined, merges, budget)
    if budget.is_spent:
        yield Finding(Code.EFFECT_NOT_CHECKED)


Merge = tuple[int, ...]
"""The indices of groups that are merged for some crawler."""


def _merges(outlined: Outline, budget: StepBudget) -> dict[Merge, list[Line]]:
    """The rules of each merged group, by the indices of its groups."""
    merges: dict[Merge, list[Line]] = {}
    for indices in outlined.merges:
        rules = [line for index in indices for line in outlined.blocks[index].rules]
        if budget.take(look_steps(sum(len(line.value) for line in rules), len(rules))):
            merges[indices] = rules
    return merges


def _needless_findings(
    merges: dict[Merge, list[Line]], by_number: dict[int, Line], budget: StepBudget
) -> Iterator[Finding]:
    """Rules that never decide or change nothing, in every merged group that contains them."""
    in_merges: Counter[int] = Counter()
    found: dict[int, list[Needless]] = {}
    for rules in merges.values():
        if not budget.take(_READY_STEPS * len(rules)):
            in_merges.update(line.number for line in rules)  # they were not checked there
            continue
        first = {(line.kind, line.spelling): line for line in reversed(rules)}
        in_merges.update(line.number for line in first.values())
        for line, reason in needless_lines(reversed(first.values()), budget):
            found.setdefault(line.number, []).append(reason)
    for number, reasons in found.items():
        first_reason = reasons[0]
        other = first_reason.because
        is_tie = other is not None and other.text == first_reason.pattern.text
        if len(reasons) < in_merges[number] or is_tie:
            continue
        code = Code.RULE_SHADOWED if first_reason.is_shadowed else Code.RULE_REDUNDANT
        detail = f"see line {other.line}" if other is not None and other.line else ""
        yield value_finding(code, by_number[number], detail)


def _tie_findings(
    outlined: Outline, merges: dict[Merge, list[Line]], budget: StepBudget
) -> Iterator[Finding]:
    """Paths that a merged group both allows and disallows; each line is reported once."""
    managed = managed_lines(outlined)
    told: set[int] = set()
    for rules in merges.values():
        if not budget.take(len(rules)):
            return
        first: dict[tuple[Kind | None, str], Line] = {}
        for line in rules:
            if line.pattern:
                first.setdefault((line.kind, line.says), line)
        for (kind, says), line in first.items():
            allow = first.get((Kind.ALLOW, says))
            if kind is not Kind.DISALLOW or allow is None:
                continue
            later, other = (line, allow) if line.number > allow.number else (allow, line)
            if later.number in told:
                continue
            told.add(later.number)
            found = value_finding(Code.TIE, later, f"see line {other.number}")
            if other is allow and allow.number in managed:
                where = f"line {other.number}, which the content delivery network adds, opens it"
                found = replace(found, detail=where, proposal=_AT_CDN)
            yield found


def _ban_findings(outlined: Outline, merges: dict[Merge, list[Line]]) -> Iterator[Finding]:
    """Groups that ban all crawlers that are not named, or a big search engine by its name."""
    names = outlined.by_name
    line = _ban(merges.get(names.get(EVERYONE, ()), []))
    if line is not None:
        if not _has_allow_list(outlined, merges):
            yield value_finding(Code.DISALLOW_ALL, line)
        if left := own_group_only(names):
            yield value_finding(Code.OWN_TOKEN_ONLY, line, ", ".join(one.token for one in left))
    banned: dict[int, tuple[Line, list[str]]] = {}
    for name in BIG_ENGINES:
        rules = merges.get(names.get(name, ()), [])
        line = _ban(rules)
        if line is not None and not any(one.kind is Kind.ALLOW and one.value for one in rules):
            banned.setdefault(line.number, (line, []))[1].append(name.capitalize())
    for line, engines in banned.values():
        yield value_finding(Code.SEARCH_ENGINE_DISALLOWED, line, ", ".join(engines))


def _ban(rules: list[Line]) -> Line | None:
    """The line that disallows everything, except for what longer rules allow; None without one."""
    about_all = [line for line in rules if line.pattern in EVERYTHING]
    longest = max(
        about_all, key=lambda line: (len(line.pattern), line.kind is Kind.ALLOW), default=None
    )
    return longest if longest is not None and longest.kind is Kind.DISALLOW else None


def _has_allow_list(outlined: Outline, merges: dict[Merge, list[Line]]) -> bool:
    """Whether the file lets a search engine in by name: then a ban of the others is intended."""
    return any(
        is_search_crawler(name) and merge in merges and _ban(merges[merge]) is None
        for name, merge in outlined.by_name.items()
    )


def _order_findings(outlined: Outline, budget: StepBudget) -> Iterator[Finding]:
    """Rules that never decide for a crawler that takes the first match."""
    for block in outlined.blocks:
        shorter: list[tuple[Kind, str, Line]] = []
        octets = 0
        for line in block.rules:
            pattern = line.pattern
            if line.kind is None or not is_live(pattern):
                continue
            count = len(shorter)
            if not budget.take(1 + look_steps(octets + count * len(pattern), count)):
                return
            octets += len(pattern)
            above = next(
                (
                    other
                    for kind, text, other in shorter
                    if kind is not line.kind
                    and len(text) < len(pattern)
                    and (may_meet(text, pattern) if "*" not in text else matches(text, pattern))
                ),
                None,
            )
            if above is not None:
                detail = f"see line {above.number}"
                yield value_finding(Code.ORDER_MATTERS, line, detail, above.number)
            shorter.append((line.kind, pattern, line))


def _steps(patterns: list[str], paths: list[str]) -> int:
    """The steps to compare each path with each pattern."""
    octets = len(paths) * sum(map(len, patterns)) + len(patterns) * sum(map(len, paths))
    return look_steps(octets, len(patterns) * len(paths))


def _decides(rules: list[tuple[bool, str, Line]], path: str) -> Line | None:
    """The disallow line that decides for a path as requested, or None."""
    best: tuple[int, bool, Line | None] = (0, True, None)
    text = normal_path(path)
    for allow, pattern, line in rules:
        if (len(pattern), allow) > best[:2] and (
            matches(pattern, text)
            or (line.is_written and matches_as_written(line.value.decode("latin-1"), path))
        ):
            best = len(pattern), allow, line
    return None if best[1] else best[2]


def _blocked_sitemaps(
    outlined: Outline, merges: dict[Merge, list[Line]], budget: StepBudget
) -> Iterator[Finding]:
    """Sitemaps on the same host that rules of this file disallow."""
    targets = [
        (line, path_of(uri))
        for line in outlined.sitemaps
        for uri in sitemap_line(line.value, outlined.uri or "https://host/").uris
        if (not outlined.uri or _authority(uri) == _authority(outlined.uri))
    ]
    star = outlined.by_name.get(EVERYONE)
    is_allow_list = _has_allow_list(outlined, merges)
    engines = {merge for name, merge in outlined.by_name.items() if is_search_crawler(name)}
    found: dict[Code, list[tuple[Line, Line]]] = {}
    for merge, lines in merges.items() if targets else ():
        if merge != star and merge not in engines:
            continue
        rules = [
            (allow, pattern, line)
            for line in lines
            for allow in (line.kind is Kind.ALLOW,)
            for pattern in (line.pattern, folder_of(line.pattern) or "")
            if pattern and (allow or pattern == line.pattern)
        ]
        if not budget.take(_steps([text for _, text, _ in rules], [path for _, path in targets])):
            return
        for target, path in targets:
            line = _decides(rules, path)
            # To disallow everything is intended, not a mistake.
            is_ban = line is not None and line.pattern in EVERYTHING
            if line is None or (is_ban and (is_allow_list or merge != star)):
                continue
            if merge == star:
                found.setdefault(Code.SITEMAP_DISALLOWED, []).append((target, line))
            else:
                found.setdefault(Code.BLOCKS_SITEMAP, []).append((line, target))
    for code, pairs in found.items():
        line, other = pairs[0]
        more = len({one.number for one, _ in pairs}) - 1
        words = f", and {counted(more, 'more such line')}" if more else ""
        yield value_finding(code, line, f"see line {other.number}{words}")


def _authority(uri: str) -> str:
    return path_authority.lower() if (path_authority := uri[: -len(path_of(uri))]) else ""


def _resources(outlined: Outline) -> Iterator[Finding]:
    """The first rule for style sheets or scripts in groups for ``*`` or a search engine."""
    found = [
        line
        for block in outlined.blocks
        if any(name == EVERYONE or is_search_crawler(name) for name in block.names)
        and _ban(block.rules) is None
        for line in block.rules
        if line.kind is Kind.DISALLOW and _RESOURCES.search(line.pattern)
    ]
    if found:
        more = f"and {counted(len(found) - 1, 'more such rule')}" if len(found) > 1 else ""
        yield value_finding(Code.BLOCKS_RESOURCES, found[0], more)


def _ignores_star(outlined: Outline, merges: dict[Merge, list[Line]]) -> Iterator[Finding]:
    """The first group that lets a search engine ignore the rules for ``*``."""
    star = merges.get(outlined.by_name.get(EVERYONE, ()), [])
    count = sum(line.kind is Kind.DISALLOW and bool(line.value) for line in star)
    if count < _MANY_RULES or _ban(star) is not None:
        return
    found: dict[str, Line] = {}
    for name, merge in outlined.by_name.items():
        is_main = is_search_crawler(name) and not fallback_of(name)  # not one for images
        rules = [line for line in merges.get(merge, ()) if line.value and is_main]
        if rules and all(one.kind is Kind.ALLOW and one.pattern in EVERYTHING for one in rules):
            found[outlined.spellings[name]] = rules[0]
    if found:
        names = list(found)
        more = f" and {len(names) - _MOST_NAMED:,} more" * (len(names) > _MOST_NAMED)
        detail = f"{counted(count, 'rule')}; {', '.join(names[:_MOST_NAMED])}{more}"
        yield value_finding(Code.GROUP_IGNORES_STAR, found[names[0]], detail)


def _like_star(
    outlined: Outline, merges: dict[Merge, list[Line]], budget: StepBudget
) -> Iterator[Finding]:
    """Groups with the same rules and other records as the group for ``*``."""
    star = outlined.by_name.get(EVERYONE)
    if star is None:
        return
    said = [_said(block) for block in outlined.blocks]
    by_star = set().union(*(said[index] for index in star))
    is_within = [words <= by_star for words in said]
    for merge in merges:
        block = outlined.blocks[merge[0]]
        if merge == star or EVERYONE in block.names or not all(is_within[i] for i in merge):
            continue
        if any(fallback_of(name) in outlined.by_name for name in block.names):
            continue  # otherwise the crawler would take the group of its fallback
        is_like = any(len(said[index]) == len(by_star) for index in merge)
        if not is_like and budget.take(sum(len(said[index]) for index in merge)):
            is_like = len(set().union(*(said[index] for index in merge))) == len(by_star)
        if is_like:
            yield value_finding(Code.GROUP_LIKE_STAR, block.agents[0])


def _said(block: Block) -> set[tuple[object, object]]:
    rules = {(line.kind, line.says) for line in block.rules}
    return {*rules, *((line.name, line.value) for line in block.others)}
