"""``scrapy rep check --page``: the rules of a page for crawlers, and access to its resources.

Rules are read as in a crawl; `REP_PAGE_OBEY` decides what this project does about them. A search
engine that renders a page sees it without the style sheets, scripts and images that it may not
fetch.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_rep.commands.engine_work import answer_to, in_engine
from scrapy_rep.commands.inputs import origin_of, read, refuse_odd_path
from scrapy_rep.commands.judging import Judges
from scrapy_rep.commands.named_agents import Agent, verdict_word
from scrapy_rep.commands.project_store import project_store
from scrapy_rep.commands.running import FOUND, UNREACHABLE, Call, CommandError
from scrapy_rep.commands.terminal import moment, safe, when
from scrapy_rep.crawl import Crawl
from scrapy_rep.extras.pages import page_html, readings
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.page.page_elements import NOFOLLOW
from scrapy_rep.extras.pages.page.rule_words import REL_NOFOLLOW, UNAVAILABLE_AFTER, lowered
from scrapy_rep.extras.pages.page.rules import PageRule, PageRules
from scrapy_rep.extras.pages.readings import usage_of
from scrapy_rep.extras.pages.subresources import resources_of
from scrapy_rep.extras.pages.usage.categories import CATEGORIES
from scrapy_rep.extras.pages.usage.preference import Preference, UsagePreferences
from scrapy_rep.pace.pacing import Pacing
from scrapy_rep.policies import policy_for
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.fields.remarks import excerpt
from scrapy_rep.protocol.units import counted
from scrapy_rep.signals import QUEUE

MEANINGS = {
    "noindex": "keep it out of search results",
    "nofollow": "do not follow its links",
    "nosnippet": "show no excerpt of it",
    **dict.fromkeys(("noarchive", "nocache"), "offer no copy of it"),
    **dict.fromkeys(("noai", "noml", "notrain", "disallowaitraining"), "do not train on it"),
    "noimageindex": "keep its images out of search results",
    "notranslate": "offer no translation",
    "indexifembedded": "may be in search results as part of another page, despite noindex",
    "noimageai": "do not train on its images",
    "max-snippet": "the most characters to show; -1 is no limit",
    "max-image-preview": "the largest size of image previews",
    "max-video-preview": "the most seconds of video to show; -1 is no limit",
    UNAVAILABLE_AFTER: "keep it out of search results from then on",
}
"""The meaning of each rule, in words."""
_PASSED = "it has passed, so this means noindex: keep it out of search results"

_SHOWN = 20  # fields, elements and links; JSON has all
_SUBJECTS = frozenset(["robots", "x-robots-tag", "tdm-reservation", "tdm-policy"])
_ORIGINS = 32  # of the resources of a page; all are fetched at once
_RESOURCES = 10_000  # judged per page; hostile pages name millions
_PAGE_OCTETS = 32 * 1024 * 1024


def show_pages(call: Call, agents: Sequence[Agent]) -> None:
    """Fetch pages as a crawl would, and show the rules and the resources of each."""
    urls = call.options.page
    for url in urls:
        origin_of(url)

    async def work(crawler: Crawler) -> None:
        judges = Judges(call, _ORIGINS)
        for url in urls:
            with call.going_on():
                response = await fetched(url, crawler)
                if not call.is_json:
                    call.line(call.paint(safe(response.url), "bold"))
                _show_rules(response, agents, call)
                await _show_resources(response, agents, judges, crawler, call)
        judges.tell_files()

    in_engine(call, work)


async def fetched(url: str, crawler: Crawler) -> Response:
    """Fetch the page at a URL, or where it redirects to.

    Raises:
        CommandError: no page came, or a crawl of this project may not fetch it.
    """
    await _refuse_out_of_hours(url, crawler)
    try:
        response = await answer_to(
            Request(url, meta={"download_maxsize": _PAGE_OCTETS, QUEUE: True}), crawler
        )
    except CommandError as error:
        raise CommandError(f"{safe(url)}: {error}", error.status) from error
    if response.status >= 400:  # noqa: PLR2004 - client and server errors
        raise CommandError(f"{safe(url)} answers {response.status}", UNREACHABLE)
    return response


async def _refuse_out_of_hours(url: str, crawler: Crawler) -> None:
    """Check that the site may be visited now: a crawl would wait, perhaps for hours.

    Raises:
        CommandError: it may not.
    """
    pacing = Crawl.of(crawler).find(Pacing)
    if pacing is None:
        return
    opens_at = pacing.opens_at(await policy_for(crawler, url))
    if opens_at > time.time():
        minutes = (opens_at - time.time()) / 60
        words = f"{safe(url)} is not fetched: its Visit-time begins in {minutes:.0f} min"
        raise CommandError(words, UNREACHABLE)


def _show_rules(response: Response, agents: Sequence[Agent], call: Call) -> None:
    """Show fields, elements, links and their meaning; FOUND if any agent is restricted."""
    refused = sorted(readings.refused_links(response))
    said = {agent.name: readings.page_rules(response, agent.tokens) for agent in agents}
    fields, metas = list(_fields(response)), list(_metas(response, agents))
    notes = list(_rule_notes(response, said.values()))
    for name, rules in said.items() if call.is_json else ():
        call.row(
            {
                "page": response.url,
                "section": "rules",
                "agent": name,
                "rules": rules.to_dict(),
                "noindex_by": _noindex_by(rules),
                "sources": {rule.name: [str(rule.source), rule.text] for rule in rules.rules},
                "fields": fields,
                "elements": metas,
                "refused_links": refused,
                "notes": notes,
            }
        )
    if not call.is_json:
        _write_list("fields", fields, call)
        _write_list("elements", metas, call)
        for name, rules in said.items():
            _write_rules(name, rules, call)
        links = list(map(excerpt, refused))
        _write_list(f"links not to be followed (rel: {NOFOLLOW})", links, call)
        for note in notes:
            call.remark(note, "  ")
    if page_html.has_unread_links(response):
        call.end_with(UNREACHABLE)
    elif refused or any(rules.rules for rules in said.values()):
        call.end_with(FOUND)


def _fields(response: Response) -> Iterator[str]:
    """The lines of fields with rules or preferences, as sent."""
    for name, lines in page_html.fields_of(response).items():
        for line in lines:
            yield f"{name}: {excerpt(line)}"


def _metas(response: Response, agents: Sequence[Agent]) -> Iterator[str]:
    """Describe the meta elements with rules or preferences, for all crawlers or for an agent."""
    tokens = {lowered(token) for agent in agents for token in agent.tokens}
    for meta in page_html.metas_of(response):
        if lowered(meta.subject) in _SUBJECTS | tokens:
            place = "" if meta.in_head else ", not in the head"
            yield f"line {meta.line}{place}: {excerpt(f'{meta.subject}: {meta.content}')}"


def _rule_notes(response: Response, said: Iterable[PageRules]) -> Iterator[str]:
    if page_html.has_unread_links(response):
        yield "it cannot be read to its end, so what it says is unknown"
    elif not page_html.is_html(response):
        yield "not an HTML page, so only its fields count"
    yield from dict.fromkeys(str(remark) for rules in said for remark in rules.remarks)


def _write_list(title: str, lines: list[str], call: Call) -> None:
    call.line(f"  {title}: {len(lines) or 'none'}")
    call.lines(lines[:_SHOWN], "    ")
    if len(lines) > _SHOWN:
        call.line(f"    and {len(lines) - _SHOWN:,} more")


def _write_rules(name: str, rules: PageRules, call: Call) -> None:
    call.line(f"  for {name}: {'' if rules.rules else 'no rules'}".rstrip())
    for rule in rules.rules:
        word = call.paint(f"{rule.name}{_value(rule)}", "red")
        is_passed = rule.name == UNAVAILABLE_AFTER and rules.is_unavailable()
        meaning = _PASSED if is_passed else MEANINGS[rule.name]
        call.line(f"    {word} by {rule.source}: {meaning}")
    for text in _consequences(rules, call.ours.page_obey):
        call.line(f"    this project: {text}")


def _noindex_by(rules: PageRules) -> str | None:
    """The rule that keeps the page out of search results now; None without one."""
    rule = rules.says("noindex")
    return None if rule is None else rule.name


def _value(rule: PageRule) -> str:
    if rule.value is True:
        return ""
    return f": {moment(float(rule.value)) if rule.name == UNAVAILABLE_AFTER else rule.value}"


def _consequences(rules: PageRules, wanted: Iterable[str]) -> Iterator[str]:
    """The effect of `REP_PAGE_OBEY` on rules."""
    obeyed = [name for name in wanted if name != REL_NOFOLLOW and rules.says(name)]
    items = [name for name in obeyed if name != "nofollow"]
    if "nofollow" in obeyed:
        yield "requests for its links are dropped (nofollow)"
    if items:
        yield f"its items are dropped ({', '.join(items)})"
    if rules.rules and not obeyed:
        yield "REP_PAGE_OBEY contains none of these rules, so nothing is dropped"


async def _show_resources(
    response: Response, agents: Sequence[Agent], judges: Judges, crawler: Crawler, call: Call
) -> None:
    """Show the style sheets, scripts and images that are blocked, for each agent."""
    found = list(islice(resources_of(response), _RESOURCES + 1))
    told = {"page": response.url, "section": "resources"}
    notes = list(_resource_notes(response))
    if len(found) > _RESOURCES:
        found.pop()
        notes.append(f"only the first {_RESOURCES:,} resources are judged")
    blocked = {agent.name: 0 for agent in agents}
    before = judges.left_count
    await judges.prepare((resource.url for resource in found), crawler)
    for resource in found:
        judge = await judges.of(resource.url, crawler)
        for judgement in [judge.judge(resource.url, agent) for agent in agents if judge]:
            if not judgement.is_refused:
                continue
            blocked[judgement.agent.name] += 1
            call.end_with(judgement.status)
            if call.is_json:
                place = {"kind": resource.kind, "page_line": resource.line or None}
                call.row({**told, **place, **judgement.as_dict()})
                continue
            word = verdict_word(judgement.verdict, call)
            call.line(f"  {resource.kind:<6}{safe(resource.url)}")
            call.line(f"        {word} for {judgement.agent.name}: {judgement.why}")
    left = judges.left_count - before
    if left:
        what = counted(left, "resource")
        notes.append(f"{what} of other sites, beyond the first {judges.limit}, are not judged")
    kinds = Counter(resource.kind for resource in found)
    if call.is_json:
        counts = {"count": dict(kinds), "blocked": blocked, "not_judged": left}
        call.row({**told, **counts, "notes": notes})
        return
    each = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    call.line(f"  resources: {kinds.total():,}{f' ({each})' if each else ''}")
    for name, count in blocked.items():
        call.line(f"  blocked for {name}: {f'{count:,}' if count else 'none'}")
    for note in notes:
        call.remark(note, "  ")


def _resource_notes(response: Response) -> Iterator[str]:
    if not page_html.is_html(response):
        yield "not an HTML page, so its resources are unknown"
    elif page_html.is_unreadable(response):
        yield "it cannot be read to its end, so its resources are unknown"


_COLOURS = {Preference.ALLOWED: "green", Preference.DISALLOWED: "red", Preference.UNKNOWN: "yellow"}


def show_usage(call: Call, agents: Sequence[Agent]) -> None:
    """Show the permitted uses of the content of the named pages."""
    options = call.options
    if options.robots:
        for url in options.usage:
            refuse_odd_path(url)
        source = read(options.robots, call)
        source.tell_freshness(call)
        file = parse(source.body, source.uri)
        for url in options.usage:
            _tell_of_site(url, file, agents, call)
        return
    origins = {url: origin_of(url) for url in options.usage}
    if not options.cached:
        in_engine(call, lambda crawler: _look_at_usage(crawler, agents, call))
        return
    with project_store(call.settings) as stored:
        for url, origin in origins.items():
            policy = stored.policy(origin)
            if policy is not None:
                _tell_of_site(url, policy, agents, call)
                continue
            words = f"the store has nothing usable for {origin}"
            call.fail(CommandError(words, UNREACHABLE))


async def _look_at_usage(crawler: Crawler, agents: Sequence[Agent], call: Call) -> None:
    for url in call.options.usage:
        try:
            page = await fetched(url, crawler)
        except CommandError as error:
            call.fail(error)
            _tell_of_site(url, await policy_for(crawler, url), agents, call)
            continue
        if not call.is_json:
            call.line(call.paint(safe(page.url), "bold"))
        policy = await policy_for(crawler, page.url)
        for agent in agents:
            usage = usage_of(
                page,
                policy,
                product_tokens=agent.tokens,
                usage_tokens=call.ours.usage_tokens,
            )
            _tell_usage(page.url, agent, usage, call)


def _tell_of_site(url: str, file: Policy | RobotsTxt, agents: Sequence[Agent], call: Call) -> None:
    """Show the permitted uses of a page by robots.txt alone."""
    for agent in agents:
        _tell_usage(url, agent, file_usage(file, url, agent.tokens, call.ours.usage_tokens), call)


def _tell_usage(url: str, agent: Agent, usage: UsagePreferences, call: Call) -> None:
    """Show preferences; UNREACHABLE if they are incomplete, FOUND if any use is forbidden."""
    if call.is_json:
        call.row({"page": url, "agent": agent.name, **_usage_dict(usage)})
    else:
        call.lines(_usage_lines(agent, usage, call))
        if usage.is_stale:
            call.remark("read from a stale copy", "    ")
        if not usage.is_complete:
            call.remark(
                "incomplete: a file of the site could not be fetched, and may say more", "    "
            )
        for note in _notes(usage):
            call.remark(note, "    ")
    if not usage.is_complete:
        call.end_with(UNREACHABLE)
    elif any(usage.preference(one) is Preference.DISALLOWED for one in CATEGORIES):
        call.end_with(FOUND)


def _usage_dict(usage: UsagePreferences) -> dict[str, object]:
    """Preferences as JSON."""
    return {
        "section": "usage",
        "preferences": usage.to_dict(),
        "statements": [
            {
                "category": one.category,
                "preference": one.preference.value,
                "source": str(one.source),
                "text": one.text,
                "decides": one in usage.decided_by(one.category),
            }
            for one in usage.statements
        ],
        "use": usage.use,
        "tdm_policy": usage.tdm_policy,
        "licences": [[one.uri, one.media_type, str(one.source)] for one in usage.licences],
        "robots_txt": usage.robots_txt,
        "fetched_at": usage.fetched_at,
        "digest": usage.digest,
        "is_stale": usage.is_stale,
        "is_complete": usage.is_complete,
        "notes": list(_notes(usage)),
    }


def _notes(usage: UsagePreferences) -> Iterator[str]:
    for category in CATEGORIES:
        said = {one.preference for one in usage.statements if one.category == category}
        if {Preference.ALLOWED, Preference.DISALLOWED} <= said:
            yield f"{category}: the statements differ, and a no counts more than any yes"
    yield from map(str, usage.remarks)


def _usage_lines(agent: Agent, usage: UsagePreferences, call: Call) -> Iterator[str]:
    yield f"  for {agent.name}:"
    yield from _statement_lines(usage, call)
    if usage.use_level is not None:
        yield f"    {usage.use_level}"
    if usage.tdm_policy:
        yield f"    policy of the reservation: {safe(usage.tdm_policy)}"
    for licence in usage.licences:
        kind = f" ({licence.media_type})" if licence.media_type else ""
        yield f"    licence: {safe(licence.uri)}{kind} by {licence.source}"
    if usage.robots_txt and usage.fetched_at:
        digest = f", SHA-256 {usage.digest[:16]}..." if usage.digest else ""
        yield f"    {usage.robots_txt}: {when(usage.fetched_at)}{digest}"


def _statement_lines(usage: UsagePreferences, call: Call) -> Iterator[str]:
    for category in CATEGORIES:
        preference = usage.preference(category)
        word = call.paint(preference.name.lower(), _COLOURS[preference])
        decisive = usage.decided_by(category)
        yield f"    {category}: {word}" + ("" if decisive else ": no statement counts")
        for one in usage.statements:
            if one.category == category:
                mark = "decides:" if one in decisive else "also:"
                yield f"      {mark} {one}"
