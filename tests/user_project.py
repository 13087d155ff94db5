"""A project as users write it, with every public name; mypy checks it without an ignore.

Types have to follow from what is public. Nothing here is run but by `test_public_api`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.http import Response
from twisted.python.failure import Failure

from scrapy_rep import (
    AccessResult,
    Addon,
    Challenged,
    ConfigurationError,
    InvalidProductToken,
    InvalidUri,
    Origin,
    Policy,
    RateLimited,
    Reason,
    RepError,
    RepMiddleware,
    RepPageMiddleware,
    RepPriorityQueue,
    RepRedisScheduler,
    RepRobotParser,
    RobotsSitemapMixin,
    RobotsSitemapSpider,
    RobotsTxt,
    RobotsTxtDisallowed,
    RobotsTxtUnreachable,
    Rule,
    Store,
    Verdict,
    explain,
    page_rules,
    parse,
    playwright_abort_request,
    policy_for,
    signals,
    usage,
    usage_of,
    verdict_of,
)
from scrapy_rep.extras.pages import (
    Licence,
    PageRule,
    PageRules,
    PaymentRequired,
    Preference,
    Statement,
    UsagePreferences,
    UseLevel,
)
from scrapy_rep.extras.webmaster import Code, Effect, Finding, Mode, Severity, lint, normalise
from scrapy_rep.protocol import Group, Meaning, OtherRecord, RequestRate, Step, VisitTime
from scrapy_rep.protocol.fields import Remark, Source

SETTINGS: dict[str, Any] = {
    "ADDONS": {Addon: 500},
    "DOWNLOADER_MIDDLEWARES": {RepMiddleware: 100},
    "SPIDER_MIDDLEWARES": {RepPageMiddleware: 950},
    "SCHEDULER": RepRedisScheduler,
    "SCHEDULER_PRIORITY_QUEUE": RepPriorityQueue,
    "ROBOTSTXT_PARSER": RepRobotParser,
    "PLAYWRIGHT_ABORT_REQUEST": playwright_abort_request,
}


class PoliteSpider(scrapy.Spider):
    """Reads verdicts and policies."""

    name = "polite"

    async def start(self) -> AsyncIterator[Any]:
        self.crawler.signals.connect(self.told, signals.sitemaps_discovered)
        self.crawler.signals.connect(self.priced, signals.payment_required)
        self.crawler.signals.connect(self.asks, signals.challenged)
        policy: Policy = await policy_for(self.crawler, "https://example.com/")
        self.logger.info("%s", explain(self.crawler, "https://example.com/x")["pace"])
        for sitemap in policy.sitemaps:
            yield scrapy.Request(sitemap, errback=self.dropped)
        delay: float | None = policy.crawl_delay
        records: tuple[OtherRecord, ...] = policy.other_records
        result: AccessResult | None = policy.access_result
        verdict: Verdict = policy.verdict("https://example.com/a", ("FooBot",))
        is_read: bool = policy.meaning is Meaning.RULES
        yield {
            "delay": delay,
            "records": len(records),
            "result": result,
            "is_read": is_read,
            "allowed": verdict.allowed,
        }

    def told(self, origin: Origin, sitemaps: tuple[str, ...], policy: Policy) -> None:
        """A handler of `sitemaps_discovered`."""
        self.logger.info("%s %s %s", origin.robots_txt_uri, sitemaps, policy.origin == origin)

    def priced(self, response: Response, terms: PaymentRequired) -> None:
        """A handler of `payment_required`."""
        self.logger.info("%s costs %s %s", response.url, terms.price, terms.licences)

    def asks(self, response: Response, service: str) -> None:
        """A handler of `challenged`."""
        self.logger.info("%s stands before %s", service, response.url)

    def parse(self, response: Response, **_: Any) -> Iterator[dict[str, str]]:
        verdict: Verdict | None = verdict_of(response)
        if verdict is not None and verdict.reason is Reason.RULE:
            rule: Rule | None = verdict.rule
            yield {"url": response.url, "rule": str(rule), "line": str(verdict.line)}

    def dropped(self, failure: Failure) -> None:
        """An errback: types follow without `Failure.check`."""
        error = failure.value
        if isinstance(error, RobotsTxtUnreachable):
            self.logger.info("try again later: %s", error.verdict)
        elif isinstance(error, RobotsTxtDisallowed):
            self.logger.info("%s, by line %d", error.verdict, error.verdict.line)
        elif isinstance(error, RateLimited):
            self.logger.info("too busy: %s", error.origin)
        elif isinstance(error, Challenged):
            self.logger.info("%s asks: are you a person?", error.service)


class CarefulSpider(scrapy.Spider):
    """Asks what may be done with pages."""

    name = "careful"

    async def parse(self, response: Response, **_: Any) -> AsyncIterator[dict[str, str]]:
        rules: PageRules = page_rules(response)
        said: UsagePreferences = await usage(response)
        if rules.noindex or said.train_ai is Preference.DISALLOWED:
            statements: tuple[Statement, ...] = said.decided_by("train-ai")
            yield {"why": " ".join(map(str, statements)), "where": " ".join(sources_of(rules))}
        licences: tuple[Licence, ...] = said.licences
        yield {"licences": " ".join(licence.uri for licence in licences)}
        level: UseLevel | None = said.use_level
        yield {"level": "unknown" if level is None else level.level}


def sources_of(rules: PageRules) -> list[str]:
    """Where rules stand, and what is unusual."""
    first: PageRule | None = rules.rule("noindex")
    sources: list[Source] = [rule.source for rule in rules.rules if rule != first]
    remarks: tuple[Remark, ...] = rules.remarks
    return [*map(str, sources), *map(str, remarks)]


def may_train(response: Response, robots_txt: bytes) -> bool:
    """Whether a page may be used for training; False if nothing says so."""
    said = usage_of(response, robots_txt, product_tokens="FooBot")
    return said.train_ai is Preference.ALLOWED


class SitesSpider(RobotsSitemapSpider):
    """Begins with sitemaps."""

    name = "sites"
    sites = ["https://example.com"]


class MixedSpider(RobotsSitemapMixin, scrapy.Spider):
    """Begins with its start URLs and their sitemaps."""

    name = "mixed"


def report(body: bytes) -> list[str]:
    """What can be said of a file without Scrapy."""
    robots_txt: RobotsTxt = parse(body, "https://example.com/robots.txt")
    group: Group | None = robots_txt.group("FooBot")
    rate: RequestRate | None = robots_txt.request_rate("FooBot")
    visits: VisitTime | None = robots_txt.visit_time(["FooBot", "foo"])
    findings: tuple[Finding, ...] = tuple(lint(body))
    errors = [found for found in findings if found.severity is Severity.ERROR]
    safe = [found for found in findings if found.effect is Effect.KEEPS]
    cut = [found for found in findings if found.code is Code.PARSE_LIMIT]
    shorter: bytes = normalise(body, mode=Mode.COMPACT)
    return [
        str(group),
        str(rate),
        str(visits),
        *map(str, errors),
        *map(str, [*cut, *safe]),
        repr(shorter),
    ]


def judged(body: bytes, url: str, name: str) -> bool:
    """Whether a URL is allowed; False where the question is wrong."""
    try:
        return parse(body).verdict(url, name).allowed
    except InvalidProductToken:
        return False
    except (ConfigurationError, InvalidUri) as error:
        raise RepError(str(error)) from error


def sent(policy: Policy) -> list[Step]:
    """The requests that were sent for a file."""
    return [step for step in policy.steps if not step.is_copied]


def size_of(store: Store, path: Path) -> int:
    """A function that takes any store."""
    return path.stat().st_size + len(repr(store))
