"""``scrapy rep plan``: what a crawl of some sites will get, how long it takes, and what to set.

Each site is a dict of facts, which ``--json`` writes; the screen shows the same facts. URLs of
sitemaps are judged one by one, and not kept.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any

from scrapy.crawler import Crawler
from scrapy.spiderloader import get_spider_loader
from w3lib.url import canonicalize_url

from scrapy_rep.engine.loops import as_they_come, sleep
from scrapy_rep.extras import nothing, part
from scrapy_rep.fetch.chosen_store import is_in_project
from scrapy_rep.pace.pacing import waits_in_queue
from scrapy_rep.policies import policies_of, policy_for
from scrapy_rep.protocol.access.events import Event, Failure, Meaning
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.extensions.pace import opens_at
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import DAY_SECONDS, age_words, counted
from scrapy_rep.protocol.verdict import Reason
from scrapy_rep.sitemaps.entry_dates import period_of
from scrapy_rep.sitemaps.reader import SitemapEntry, SitemapKind

from .engine_work import in_engine, start_urls_of
from .inputs import STDIN, origin_of, stdin_lines
from .judging import Judge, Judgement
from .named_agents import Agent
from .plan_speed import Speed, pace_words, together_seconds, visit_words
from .running import FOUND, OK, Call, CommandError
from .sitemap_check import SitemapWalk
from .terminal import safe

_SITES_AT_ONCE = 8  # each may hold a sitemap of 50 MiB
_MOST_SITEMAPS, _MOST_URLS = 50, 500_000  # of a site
_URLS_A_TURN = 1000  # before other work of the event loop gets a turn
_RULES, _HOSTS, _PROBLEMS, _ADVICE = 5, 3, 3, 3  # shown of a site
_HOSTS_KEPT = 1000
_PAGES = 1000  # the pages of the estimate, if no sitemap names any
_DAYS = (7, 30, 365)
_FAILURES: dict[str, Event] = {
    "404": 404,
    "403": 403,
    "429": 429,
    "5xx": 503,
    "no answer": Failure.TIMEOUT,
    "a challenge": Failure.CHALLENGE,
}
_OF_SPIDERS = {"user_agent": "USER_AGENT", "download_delay": "DOWNLOAD_DELAY"}
_LABEL_CELLS = 14
_LEADS = {True: "at least", False: "about"}


def run(call: Call) -> None:
    """Plan a crawl of all sites.

    Raises:
        CommandError: no site is named, or an option is wrong.
    """
    if not 0 < call.options.sample <= _MOST_URLS:
        raise CommandError(f"--sample: give a number from 1 to {_MOST_URLS:,}")
    by_origin: dict[Origin, list[str]] = {}
    for url in dict.fromkeys(_urls(call)):
        by_origin.setdefault(origin_of(url), []).append(url)
    if not by_origin:
        raise CommandError("give a URL, or --spider NAME with start_urls or sites")
    if call.options.refresh:
        call.set(REP_STORE="memory")  # which is empty
    sites = [_Site(origin, own, call) for origin, own in by_origin.items()]
    seconds = in_engine(call, partial(_look, sites), partial(_progress_words, sites))
    for site in sites:
        call.end_with(OK if site.is_open else FOUND)
        if call.is_json:
            call.row({**site.facts, "all_sites_seconds": seconds})
        else:
            _write(site.facts, call)
    open_sites = [site for site in sites if site.is_open]
    if len(sites) > 1 and open_sites and not call.is_json:
        lead = _LEADS[any(site.is_least for site in open_sites)]
        words = f"{lead} {age_words(seconds, 2)}"
        call.line(f"all {counted(len(sites), 'site')} side by side, in one process: {words}")


async def _look(sites: Sequence[_Site], crawler: Crawler) -> float:
    """Look at all sites; return how long a crawl of them takes side by side."""
    async for _ in as_they_come((site.look(crawler) for site in sites), _SITES_AT_ONCE):
        pass
    open_sites = (site for site in sites if site.is_open)
    at_once = crawler.settings.getint("CONCURRENT_REQUESTS")
    return together_seconds(((site.speed, site.page_count) for site in open_sites), at_once)


def _progress_words(sites: Sequence[_Site]) -> str:
    done, urls = sum(bool(site.facts) for site in sites), sum(site.urls for site in sites)
    return f"{done:,} of {counted(len(sites), 'site')}, {counted(urls, 'URL')} of sitemaps"


def _urls(call: Call) -> Iterator[str]:
    """Yield the URLs of the arguments, or those of the spider."""
    own = _urls_of_spider(call.options.spider, call) if call.options.spider else []
    for one in call.options.urls or own:
        yield from stdin_lines() if one == STDIN else [one]


def _urls_of_spider(name: str, call: Call) -> list[str]:
    """The start URLs of a spider, and its settings into those of the call.

    Raises:
        CommandError: there is no such spider.
    """
    call.set(SPIDER_LOADER_WARN_ONLY=True)  # a broken spider hides no other
    try:
        spider = get_spider_loader(call.settings).load(name)
    except KeyError as error:
        raise CommandError(f"--spider {name}: this project has no such spider") from error
    spider.update_settings(call.settings)
    own = {setting: getattr(spider, one, None) for one, setting in _OF_SPIDERS.items()}
    call.set(**{setting: value for setting, value in own.items() if value is not None})
    return start_urls_of(spider)


@dataclass
class _Site:
    """A site, the counts of the URLs in its sitemaps, and the facts for the output."""

    origin: Origin
    starts: list[str]
    call: Call
    facts: dict[str, Any] = field(default_factory=dict)
    urls: int = 0
    repeated: int = 0
    allowed: int = 0
    undated: int = 0
    page_count: float = 0.0
    elsewhere: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[int, Reason]] = field(default_factory=Counter)
    firsts: dict[tuple[int, Reason], Judgement] = field(default_factory=dict)
    changed: list[int] = field(default_factory=lambda: [0] * len(_DAYS))

    async def look(self, crawler: Crawler) -> None:
        """Fetch the files of the site, and note the facts. Does not raise for a site."""
        call, began_at, policies = self.call, time.time(), policies_of(crawler, "plan")
        self.policy = policy = await policy_for(crawler, self.origin.robots_txt_uri)
        self.judge = Judge.of_policy(self.origin, policy, call, began_at)
        self.agent = Agent(" or ".join(policy.tokens) or EVERYONE, policy.tokens)
        other = self.origin.other_scheme
        twin = await policies.get(other) if other else policy
        self.walk = SitemapWalk(crawler, str(self.origin), call, _MOST_SITEMAPS)
        self.speed = Speed.of(policy, crawler, call.ours, ())
        opens = opens_at(self.speed.window, began_at)
        if not self.speed.is_skipped and opens <= began_at:
            await self._read()
            self.speed = Speed.of(policy, crawler, call.ours, self.walk.latencies)
        starts = [self.judge.judge(url, self.agent) for url in self.starts]
        group = policy.robots_txt.group(policy.tokens)
        files = self.walk.read.total() - self.walk.read[SitemapKind.INDEX]
        scale = 1 + self.walk.left_count / files if files else 1.0
        self.page_count = self.allowed * scale or float(_PAGES)
        self.is_open = self.allowed > 0 or not all(one.is_refused for one in starts)
        target = origin_or_none(policy.final_url)
        advice = [{"set": one, "why": why} for one, why in _advice(self, crawler)]
        self.facts = {
            "site": str(self.origin),
            "is_closed": not self.is_open,
            "agent": self.agent.name,
            "group": None if group is None else group.product_token,
            "rules": 0 if group is None else len(group.rules),
            "access": self.judge.access_dict(),
            "meaning": policy.meaning.value,
            "age": str(self.judge.freshness or policy.source),
            "redirects_to": None if target == self.origin else policy.final_url,
            "failures": self._failures(),
            "twin": {"uri": twin.origin.robots_txt_uri, "event": twin.event}
            | {"is_same": twin.says_the_same_as(policy)},
            "starts": [{**one.as_dict(), "why": one.why} for one in starts],
            "sitemaps": self._sitemap_facts(scale) | {"opens_in_seconds": opens - began_at},
            "pace": {
                **asdict(self.speed),
                "pages": round(self.page_count),
                "is_listed": bool(self.allowed),
                "is_least": self.is_least,
                "seconds": self.speed.seconds(self.page_count) if self.is_open else None,
            },
            "uses": part("uses in plans", nothing)(self.policy, self.starts[0], self.call.ours),
            "settings": advice[:_ADVICE],
        }

    async def _read(self) -> None:
        """Judge the URLs in the sitemaps, and count them."""
        now, seen = time.time(), set[int]()
        since = [(place, now - days * DAY_SECONDS) for place, days in enumerate(_DAYS)]
        async with aclosing(self.walk.pages()) as pages:  # type: ignore[type-var]
            async for _, url, entry in pages:
                seen.add(_digest(url))
                if len(seen) == self.urls:  # a crawl fetches each page once
                    self.repeated += 1
                else:
                    self.urls += 1
                    self._count(url, entry, since)
                self.walk.is_enough = self.entries >= self.call.options.sample
                if self.entries >= _MOST_URLS:
                    return
                if not self.entries % _URLS_A_TURN:
                    await sleep(0)

    @property
    def entries(self) -> int:
        """The number of URLs in the sitemaps so far, repeated ones included."""
        return self.urls + self.repeated

    @property
    def is_least(self) -> bool:
        """Whether the time is a lower bound: no delay sets the pace, or not all URLs were read."""
        return not self.speed.delay_seconds or self.entries >= _MOST_URLS

    def _count(self, url: str, entry: SitemapEntry, since: list[tuple[int, float]]) -> None:
        is_own = url.startswith(f"{self.origin}/")
        if not is_own and (other := origin_or_none(url)) != self.origin:
            self.elsewhere += 1
            host = str(other or "no web site")
            # A list may name any number of hosts.
            self.hosts[host if len(self.hosts) < _HOSTS_KEPT else "others"] += 1
            return
        verdict = self.policy.verdict(url)
        if not verdict.allowed:
            key = verdict.line, verdict.reason
            self.refused[key] += 1
            if key not in self.firsts:
                self.firsts[key] = self.judge.judge(url, self.agent)
            return
        self.allowed += 1
        period = period_of(entry.get("lastmod") or "")
        if period is None:
            self.undated += 1
            return
        for place, instant in since:
            self.changed[place] += period.start >= instant

    def _sitemap_facts(self, scale: float) -> dict[str, Any]:
        """The counts; `scale` is the number of all URLs, divided by that of the URLs read."""
        walk = self.walk
        return {
            "files": walk.read.total(),
            "files_left": walk.left_count,
            "urls": self.urls,
            "repeated": self.repeated,
            "about_urls": round(self.urls * scale),
            "allowed": self.allowed,
            "disallowed": self.refused.total(),
            "disallowed_by": [
                {"why": self.firsts[key].why, "line": key[0] or None, "urls": count}
                for key, count in self.refused.most_common(_RULES)
            ],
            "changed_within_days": dict(zip(map(str, _DAYS), self.changed, strict=True)),
            "undated": self.undated,
            "elsewhere": self.elsewhere,
            "hosts": dict(self.hosts.most_common(_HOSTS)),
            "problems": [f"{url}: {words}" for url, words in walk.problems],
            "problem_count": walk.problem_count,
        }

    def _failures(self) -> dict[str, str]:
        """The meaning of failures for this site, by event."""
        ours = self.call.ours
        override = ours.overrides.match(self.origin, time.time())
        preset = None if override is None else override.preset
        access = (ours.options if preset is None else ours.options_under(preset)).access
        return {name: access.meaning(event).value for name, event in _FAILURES.items()}


def _advice(site: _Site, crawler: Crawler) -> Iterator[tuple[str, str]]:
    """Yield settings to set, and why, the most important first."""
    settings, ours, speed = site.call.settings, site.call.ours, site.speed
    said, pages = site.policy.site_pace(), round(site.page_count)
    if is_in_project() and not settings.getbool("ROBOTSTXT_OBEY"):
        yield "ROBOTSTXT_OBEY = True", "it is off, so a crawl ignores all of this"
    if not site.policy.tokens:
        why = "the User-Agent names no crawler, so only rules for '*' count"
        yield 'USER_AGENT = "YourBot/1.0 (+URL)"', why
    if speed.is_skipped:
        limit_seconds = ours.pace(site.policy, time.time()).limit_seconds
        words = f"{pace_words(said)} is above {limit_seconds:g}"
        why = f"{words}: all requests would be dropped"
        yield f"REP_CRAWL_DELAY_MAX_SECONDS = {speed.site_seconds:g}", why
    if speed.site_seconds and not waits_in_queue(crawler.settings):
        why = "with this queue, requests to a slow site keep others waiting"
        yield 'SCHEDULER_PRIORITY_QUEUE = "scrapy_rep.RepPriorityQueue"', why
    needs = {"CLOSESPIDER_PAGECOUNT": pages, "CLOSESPIDER_TIMEOUT": speed.seconds(pages)}
    for name, need in needs.items() if site.allowed else ():
        if 0 < settings.getfloat(name) < need:
            yield f"{name} = 0", f"{settings[name]} ends the crawl before {counted(pages, 'page')}"
    if said.visit_time is not None and speed.window is None:
        yield "REP_VISIT_TIME_OBEY = True", f"{visit_words(said.visit_time)} is not kept"
    if "tdm" in ours.uses and not ours.tdmrep:
        yield "REP_TDMREP = True", "REP_USES has tdm, but the site's tdmrep.json is not read"


# The screen


def _write(facts: dict[str, Any], call: Call) -> None:
    """Write the facts of a site on one screen."""
    call.line(call.paint(safe(facts["site"]), "bold"))
    for label, text, style in _lines(facts):
        written = call.terminal.wrapped(
            safe(text), first_cells=_LABEL_CELLS + 2, indent=" " * (_LABEL_CELLS + 4)
        )
        call.line(f"  {label:<{_LABEL_CELLS}}{call.paint(written, style) if style else written}")
    call.line()


Line = tuple[str, str, str]
"""A label, a text and its style; empty without one."""


def _lines(facts: dict[str, Any]) -> Iterator[Line]:
    yield from _access_lines(facts)
    yield from _sitemap_lines(facts["sitemaps"])
    if not facts["is_closed"] or facts["pace"]["is_skipped"]:
        yield from _pace_lines(facts["pace"])
    if facts["uses"]:
        yield from part("lines on uses")(facts["uses"])
    for number, one in enumerate(facts["settings"]):
        yield "" if number else "set", f"{one['set']}  # {one['why']}", "yellow"


def _access_lines(facts: dict[str, Any]) -> Iterator[Line]:
    access, meaning, group = facts["access"], facts["meaning"], facts["group"]
    rules = counted(facts["rules"], "rule")
    of = f"group {group} with {rules}" if group else "no group, so all is allowed"
    if meaning != Meaning.RULES.value:
        of = f"everything is {meaning}ed"
    lead = f"{access['event']}, {facts['age']}; obeyed as {facts['agent']}"
    yield "robots.txt", f"{lead}: {of}", "red" if facts["is_closed"] else ""
    if access["event"] == Failure.CHALLENGE.value:
        yield "", "an edge answers with a challenge, and not the site", "red"
    if access["is_stale"]:
        yield "", "an old copy, because the site is unreachable now", "yellow"
    if facts["redirects_to"]:
        yield "", f"the file is that of another host: {facts['redirects_to']}", "yellow"
    failures = facts["failures"].items()
    meanings = dict.fromkeys(meaning for _, meaning in failures)
    words = (f"{', '.join(e for e, m in failures if m == one)}: {one}" for one in meanings)
    yield "if it fails", "; ".join(words), ""
    if not facts["twin"]["is_same"]:
        yield "", "{uri} says something else: {event}".format(**facts["twin"]), "yellow"
    refused = [one for one in facts["starts"] if not one["allowed"]]
    yield "start", f"{len(facts['starts']) - len(refused)} of {len(facts['starts'])} allowed", ""
    for one in refused[:_PROBLEMS]:
        yield "", f"disallowed: {one['url']} ({one['why']})", "red"


def _sitemap_lines(found: dict[str, Any]) -> Iterator[Line]:
    counts = f"{found['allowed']:,} allowed, {found['disallowed']:,} disallowed"
    again = f"; {found['repeated']:,} listed again" if found["repeated"] else ""
    urls = f"{counted(found['files'], 'file')}, {counted(found['urls'], 'URL')}: {counts}{again}"
    yield "sitemaps", urls if found["files"] else "none was read, so their pages are unknown", ""
    if found["files_left"] or found["urls"] + found["repeated"] >= _MOST_URLS:
        left = counted(found["files_left"], "sitemap")
        yield "", f"{left} not read; about {counted(found['about_urls'], 'URL')}, or more", "yellow"
    if found["opens_in_seconds"]:
        wait = age_words(found["opens_in_seconds"], 2)
        yield "", f"not fetched: the Visit-time begins in {wait}", "yellow"
    for one in found["disallowed_by"]:
        yield "", f"{one['urls']:>9,}  {one['why']}", ""
    if found["allowed"]:
        changes = found["changed_within_days"].items()
        words = ", ".join(f"{count:,} in {days} days" for days, count in changes)
        yield "changed", f"{words}; {found['undated']:,} without a date", ""
    if found["elsewhere"]:
        hosts = ", ".join(f"{host} {count:,}" for host, count in found["hosts"].items())
        yield "elsewhere", f"{counted(found['elsewhere'], 'URL')} not judged: {hosts}", "yellow"
    for words in found["problems"][:_PROBLEMS]:
        yield "", words, "yellow"
    if (more := found["problem_count"] - _PROBLEMS) > 0:
        yield "", f"and {counted(more, 'more problem')}", "yellow"


def _pace_lines(pace: dict[str, Any]) -> Iterator[Line]:
    if pace["is_skipped"]:
        yield "time", f"never: {pace['by']} is too long, so requests are dropped", "red"
        return
    delay = f"{pace['delay_seconds']:g} s" if pace["delay_seconds"] else "none"
    yield "delay", f"{delay}; limited by {pace['by']}", ""
    lead = _LEADS[pace["is_least"]]
    as_long = "as long as these files" if pace["is_measured"] else "by assumption"
    page = f"if a page takes {as_long} ({pace['page_seconds']:.2g} s)"
    words = f"{lead} {age_words(pace['seconds'], 2)} for {counted(pace['pages'], 'page')}, {page}"
    yield "time", words if pace["is_listed"] else f"{words}; their number is unknown", "bold"


def _digest(url: str) -> int:
    """A digest of a URL as Scrapy's duplicate filter sees it: no fragment, and a sorted query."""
    with suppress(ValueError):  # no URL, which no request can have
        url = canonicalize_url(url)
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest(), "big")
