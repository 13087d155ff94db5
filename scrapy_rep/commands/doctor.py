"""``scrapy rep doctor``: what in this project keeps a crawl from its robots.txt files.

The project runs with one request for a robots.txt, in an engine with the project's middlewares and
download handler. Its scheduler does not run, because it may hold requests of real crawls.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from threading import Timer
from types import CodeType
from typing import Any

from scrapy import Spider, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.misc import load_object
from scrapy.utils.project import inside_project
from scrapy.utils.python import global_object_name

from scrapy_rep.addon import Addon
from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.components import middleware_orders, wrap_each
from scrapy_rep.identity import Identity
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.pace.pacing import keeps_pace_over_fleet, shares_pace, waits_in_queue
from scrapy_rep.policies import policies_of
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.secrecy import without_userinfo
from scrapy_rep.protocol.tokens import EVERYONE

from .doctor_watch import ERROR, NOTE, OK, WARNING, Finding, Watch, place_of_proxy
from .engine_work import in_engine
from .inputs import origin_of
from .judging import Judge, Judgement
from .named_agents import Agent
from .running import FOUND, Call, CommandError
from .terminal import safe

_STYLES = {OK: "green", NOTE: "dim", WARNING: "yellow", ERROR: "red"}
_URL_NAMES = ("start_urls", "sites", "sitemap_urls")
_MORE_SECONDS = 15.0  # to start and to end, until the process is ended
_MOST_HOPS = 6
_PROXY_SECONDS = 5.0
_PROXY_REFUSES = 407
_REFUSALS = {"429", "503"}
_MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"

_WITHOUT_TRACE = {
    "REP_STORE": "memory",
    **dict.fromkeys(("REP_AUDIT_DIR", "REP_REPORT", "REP_WARC_DIR"), ""),
    "REP_QUICK_RETRY_SECONDS": (),
}
_OTHER_SCHEDULER = {
    "SCHEDULER": Scheduler,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
}


def run(call: Call) -> None:
    """Examine the project.

    Raises:
        CommandError: there is no project, no such spider, or no URL.
    """
    if not inside_project():
        raise CommandError("there is no project here: run this in the folder of a scrapy.cfg")
    name, url = call.options.spider or "", call.options.url
    if "://" in name:
        name, url = "", url or name
    spider = _spider_named(name, call) if name else Spider
    _Examination(call, spider, url or _first_url(spider, call)).run()


def _spider_named(name: str, call: Call) -> type[Spider]:
    """The class of a spider, and its settings into those of the call."""
    call.set(SPIDER_LOADER_WARN_ONLY=True)  # a broken spider hides no other
    try:
        spider: type[Spider] = get_spider_loader(call.settings).load(name)
    except KeyError as error:
        raise CommandError(f"this project has no spider {name!r}{_names_words(call)}") from error
    spider.update_settings(call.settings)
    return spider


def _first_url(spider: type[Spider], call: Call) -> str:
    found = (getattr(spider, one, None) or () for one in _URL_NAMES)
    urls = chain.from_iterable(one.split(",") if isinstance(one, str) else one for one in found)
    url = next(iter(urls), "").strip()
    if url:
        return url
    name = spider.name if spider is not Spider else "SPIDER"
    lead = f"{name} names no URL" if spider is not Spider else "no URL is named"
    raise CommandError(
        f"{lead}: give one, as in 'scrapy rep doctor {name} https://example.com/'"
        + ("" if spider is not Spider else _names_words(call))
    )


def _names_words(call: Call) -> str:
    call.set(SPIDER_LOADER_WARN_ONLY=True)
    names = ", ".join(sorted(get_spider_loader(call.settings).list()))
    return f" (spiders here: {names})" if names else " (this project has no spider)"


class _Examination:
    """One look at the project: its findings, in the order of the output."""

    def __init__(self, call: Call, spider: type[Spider], url: str) -> None:
        self._call = call
        self._spider = spider
        self._url = url
        self._origin = origin_of(url)
        self._settings: Settings = call.settings.copy()
        self._since = time.time()
        self._findings: list[Finding] = []
        self._watch: Watch | None = None
        self._is_watched = False
        self._handler: Any = None
        self._header = ""
        self._judgement: Judgement | None = None

    def run(self) -> None:
        """Examine, and write the findings."""
        self._findings += _robots_findings(self._settings)
        try:
            self._findings += _setting_findings(self._settings, self._call, self._spider)
            policy = self._crawl()
        except ConfigurationError as error:
            self._findings.append(Finding(ERROR, "start", f"a crawl does not start: {error}"))
        except CommandError as error:
            reason = str(error).removesuffix("; -L DEBUG shows more")
            self._findings.append(Finding(ERROR, "start", f"{reason}", "-L DEBUG shows more"))
        else:
            self._findings += self._crawl_findings(policy)
        self._end()

    def _crawl(self) -> Policy:
        """Run the project with one request."""
        call, ours = self._call, self._call.ours
        seconds = min(ours.unreachable_wait_seconds, 2 * ours.fetch_timeout_seconds)
        other = {} if load_object(self._settings["SCHEDULER"]) is Scheduler else _OTHER_SCHEDULER
        call.set(
            **_WITHOUT_TRACE,
            **other,
            REP_UNREACHABLE_WAIT_SECONDS=seconds,
            **{_MIDDLEWARES: _without_other_judges(self._settings)},
        )
        delays = _MOST_HOPS * self._settings.getfloat("DOWNLOAD_DELAY")
        alarm = Timer(seconds + delays + _MORE_SECONDS, self._give_up)
        alarm.daemon = True
        alarm.start()
        try:
            arguments = dict(one.partition("=")[::2] for one in call.options.a)
            words = f"fetching {self._origin.robots_txt_uri}".__str__
            return in_engine(call, self._work, words, spider=self._spider, arguments=arguments)
        finally:
            alarm.cancel()

    async def _work(self, crawler: Crawler) -> Policy:
        # A spider may send requests when it is idle, and other code may too.
        crawler.signals.disconnect_all(signal=signals.spider_idle)
        crawler.signals.connect(_refuse, signal=signals.request_scheduled)
        self._watch = watch = Watch(crawler)
        crawler.signals.connect(watch.reached, signal=signals.request_reached_downloader)
        crawler.signals.connect(watch.came, signal=signals.response_downloaded)
        self._is_watched = wrap_each(crawler, watch.wrap)
        handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        self._handler = handlers.get(self._origin.scheme)
        policy = await policies_of(crawler, "doctor").get(self._origin)
        self._header = Crawl.of(crawler).part(Identity).header
        return policy

    def _give_up(self) -> None:
        """End the process with the findings so far: some code does not return."""
        with suppress(Exception):
            watch = self._watch
            for method in watch.under_way if watch is not None else ():
                watch and watch.hung(method)
            self._findings += watch.findings if watch is not None else ()
            text = "the crawl does not end: its code blocks the event loop, or never returns"
            self._findings.append(Finding(ERROR, "end", text))
            self._end()
            self._call.terminal.flush()
        os._exit(FOUND)

    # The findings of the crawl

    def _crawl_findings(self, policy: Policy) -> Iterator[Finding]:
        watch = self._watch
        assert watch is not None  # noqa: S101 - the crawl has run
        agent = Agent(" or ".join(policy.tokens) or EVERYONE, policy.tokens)
        judge = Judge.of_policy(self._origin, policy, self._call, self._since)
        self._judgement = judge.judge(self._url, agent)
        yield from self._middleware_findings(watch)
        yield from self._handler_findings()
        yield from self._agent_findings(watch, policy.tokens)
        yield from self._proxy_findings(watch, policy)
        yield self._verdict_finding(self._judgement, policy)

    def _middleware_findings(self, watch: Watch) -> Iterator[Finding]:
        if not self._is_watched:
            is_chosen = bool(self._settings.get("ROBOTSTXT_USER_AGENT"))
            text = f"DOWNLOADER = {self._settings['DOWNLOADER']!r} hides its middlewares"
            effect = "they are not watched here, and a User-Agent that they set is not judged"
            fix = "" if is_chosen else 'ROBOTSTXT_USER_AGENT = "YourBot"'
            yield Finding(NOTE if is_chosen else WARNING, "middleware", f"{text}: {effect}", fix)
        elif not watch.findings:
            names = ", ".join(sorted(watch.watched)) or "the project has no middleware of its own"
            yield Finding(OK, "middleware", f"robots.txt passes unchanged: {names}")
        yield from watch.findings

    def _handler_findings(self) -> Iterator[Finding]:
        handler, scheme = self._handler, self._origin.scheme
        if handler is None:
            text = f"there is no download handler for {scheme}"
            yield Finding(ERROR, "handler", text, f"DOWNLOAD_HANDLERS = {{{scheme!r}: ...}}")
            return
        name = _name_of(handler)
        hook = self._settings.get("PLAYWRIGHT_ABORT_REQUEST")
        if "playwright" in name.lower() and not hook:
            text = f"{name}: the requests of the browser's pages are not checked"
            fix = 'PLAYWRIGHT_ABORT_REQUEST = "scrapy_rep.playwright_abort_request"'
            yield Finding(WARNING, "handler", text, fix)
        else:
            yield Finding(OK, "handler", name)

    def _agent_findings(self, watch: Watch, tokens: tuple[str, ...]) -> Iterator[Finding]:
        chosen = self._settings.get("ROBOTSTXT_USER_AGENT")
        sent = None if watch.sent is None else watch.sent.headers.get("User-Agent")
        header = self._header if sent is None else sent.decode("utf-8", "replace")
        setter = watch.setters.get("User-Agent")
        of_setter = "" if setter is None else f", which {setter} sets"
        name = " or ".join(tokens) or EVERYONE
        facts = f"{header!r}{of_setter}; obeyed as {name}"
        own_fix = 'USER_AGENT = "YourBot/1.0 (+URL)"'
        if not tokens and chosen:
            yield Finding(NOTE, "name", f"{facts}: ROBOTSTXT_USER_AGENT = {chosen!r}")
        elif not tokens:
            text = f"{facts}: the User-Agent names no crawler, so only rules for '*' are obeyed"
            yield Finding(WARNING, "name", text, f"{own_fix}, or ROBOTSTXT_USER_AGENT")
        elif tokens[0].lower() not in header.lower():
            text = f"{facts}: sites cannot see this name"
            fix = f"put {tokens[0]} into that User-Agent, or set ROBOTSTXT_USER_AGENT to its name"
            yield Finding(WARNING, "name", text, fix)
        elif setter is None and tokens[0].lower() not in self._header.lower():
            text = f"{facts}: pages are fetched with {self._header!r}, which does not name it"
            yield Finding(WARNING, "name", text, f"put {tokens[0]} into USER_AGENT")
        elif tokens == ("Scrapy",):
            yield Finding(NOTE, "name", f"{facts}: the default of Scrapy", own_fix)
        else:
            yield Finding(OK, "name", facts)

    def _proxy_findings(self, watch: Watch, policy: Policy) -> Iterator[Finding]:
        proxy = None if watch.sent is None else watch.sent.meta.get("proxy")
        if not proxy:
            return
        host, port = place_of_proxy(proxy)
        setter = watch.setters.get("proxy")
        by = "the environment" if setter is None else setter
        by = "REP_FETCH_META" if "proxy" in self._call.ours.fetch_meta else by
        lead = f"{host}:{port} (set by {by})"
        if watch.status == _PROXY_REFUSES:
            text = f"{lead} refuses the request: it wants other credentials (407)"
            yield Finding(ERROR, "proxy", text, "correct the user and the password in its URL")
        elif policy.status is not None or not policy.is_unreachable:
            yield Finding(OK, "proxy", lead)
        else:
            why = f"takes connections, but robots.txt cannot be fetched by it ({policy.event})"
            try:
                socket.create_connection((host, port), _PROXY_SECONDS).close()
            except OSError as error:
                why = f"cannot be reached ({error.strerror or error})"
            yield Finding(ERROR, "proxy", f"{lead} {why}", "start the proxy, or set another one")

    def _verdict_finding(self, judgement: Judgement, policy: Policy) -> Finding:
        verdict = judgement.verdict
        word = "allowed" if verdict is not None and verdict.allowed else "disallowed"
        result = "" if policy.access_result is None else f" ({policy.access_result.value})"
        facts = f"{self._url}: {word} for {judgement.agent.name}: {judgement.why}"
        text = f"{facts}; robots.txt: {policy.event}{result}"
        if policy.source == OVERRIDE:
            return Finding(NOTE, "verdict", f"{text}: REP_OVERRIDES, so it was not fetched")
        if policy.is_unreachable:
            fix = "correct the errors above; if there are none, try again later, or see REP_POLICY"
            return Finding(WARNING if word == "allowed" else ERROR, "verdict", text, fix)
        if word == "allowed":
            return Finding(OK, "verdict", text)
        fix = "give another URL, or REP_OVERRIDES for a site of your own"
        return Finding(ERROR, "verdict", text, fix)

    # The output

    def _end(self) -> None:
        """Write the findings, and note the exit status."""
        call, found = self._call, self._findings
        if any(one.severity == ERROR for one in found):
            call.end_with(FOUND)
        if call.is_json:
            judged = self._judgement
            facts = {
                "url": without_userinfo(self._url),
                "spider": None if self._spider is Spider else self._spider.name,
                "findings": [
                    {key: without_userinfo(text) for key, text in one.as_dict().items()}
                    for one in found
                ],
                "verdict": None if judged is None else judged.as_dict(),
                "access": None if judged is None else judged.judge.access_dict(),
            }
            call.row(facts)
            return
        for one in found:
            cells = 9
            word = call.paint(f"{one.severity:<{cells}}", _STYLES[one.severity])
            text = _shown(f"{one.topic}: {one.text}")
            wrapped = call.terminal.wrapped
            call.line(word + wrapped(text, first_cells=cells, indent=" " * cells))
            if one.fix:
                fix = _shown(f"fix: {one.fix}")
                call.line(" " * cells + wrapped(fix, first_cells=cells, indent=" " * cells))


def _shown(text: str) -> str:
    return safe(without_userinfo(text))


def _refuse() -> None:
    raise IgnoreRequest("doctor sends no pages")


def _name_of(value: Any) -> str:
    return value if isinstance(value, str) else global_object_name(value)


# The findings that need no crawl


def _robots_findings(settings: Settings) -> Iterator[Finding]:
    """Whether robots.txt is obeyed, and by this package alone."""
    if settings.getbool("ROBOTSTXT_OBEY"):
        yield Finding(OK, "obey", "ROBOTSTXT_OBEY = True")
    else:
        text = "ROBOTSTXT_OBEY is off, so no robots.txt is obeyed"
        yield Finding(ERROR, "obey", text, "ROBOTSTXT_OBEY = True (look into custom_settings, too)")
    orders = middleware_orders(settings)
    is_ours = orders.get(RepMiddleware) is not None
    has_addon = _has_addon(settings)
    if not has_addon and not is_ours:
        text = "scrapy_rep.Addon is not enabled, so Scrapy's own middleware checks the requests"
        yield Finding(ERROR, "add-on", text, 'ADDONS = {"scrapy_rep.Addon": 500}')
    elif has_addon:
        yield Finding(OK, "add-on", "scrapy_rep.Addon")
    elif orders.get(RobotsTxtMiddleware) is not None:
        text = "Scrapy's RobotsTxtMiddleware is enabled next to RepMiddleware: no crawl starts"
        fix = f'{_MIDDLEWARES} = {{"{global_object_name(RobotsTxtMiddleware)}": None}}'
        yield Finding(ERROR, "middleware", text, f'{fix}, or ADDONS = {{"scrapy_rep.Addon": 500}}')
    for kind, order in orders.items():
        if order is not None and isinstance(kind, type) and issubclass(kind, RobotsTxtMiddleware):
            if kind is not RobotsTxtMiddleware:
                name = global_object_name(kind)
                text = f"{name}, a subclass of RobotsTxtMiddleware, is enabled: no crawl starts"
                advice = [f'{_MIDDLEWARES} = {{"{name}": None}}', *_replacements(kind)]
                yield Finding(ERROR, "middleware", text, "; ".join(advice))


_REPLACEMENTS = (
    ("crawl_delay request_rate delay download_delay", "for delays: Crawl-delay is kept anyway"),
    (
        "def:process_request dont_obey_robotstxt",
        'for exceptions: REP_OVERRIDES = {"example.com": {"policy": "ignore", "why": "..."}}, or '
        "dont_obey_robotstxt in the meta of a request",
    ),
    (
        "def:_robots_error def:_logerror",
        'for failures: REP_POLICY = "rfc9309", the default, allows nothing after a failure',
    ),
    ("download_slot", "for slots: REP_FETCH_META_KEYS takes download_slot from the page"),
    (
        "def:process_request_2 inc_value set_value send_catch_log",
        "for metrics: the stats rep/... and the signal scrapy_rep.signals.request_disallowed",
    ),
    (
        "_default_useragent _robotstxt_useragent useragent user_agent USER_AGENT",
        "for the name: ROBOTSTXT_USER_AGENT",
    ),
    ("def:_parse_robots _parserimpl", "for parsing: ROBOTSTXT_PARSER"),
    ("def:robot_parser cache _cache expires ttl", "for caching: REP_STORE"),
)
"""Names that a subclass of Scrapy's middleware defines (``def:``) or uses, and the replacement."""


def _replacements(kind: type) -> Iterator[str]:
    """The settings that replace a subclass of Scrapy's middleware, by the methods it overrides."""
    words: set[str] = set()
    for base in kind.__mro__[: kind.__mro__.index(RobotsTxtMiddleware)]:
        for name, value in vars(base).items():
            code = getattr(getattr(value, "__func__", value), "__code__", None)
            words |= {f"def:{name}", *_words_in(code)} if code is not None else set()
    for names, replacement in _REPLACEMENTS:
        if not words.isdisjoint(names.split()):
            yield replacement


def _words_in(code: CodeType) -> Iterator[str]:
    """The names and strings in a function."""
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _words_in(one)
        elif isinstance(one, str):
            yield one


def _has_addon(settings: Settings) -> bool:
    addons = settings.getdict("ADDONS").items()
    return any(order is not None and load_object(one) is Addon for one, order in addons)


def _without_other_judges(settings: Settings) -> dict[Any, Any]:
    """The middlewares of the project without Scrapy's own for robots.txt, and its subclasses."""
    chosen = dict(settings.getdict(_MIDDLEWARES))
    for one in settings.getwithbase(_MIDDLEWARES):
        kind = load_object(one)
        if isinstance(kind, type) and issubclass(kind, RobotsTxtMiddleware):
            chosen[one] = None
    return chosen


def _setting_findings(settings: Settings, call: Call, spider: type[Spider]) -> Iterator[Finding]:
    """The parser, the queue and the policy, and the settings that contradict each other."""
    ours, applied = call.ours, settings.copy()
    if _has_addon(settings):
        Addon().update_settings(applied)
    parser = _name_of(settings["ROBOTSTXT_PARSER"])
    if settings.getpriority("ROBOTSTXT_PARSER") and not parser.endswith("RepRobotParser"):
        text = f"{parser} decides instead of our parser, and verdicts name no line"
        yield Finding(NOTE, "parser", text, "remove ROBOTSTXT_PARSER")
    else:
        yield Finding(OK, "parser", "the parser of scrapy-rep")
    queue, scheduler = (_name_of(applied[one]) for one in ("SCHEDULER_PRIORITY_QUEUE", "SCHEDULER"))
    if waits_in_queue(applied):
        yield Finding(OK, "queue", scheduler if keeps_pace_over_fleet(applied) else queue)
    else:
        text = f"{scheduler} with {queue}: requests to a slow site keep others waiting"
        fix = (
            'SCHEDULER_PRIORITY_QUEUE = "scrapy_rep.RepPriorityQueue" with the SCHEDULER of Scrapy'
        )
        yield Finding(NOTE, "queue", text, fix)
    is_mild = ours.policy in ("lenient", "scrapy")
    effect = ": a robots.txt that cannot be fetched allows all" if is_mild else ""
    yield Finding(NOTE if is_mild else OK, "policy", f"REP_POLICY = {ours.policy!r}{effect}")
    if ours.dry_run:
        text = "REP_DRY_RUN is on: disallowed pages are fetched"
        yield Finding(WARNING, "settings", text, "remove REP_DRY_RUN")
    if settings.getbool("HTTPCACHE_ENABLED") and settings.getbool("HTTPCACHE_IGNORE_MISSING"):
        text = "HTTPCACHE_IGNORE_MISSING does not cover robots.txt, which is fetched from the site"
        yield Finding(NOTE, "settings", text, "REP_STORE keeps robots.txt files between crawls")
    kept = {str(one) for one in _statuses(settings, spider)} & _REFUSALS
    if kept and ours.backoff:
        text = f"callbacks want {' and '.join(sorted(kept))}, but these pages are requested again"
        yield Finding(NOTE, "settings", text, "REP_BACKOFF = False")
    if settings.getint("CLOSESPIDER_PAGECOUNT"):
        text = "CLOSESPIDER_PAGECOUNT counts the answers to robots.txt requests"
        yield Finding(NOTE, "settings", text, "add one for each site to it")
    if shares_pace(ours) and not keeps_pace_over_fleet(settings):
        text = "workers with this REP_REDIS_URL share files, but each keeps the pace for itself"
        fix = 'SCHEDULER = "scrapy_rep.RepRedisScheduler", or REP_PACE_SCOPE = "process"'
        yield Finding(NOTE, "settings", text, fix)


def _statuses(settings: Settings, spider: type[Spider]) -> Iterable[Any]:
    own = getattr(spider, "handle_httpstatus_list", None)
    return own if own is not None else settings.getlist("HTTPERROR_ALLOWED_CODES")
