"""Checks of the effect of rules in merged groups.

Cost: comparisons of rules, bounded by `BUDGET_STEPS` of work for the file. If that is not enough, a
finding says so, and the rest is not checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from scrapy_rep.extras.webmaster.checks.codes import Code, Effect
from scrapy_rep.extras.webmaster.effect.analysis import Needless, needless_lines
from scrapy_rep.extras.webmaster.effect.differences import shortened
from scrapy_rep.extras.webmaster.effect.rule_patterns import (
    EVERYTHING,
    StepBudget,
    is_live,
    look_steps,
    matches,
    may_meet,
)
from scrapy_rep.extras.webmaster.findings import Finding, value_finding, with_fix
from scrapy_rep.extras.webmaster.mending import Mend
from scrapy_rep.extras.webmaster.outline import Block, Line, Outline, name_of
from scrapy_rep.protocol.extensions.sitemaps import sitemap_line
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.paths import END, path_of
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import shown

from .crawler_names import (
    BIG_ENGINES,
    GOOGLE,
    GOOGLE_NEWS,
    fallback_of,
    is_search_crawler,
    own_group_only,
    shows_pages,
)
from .group_checks import managed_lines
from .merged_rules import MergedGroups, MergedRules, ban
from .resources import resource_findings
from .swallowed import swallowed

BUDGET_STEPS = 3_000_000

_HERE = "https://this-site/"  # if the URI of the file is not known
_READY_STEPS = 8  # to prepare a rule for comparison, in each merged group that contains it

_FILE = re.compile(r"\.\w{1,5}[*$]*$")
_POLICY = re.compile(rb"\b(?:polic(?:y|ies)|terms of (?:use|service)|prohibited)\b", re.IGNORECASE)
_MANY_RULES = 2  # of a group for *, which a crawler with a group of its own ignores
_MOST_ESCAPED = 3  # of the rules for *
_MOST_TRIED = 100
_NEWS_ALONE = (
    ", which is no crawler: this group decides alone what Google News shows, and Googlebot fetches "
    "the pages"
)
_FOR_NEWS = (
    "repeat such rules in this group if Google News should not show these pages; otherwise leave it"
)

_AT_CDN = Mend(
    "turn the managed robots.txt off in the settings of the content delivery network, or name the "
    "crawlers in your own groups",
    Effect.OUTSIDE,
)


def effect_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about the effect of rules."""
    groups = MergedGroups(outlined, StepBudget(BUDGET_STEPS))
    of_resources = list(resource_findings(groups))
    vain = {found.line for found in of_resources if found.code is Code.ALLOW_OUTRANKED}
    yield from (found for found in _needless_findings(groups) if found.line not in vain)
    yield from _tie_findings(groups)
    yield from _ban_findings(groups)
    yield from _order_findings(outlined, groups.budget)
    yield from _blocked_sitemaps(groups)
    yield from of_resources
    yield from _ignores_star(groups)
    yield from _like_star(groups)
    if groups.budget.is_spent:
        yield Finding(Code.EFFECT_NOT_CHECKED)


def _needless_findings(groups: MergedGroups) -> Iterator[Finding]:
    """Rules that never decide or change nothing, in every merged group that contains them."""
    in_merges: Counter[int] = Counter()
    found: dict[Line, list[Needless]] = {}
    for rules in groups.rules.values():
        if not groups.budget.take(_READY_STEPS * len(rules)):
            in_merges.update(line.number for line in rules)  # they were not checked there
            continue
        first = {(line.kind, line.spelling): line for line in reversed(rules)}
        in_merges.update(line.number for line in first.values())
        for line, reason in needless_lines(reversed(first.values()), groups.budget):
            found.setdefault(line, []).append(reason)
    for line, (first_reason, *more) in found.items():
        other = first_reason.because or first_reason.pattern
        is_tie = first_reason.because is not None and other.text == first_reason.pattern.text
        if 1 + len(more) < in_merges[line.number] or is_tie:
            continue
        is_defeated = first_reason.is_shadowed and other.allow is not first_reason.pattern.allow
        code = Code.RULE_SHADOWED if is_defeated else Code.RULE_REDUNDANT
        has_line = first_reason.because is not None and other.line
        yield value_finding(code, line, f"see line {other.line}" if has_line else "")


def _tie_findings(groups: MergedGroups) -> Iterator[Finding]:
    """Paths that a merged group both allows and disallows; each line is reported once."""
    managed = managed_lines(groups.outline)
    told: set[int] = set()
    for rules in groups.rules.values():
        if not groups.budget.take(len(rules)):
            return
        first = {(line.kind, line.says): line for line in reversed(rules) if line.pattern}
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


def _ban_findings(groups: MergedGroups) -> Iterator[Finding]:
    """Groups that ban all crawlers that are not named, or a big search engine by its name."""
    outlined, star = groups.outline, groups.of(EVERYONE)
    line = ban(star)
    if line is not None:
        is_meant = _has_allow_list(groups) or _has_reason(outlined, line)
        if not is_meant and not any(map(_opens_pages, star)):
            yield value_finding(Code.DISALLOW_ALL, line)
        if left := own_group_only(outlined.by_name):
            yield value_finding(Code.OWN_TOKEN_ONLY, line, ", ".join(one.token for one in left))
    # By their Crawl-delay, such engines take the ban below for that of another crawler.
    others = {name_of(one.agent.value) for one in swallowed(outlined)}
    banned: dict[Line, list[str]] = {}
    for name in (one for one in BIG_ENGINES if one not in others):
        rules = groups.of(name)
        line = ban(rules)
        if line is not None and not any(one.kind is Kind.ALLOW and one.value for one in rules):
            banned.setdefault(line, []).append(name.capitalize())
    for line, engines in banned.items():
        yield value_finding(Code.SEARCH_ENGINE_DISALLOWED, line, ", ".join(engines))


def _opens_pages(line: Line) -> bool:
    """Whether it allows more than files such as admin-ajax.php: then a ban of the rest is meant."""
    is_open = line.kind is Kind.ALLOW and line.pattern not in ("", *EVERYTHING)
    return is_open and not _FILE.search(line.pattern)


def _has_allow_list(groups: MergedGroups) -> bool:
    """Whether the file lets a search engine in by name: then a ban of the others is intended."""
    return any(
        is_search_crawler(name) and merge in groups.rules and ban(groups.rules[merge]) is None
        for name, merge in groups.outline.by_name.items()
    )


def _has_reason(outlined: Outline, ban: Line) -> bool:
    """Whether a comment above a ban says that it is a policy."""
    above = (line.comment for line in outlined.lines if line.number < ban.number)
    return any(comment and _POLICY.search(comment) for comment in above)


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
            contrary = (one for one in shorter if one[0] is not line.kind)
            less = ((text, other) for _, text, other in contrary if len(text) < len(pattern))
            meeting = (one for text, one in less if _may_come_first(text, pattern))
            if (above := next(meeting, None)) is not None:
                detail = f"see line {above.number}"
                yield value_finding(Code.ORDER_MATTERS, line, detail, above.number)
            shorter.append((line.kind, pattern, line))


def _may_come_first(text: str, pattern: str) -> bool:
    """Whether a shorter pattern matches paths of a pattern below it."""
    return matches(text, pattern) if "*" in text else may_meet(text, pattern)


def _blocked_sitemaps(groups: MergedGroups) -> Iterator[Finding]:
    """Sitemaps on the same host that rules of this file disallow."""
    outlined = groups.outline
    own = _authority(outlined.uri) if outlined.uri else None
    read = ((line, sitemap_line(line.value, outlined.uri or _HERE)) for line in outlined.sitemaps)
    uris = ((line, uri) for line, found in read for uri in found.uris)
    targets = [(line, path_of(uri)) for line, uri in uris if own in (None, _authority(uri))]
    star = outlined.by_name.get(EVERYONE)
    is_allow_list = _has_allow_list(groups)
    engines = {merge for name, merge in outlined.by_name.items() if is_search_crawler(name)}
    found: dict[Code, list[tuple[Line, Line]]] = {}
    for merge, lines in groups.rules.items() if targets else ():
        if merge != star and merge not in engines:
            continue
        merged = MergedRules(lines, groups.budget)
        for target, path in targets:
            line = merged.disallows(path)
            # To disallow everything is intended, not a mistake.
            is_ban = line is not None and line.pattern in EVERYTHING
            if line is None or (is_ban and (is_allow_list or merge != star)):
                continue
            of_star, of_engine = Code.SITEMAP_DISALLOWED, Code.BLOCKS_SITEMAP
            code, pair = (of_star, (target, line)) if merge == star else (of_engine, (line, target))
            found.setdefault(code, []).append(pair)
    for code, pairs in found.items():
        line, other = pairs[0]
        more = len({one.number for one, _ in pairs}) - 1
        words = f", and {counted(more, 'more such line')}" if more else ""
        sitemap = line if code is Code.SITEMAP_DISALLOWED else other
        named = _authority(sitemap_line(sitemap.value, _HERE).uris[0])
        if not outlined.uri and named != _authority(_HERE):
            words += f"; this holds if the file is that of {named}"
        yield value_finding(code, line, f"see line {other.number}{words}")


def _authority(uri: str) -> str:
    return uri[: -len(path_of(uri))].lower()


def _ignores_star(groups: MergedGroups) -> Iterator[Finding]:
    """The first group for a search engine that repeats none of the rules for ``*``.

    The group for Google News has a finding of its own if Googlebot obeys these rules.
    """
    outlined, star = groups.outline, groups.of(EVERYONE)
    bans = [line for line in star if line.kind is Kind.DISALLOW and is_live(line.pattern)]
    count = len({line.pattern for line in bans})
    if count < _MANY_RULES or ban(star) is not None:
        return
    of_star = MergedRules(star, groups.budget)
    tried = {one.pattern.replace("*", "x").removesuffix(END): one for one in bans[:_MOST_TRIED]}
    disallowed = {path: line for path, line in tried.items() if of_star.disallows(path)}
    found: dict[str, Line] = {}
    for name, merge in outlined.by_name.items():
        if merge not in groups.rules or not shows_pages(name):
            continue
        own = MergedRules(groups.rules[merge], groups.budget)
        if disallowed and not any(map(own.disallows, disallowed)) and not groups.budget.is_spent:
            agents = outlined.blocks[merge[0]].agents
            found[name] = next(one for one in agents if name_of(one.value) == name)
    if GOOGLE_NEWS in found and GOOGLE not in found:
        line = found.pop(GOOGLE_NEWS)
        lost = rules_for_news(disallowed.values(), groups.of(GOOGLE_NEWS))
        if lost and GOOGLE not in outlined.by_name:
            who = f"{shown(line.value)}{_NEWS_ALONE}"
            detail = f"{counted(count, 'rule')}, such as {_some_of(lost)}; {who}"
            yield with_fix(value_finding(Code.GROUP_IGNORES_STAR, line, detail), _FOR_NEWS)
    if found:
        names = sorted(found, key=lambda name: name not in BIG_ENGINES)
        who = shortened([outlined.spellings[name] for name in names])
        detail = f"{counted(count, 'rule')}, such as {_some_of(bans)}; {who}"
        yield value_finding(Code.GROUP_IGNORES_STAR, found[names[0]], detail)


def _some_of(rules: list[Line]) -> str:
    return ", ".join(shown(line.value[:60]) for line in rules[:_MOST_ESCAPED])


def _like_star(groups: MergedGroups) -> Iterator[Finding]:
    """Groups with the same rules and other records as the group for ``*``."""
    outlined = groups.outline
    star = outlined.by_name.get(EVERYONE)
    if star is None:
        return
    said = [_said(block) for block in outlined.blocks]
    by_star = set().union(*(said[index] for index in star))
    is_within = [words <= by_star for words in said]
    for merge in groups.rules:
        block = outlined.blocks[merge[0]]
        if merge == star or EVERYONE in block.names or not all(is_within[i] for i in merge):
            continue
        if any(fallback_of(name) in outlined.by_name for name in block.names):
            continue  # otherwise the crawler would take the group of its fallback
        own = [said[index] for index in merge]
        is_like = by_star in own
        if not is_like and groups.budget.take(sum(map(len, own))):
            is_like = set().union(*own) == by_star
        if is_like:
            yield value_finding(Code.GROUP_LIKE_STAR, block.agents[0])


def _said(block: Block) -> set[tuple[object, object]]:
    rules = {(line.kind, line.says) for line in block.rules}
    return {*rules, *((line.name, line.value) for line in block.others)}


# A news service, such as Google News, shows articles. It shows no search pages, forms or scripts,
# so rules for these change nothing there. A group for its name that disallows pages says what it
# should not show, but its author may forget single articles and paid content.
_NO_ARTICLE = re.compile(
    r"""[?=&]|\.(?!s?html?\b)\w{2,5}[*$]*$
    |(?<![a-z])(?:
        ads?|admin|ajax|api|apps?|assets?|beta|cache|cgi|errors?|esi|feeds?|includes?|json|layout
        |media|misc|modules?|php|plugins?|rss|scripts?|services?|static|stats|tests?|themes?|tools?
        |tracking|wp|ws|xml
        |buscador|buscar|cerca|find|query|recherche|ricerca|search|suche|typeahead|zoeken
        |account|auth|compte|konto|log(?:in|out)|members?|profiles?|regist(?:er|ration)|sign(?:in|up)
        |sso|users?
        |basket|cart|checkout|orders?|(?:un)?subscri(?:be|ptions?)
        |comments?|contact|e?mail|embed|feedback|follow(?:ing)?|iframe|newsletters?|preview|print
        |share|webview|widgets?
    )(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
_PAID = re.compile(
    r"advertori|impact-feature|paid-?(?:content|post)|partner-?content|press-?release|prnewswire"
    r"|publireda|publireport|sponsor",
    re.IGNORECASE,
)
_DATE = re.compile(r"/(?:19|20)\d\d/\d\d?/")
_FEWEST_WORDS, _FEWEST_DIGITS = 6, 6  # at the end of an article's address


def rules_for_news(rules: Iterable[Line], own: Iterable[Line]) -> list[Line]:
    """The rules that matter for a news service with a group of its own.

    Args:
        rules: Disallow rules for ``*``.
        own: the rules of the group.
    """
    if any(line.kind is Kind.DISALLOW and line.value for line in own):
        return [one for one in rules if _is_article(one.pattern) or _PAID.search(one.pattern)]
    return [one for one in rules if not _NO_ARTICLE.search(one.pattern)]


def _is_article(pattern: str) -> bool:
    last = pattern.rstrip("/*$").rpartition("/")[2].partition(".")[0]
    has_words = len(last.replace("_", "-").split("-")) >= _FEWEST_WORDS
    end = last[-_FEWEST_DIGITS:]
    has_number = end.isdigit() and len(end) == _FEWEST_DIGITS
    return has_words or has_number or _DATE.search(pattern) is not None
