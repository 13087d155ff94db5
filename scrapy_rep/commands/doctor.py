"""``scrapy rep doctor``: what in this project keeps a crawl from its robots.txt files.

The project runs with one request for a robots.txt, in an engine with the project's middlewares and
download handler. Its scheduler does not run, because it may hold requests of real crawls.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Timer
from types import CodeType
from typing import Any
from urllib.parse import urlsplit

from scrapy import Spider, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from scrapy_rep.addon import Addon
from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.components import middleware_orders, wrap_each
from scrapy_rep.fetch.chosen_store import is_in_project
from scrapy_rep.identity import Identity
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.pace.pacing import keeps_pace_over_fleet, shares_pace, waits_in_queue
from scrapy_rep.policies import policies_of
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.secrecy import without_userinfo
from scrapy_rep.protocol.tokens import EVERYONE

from .doctor_watch import Diagnosis, Watch, diagnosis, rows
from .engine_work import in_engine, start_urls_of
from .inputs import origin_of
from .judging import Judge, Judgement
from .named_agents import Agent
from .running import FOUND, Call, CommandError
from .terminal import safe

_STYLES = {"ok": "green", "note": "dim", "warning": "yellow", "error": "red"}
_CELLS = 9  # of the severity
_MORE_SECONDS = 15.0  # to start and to end, until the process is ended
_MOST_HOPS = 6
_PROXY_SECONDS = 5.0
_PROXY_REFUSES = 407
_REFUSALS = {"429", "503"}
_MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"
_WITHOUT_TRACE = {
    "REP_STORE": "memory",
    "REP_QUICK_RETRY_SECONDS": (),
    **dict.fromkeys(("REP_AUDIT_DIR", "REP_REPORT", "REP_WARC_DIR"), ""),
}
_USUAL_SCHEDULER = {
    "SCHEDULER": Scheduler,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
}


def run(call: Call) -> None:
    """Examine the project.

    Raises:
        CommandError: there is no project, no such spider, or no URL.
    """
    if not is_in_project():
        raise CommandError("there is no project here: run this in the folder of a scrapy.cfg")
    name, url = call.options.spider or "", call.options.url
    if "://" in name:
        name, url = "", name
    call.set(SPIDER_LOADER_WARN_ONLY=True)  # a broken spider hides no other
    loader = get_spider_loader(call.settings)
    if name and name not in loader.list():
        raise CommandError(f"this project has no spider {name!r}, but: {', '.join(loader.list())}")
    spider: type[Spider] = loader.load(name) if name else Spider
    spider.update_settings(call.settings)
    url = url or next(iter(start_urls_of(spider)), "")
    if not url:
        example = f"scrapy rep doctor {name or 'SPIDER'} https://example.com/"
        known = "" if name else f" (spiders here: {', '.join(loader.list()) or 'none'})"
        raise CommandError(f"give a spider with start URLs, or a URL: {example}{known}")
    _Examination(call, spider, url).run()


class _Examination:
    """One look at the project: its findings, in the order of the output."""

    def __init__(self, call: Call, spider: type[Spider], url: str) -> None:
        self._call = call
        self._spider = spider
        self._url = without_userinfo(url)
        self._origin = origin_of(url)
        self._settings: Settings = call.settings.copy()
        self._findings: list[Diagnosis] = []
        self._watch: Watch | None = None
        self._judgement: Judgement | None = None

    def run(self) -> None:
        """Examine, and write the findings."""
        self._findings += _judge_findings(self._settings)
        try:
            self._findings += _setting_findings(self._settings, self._call, self._spider)
            self._findings += self._crawl()
        except ConfigurationError as error:
            self._findings.append(diagnosis("start", error=error, fix=""))
        except CommandError as error:
            reason, _, fix = str(error).rpartition("; ")
            if self._spider is not Spider:
                fix += "; -a NAME=VALUE sets an argument of the spider"
            self._findings.append(diagnosis("start", error=reason, fix=fix))
        self._end()

    def _crawl(self) -> list[Diagnosis]:
        """Run the project with one request; return its findings."""
        call, ours = self._call, self._call.ours
        seconds = min(ours.unreachable_wait_seconds, 2 * ours.fetch_timeout_seconds)
        is_usual = load_object(self._settings["SCHEDULER"]) is Scheduler
        call.set(**_WITHOUT_TRACE, REP_UNREACHABLE_WAIT_SECONDS=seconds)
        call.set(**({} if is_usual else _USUAL_SCHEDULER))
        call.set(**{_MIDDLEWARES: _without_other_judges(self._settings)})
        delays_seconds = _MOST_HOPS * self._settings.getfloat("DOWNLOAD_DELAY")
        alarm = Timer(seconds + delays_seconds + _MORE_SECONDS, self._give_up)
        alarm.daemon = True
        alarm.start()
        try:
            given = dict(one.partition("=")[::2] for one in call.options.a)
            words = f"fetching {self._origin.robots_txt_uri}".__str__
            return in_engine(call, self._work, words, spider=self._spider, arguments=given)
        finally:
            alarm.cancel()

    async def _work(self, crawler: Crawler) -> list[Diagnosis]:
        # A spider may send requests when it is idle, and other code may too.
        crawler.signals.disconnect_all(signal=signals.spider_idle)
        crawler.signals.connect(_refuse, signal=signals.request_scheduled)
        self._watch = watch = Watch(crawler)
        crawler.signals.connect(watch.reached, signal=signals.request_reached_downloader)
        crawler.signals.connect(watch.came, signal=signals.response_downloaded)
        is_watched = wrap_each(crawler, watch.wrap)
        began_at = time.time()
        policy = await policies_of(crawler, "doctor").get(self._origin)
        watch.give_up()  # in asyncio, a method that is cancelled ends a moment later
        agent = Agent(" or ".join(policy.tokens) or EVERYONE, policy.tokens)
        judge = Judge.of_policy(self._origin, policy, self._call, began_at)
        self._judgement = judge.judge(self._url, agent)
        found = list(watch.findings)
        if not is_watched and not self._settings.get("ROBOTSTXT_USER_AGENT"):
            found.append(diagnosis("hidden"))
        elif not found:
            names = ", ".join(sorted(watch.watched)) or "the project has none of its own"
            found.append(_ok("middleware", f"robots.txt passes unchanged: {names}"))
        found += _handler_findings(crawler.settings, self._origin.scheme)
        found.append(_name_finding(watch, policy, Crawl.of(crawler).part(Identity)))
        found += self._proxy_findings(watch, policy)
        return [*found, self._verdict_finding(self._judgement, policy)]

    def _give_up(self) -> None:
        """End the process with the findings so far: some code does not return."""
        with suppress(Exception):
            if self._watch is not None:
                self._watch.give_up()
                self._findings += self._watch.findings
            self._findings.append(diagnosis("end"))
            self._end()
            self._call.terminal.flush()
        os._exit(FOUND)

    def _proxy_findings(self, watch: Watch, policy: Policy) -> Iterator[Diagnosis]:
        proxy = None if watch.sent is None else watch.sent.meta.get("proxy")
        if not proxy:
            return
        place = urlsplit("//" + str(proxy).rpartition("@")[2].rpartition("//")[2])
        host, port = place.hostname or "", place.port or 80
        is_set_by_us = "proxy" in self._call.ours.fetch_meta
        setter = "REP_FETCH_META" if is_set_by_us else watch.setters.get("proxy", "the environment")
        fact = f"{host}:{port} (set by {setter})"
        if watch.status == _PROXY_REFUSES:
            yield diagnosis("proxy-refuses", fact=fact)
            return
        try:
            socket.create_connection((host, port), _PROXY_SECONDS).close()
        except OSError as error:
            name = "proxy-down" if policy.is_unreachable else "proxy-ignored"
            yield diagnosis(name, fact=fact, why=error.strerror or error)
            return
        has_failed = policy.is_unreachable and policy.status is None
        failed = diagnosis("proxy-fails", fact=fact, why=policy.event)
        yield failed if has_failed else _ok("proxy", fact)

    def _verdict_finding(self, judgement: Judgement, policy: Policy) -> Diagnosis:
        word = "disallowed" if judgement.is_refused else "allowed"
        result = "" if policy.access_result is None else f" ({policy.access_result.value})"
        fact = f"{self._url} is {word} for {judgement.agent.name}: {judgement.why}"
        fact = f"{fact}; robots.txt: {policy.event}{result}"
        if policy.source == OVERRIDE:
            return diagnosis("overridden", fact=fact)
        if policy.is_unreachable:
            return diagnosis("unreachable" if judgement.is_refused else "unread", fact=fact)
        return diagnosis("disallowed", fact=fact) if judgement.is_refused else _ok("verdict", fact)

    def _end(self) -> None:
        """Write the findings, and note the exit status."""
        call, judged = self._call, self._judgement
        found = [Diagnosis(*map(without_userinfo, one)) for one in self._findings]
        if any(one.severity == "error" for one in found):
            call.end_with(FOUND)
        if call.is_json:
            facts = {
                "url": self._url,
                "spider": self._spider.name if self._spider is not Spider else None,
                "findings": [one._asdict() for one in found],
                "verdict": judged and judged.as_dict(),
                "access": judged and judged.judge.access_dict(),
            }
            call.row(facts)
            return
        blank = " " * _CELLS
        for one in found:
            word = call.paint(f"{one.severity:<{_CELLS}}", _STYLES[one.severity])
            told = {word: f"{one.topic}: {one.text}", blank: f"fix: {one.fix}" if one.fix else ""}
            for lead, text in told.items():
                if text:
                    wrapped = call.terminal.wrapped(safe(text), first_cells=_CELLS, indent=blank)
                    call.line(lead + wrapped)


def _ok(topic: str, fact: str) -> Diagnosis:
    return diagnosis("ok", topic=topic, fact=fact)


def _refuse() -> None:
    raise IgnoreRequest("doctor sends no pages")


def _name_of(value: Any) -> str:
    return value if isinstance(value, str) else global_object_name(value)


def _handler_findings(settings: Settings, scheme: str) -> Iterator[Diagnosis]:
    handler = settings.getwithbase("DOWNLOAD_HANDLERS").get(scheme)
    name = "" if handler is None else _name_of(handler)
    if not name:
        yield diagnosis("no-handler", scheme=scheme)
    elif "playwright" in name.lower() and not settings.get("PLAYWRIGHT_ABORT_REQUEST"):
        yield diagnosis("browser", fact=name)
    else:
        yield _ok("handler", name)


def _name_finding(watch: Watch, policy: Policy, identity: Identity) -> Diagnosis:
    """Whether the User-Agent that is sent fits the product tokens."""
    usual_header, token = identity.header, next(iter(policy.tokens), EVERYONE)
    sent = None if watch.sent is None else watch.sent.headers.get("User-Agent")
    header = usual_header if sent is None else sent.decode("utf-8", "replace")
    setter = watch.setters.get("User-Agent")
    by = "" if setter is None else f" (set by {setter})"
    fact = f"{header!r}{by} obeys the rules for {' or '.join(policy.tokens) or EVERYONE}"
    if not policy.tokens:
        return diagnosis("everyone" if identity.is_star else "nameless", fact=fact)
    if setter is None and token.lower() not in usual_header.lower():
        return diagnosis("nameless-pages", fact=fact, header=usual_header, token=token)
    if token.lower() not in header.lower():
        return diagnosis("other-name", fact=fact, token=token)
    is_default = policy.tokens == ("Scrapy",)
    return diagnosis("scrapy-name", fact=fact) if is_default else _ok("name", fact)


# The findings that need no crawl


def _judge_findings(settings: Settings) -> Iterator[Diagnosis]:
    """Whether robots.txt is obeyed, and by this package alone."""
    is_on = settings.getbool("ROBOTSTXT_OBEY")
    yield _ok("obey", "ROBOTSTXT_OBEY = True") if is_on else diagnosis("obey-off")
    orders = {one: order for one, order in middleware_orders(settings).items() if order is not None}
    if _has_addon(settings):
        yield _ok("add-on", "scrapy_rep.Addon")
    elif RepMiddleware not in orders:
        yield diagnosis("add-on-missing")
    elif RobotsTxtMiddleware in orders:
        yield diagnosis("second-judge")
    for kind in filter(_is_scrapys, orders):
        if kind is not RobotsTxtMiddleware:
            replacements = "".join(f"; {one}" for one in _replacements(kind))
            owner = global_object_name(kind)
            yield diagnosis("subclass", owner=owner, replacements=replacements)


def _is_scrapys(kind: Any) -> bool:
    """Whether a middleware is Scrapy's own for robots.txt, or a subclass."""
    return isinstance(kind, type) and issubclass(kind, RobotsTxtMiddleware)


def _has_addon(settings: Settings) -> bool:
    addons = settings.getdict("ADDONS").items()
    return any(order is not None and load_object(one) is Addon for one, order in addons)


def _without_other_judges(settings: Settings) -> dict[Any, Any]:
    """The middlewares of the project without Scrapy's own for robots.txt, and its subclasses."""
    found = settings.getwithbase(_MIDDLEWARES)
    others = [one for one in found if _is_scrapys(load_object(one))]
    return {**settings.getdict(_MIDDLEWARES), **dict.fromkeys(others)}


def _replacements(kind: type) -> Iterator[str]:
    """The settings that replace a subclass of Scrapy's middleware, by the methods it overrides."""
    words: set[str] = set()
    for base in kind.__mro__[: kind.__mro__.index(RobotsTxtMiddleware)]:
        for name, value in vars(base).items():
            code = getattr(getattr(value, "__func__", value), "__code__", None)
            words |= {f"def:{name}", *_words_in(code)} if code is not None else set()
    for names, cells in rows().items():
        if names.startswith("/") and not words.isdisjoint(names[1:].split()):
            yield cells[1]


def _words_in(code: CodeType) -> Iterator[str]:
    """The names and strings in a function."""
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _words_in(one)
        elif isinstance(one, str):
            yield one


def _setting_findings(settings: Settings, call: Call, spider: type[Spider]) -> Iterator[Diagnosis]:
    """The parser, the queue and the policy, and the settings that contradict each other."""
    ours, applied = call.ours, settings.copy()
    if _has_addon(settings):
        Addon().update_settings(applied)
    parser = _name_of(settings["ROBOTSTXT_PARSER"])
    is_ours = not settings.getpriority("ROBOTSTXT_PARSER") or parser.endswith("RepRobotParser")
    yield _ok("parser", "that of scrapy-rep") if is_ours else diagnosis("parser", fact=parser)
    scheduler, queue = map(_name_of, (applied["SCHEDULER"], applied["SCHEDULER_PRIORITY_QUEUE"]))
    is_fleet = keeps_pace_over_fleet(applied)
    fact = scheduler if is_fleet else f"{scheduler} with {queue}"
    yield _ok("queue", fact) if waits_in_queue(applied) else diagnosis("queue", fact=fact)
    is_mild, policy = ours.policy in ("lenient", "scrapy"), repr(ours.policy)
    named = f"REP_POLICY = {policy}"
    yield diagnosis("mild-policy", fact=policy) if is_mild else _ok("policy", named)
    own = getattr(spider, "handle_httpstatus_list", None)
    wanted = settings.getlist("HTTPERROR_ALLOWED_CODES") if own is None else own
    refusals = sorted(_REFUSALS & set(map(str, wanted))) if ours.backoff else []
    misses = settings.getbool("HTTPCACHE_IGNORE_MISSING")
    found = {
        "dry-run": ours.dry_run,
        "http-cache": misses and settings.getbool("HTTPCACHE_ENABLED"),
        "statuses": refusals,
        "page-count": settings.getint("CLOSESPIDER_PAGECOUNT"),
        "pace-alone": shares_pace(ours) and not is_fleet,
    }
    yield from (diagnosis(one, fact=", ".join(refusals)) for one, is_so in found.items() if is_so)
