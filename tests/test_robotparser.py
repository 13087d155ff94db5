"""Scrapy's `RobotParser` interface, ours and others'."""

from __future__ import annotations

from typing import Any

import pytest
import scrapy.robotstxt
from scrapy.robotstxt import RobotParser
from scrapy.utils.test import get_crawler

from scrapy_rep import ConfigurationError, Reason, RepRobotParser, parse
from scrapy_rep.robotparser import ParserChoice
from tests.protocol.vectors import cases, expected
from tests.shared import needs_shared

BODY = b"""
User-agent: FooBot
Disallow: /foo
Crawl-delay: 2.5

User-agent: *
Disallow: /everyone
Sitemap: https://example.com/sitemap.xml
"""
URL = "https://example.com"


class Minimal:
    """A parser that knows neither Scrapy's base class nor delays."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def allowed(self, url: str, user_agent: str) -> bool:
        return f"{user_agent} may not see {url}".encode() not in self.body


class Raising(Minimal):
    def allowed(self, url: str, user_agent: str) -> bool:
        raise RuntimeError("no idea")


class Unable(Minimal):
    def __init__(self, body: bytes) -> None:
        raise RuntimeError("no body is good enough")


def test_parser_works_without_a_crawler() -> None:
    parser = RepRobotParser.from_crawler(None, BODY)
    assert isinstance(parser, RobotParser)
    assert not parser.allowed(f"{URL}/foo", "FooBot")
    assert parser.robots_txt.sitemaps == ("https://example.com/sitemap.xml",)


@pytest.mark.parametrize(
    "user_agent",
    [
        "FooBot",
        b"FooBot",
        "foobot",
        "FooBot/2.1",
        "Mozilla/5.0 (compatible; FooBot/2.1; +http://x)",
    ],
)
def test_parser_takes_a_token_or_a_header(user_agent: str | bytes) -> None:
    parser = RepRobotParser.from_crawler(None, BODY)
    assert not parser.allowed(f"{URL}/foo".encode(), user_agent)
    assert parser.allowed(f"{URL}/everyone", user_agent)
    assert parser.crawl_delay(user_agent) == 2.5
    assert parser.verdict(f"{URL}/foo", user_agent).line == 3


@pytest.mark.parametrize("rule", [b"/caf\xe9/", b"/caf%E9/"])
@pytest.mark.parametrize("url", [b"/caf\xe9/", "/caf\udce9/", "/caf%e9/"])
def test_octets_that_are_not_utf_8_equal_their_escapes(url: str | bytes, rule: bytes) -> None:
    parser = RepRobotParser.from_crawler(None, b"User-agent: *\nDisallow: " + rule)
    assert not parser.allowed(url, "FooBot")


@pytest.mark.parametrize("user_agent", ["BarBot", "", "*", "Mozilla/5.0 (X11) Gecko Firefox/1"])
def test_unknown_crawlers_get_the_group_of_the_star(user_agent: str) -> None:
    parser = RepRobotParser.from_crawler(None, BODY)
    assert parser.allowed(f"{URL}/foo", user_agent)
    assert not parser.allowed(f"{URL}/everyone", user_agent)
    assert parser.crawl_delay(user_agent) is None


def choice(value: Any) -> ParserChoice:
    return ParserChoice(get_crawler(settings_dict={"ROBOTSTXT_PARSER": value}))


def test_default_of_scrapy_does_not_replace_our_parser() -> None:
    robots_txt = parse(BODY)
    rules, parser = ParserChoice(get_crawler()).read(robots_txt, BODY)
    assert rules is robots_txt
    assert isinstance(parser, RepRobotParser)


@pytest.mark.parametrize(
    "value",
    [
        "scrapy.robotstxt.ProtegoRobotParser",
        "scrapy.robotstxt.PythonRobotParser",
        "scrapy_rep.RepRobotParser",
        RepRobotParser,
    ],
)
def test_other_parsers_replace_ours(value: Any) -> None:
    rules, _ = choice(value).read(parse(BODY, f"{URL}/robots.txt"), BODY)
    verdict = rules.verdict(f"{URL}/foo", ("FooBot",))
    assert not verdict.allowed
    assert verdict.robots_txt == f"{URL}/robots.txt"
    assert rules.verdict(f"{URL}/everyone", ("FooBot",)).allowed
    assert not rules.verdict(f"{URL}/everyone", ()).allowed
    # The standard library knows whole seconds only.
    assert rules.crawl_delay(("FooBot",)) in (2.5, None)


def test_parsers_get_one_name() -> None:
    rules, _ = choice(Minimal).read(parse(b""), b"FooBot may not see /x")
    for tokens in ("FooBot", ("FooBot",), ["FooBot", "Foo"]):
        assert not rules.verdict("/x", tokens).allowed
        assert rules.verdict("/x", tokens).reason is Reason.OTHER_PARSER
        assert rules.verdict("/y", tokens).allowed
        assert rules.crawl_delay(tokens) is None
    rules, _ = choice("scrapy.robotstxt.ProtegoRobotParser").read(parse(BODY), BODY)
    has_delays = hasattr(scrapy.robotstxt.ProtegoRobotParser, "crawl_delay")  # as of Scrapy 2.18
    assert rules.crawl_delay("FooBot") == (2.5 if has_delays else None)


def test_parser_that_raises_permits_nothing() -> None:
    crawler = get_crawler(settings_dict={"ROBOTSTXT_PARSER": Raising})
    rules, _ = ParserChoice(crawler).read(parse(b""), b"")
    verdict = rules.verdict("/x", ("FooBot",))
    assert not verdict.allowed
    assert verdict.reason is Reason.PARSER_FAILED
    assert crawler.stats.get_value("rep/parser_failed") == 1


@pytest.mark.parametrize("value", ["no.such.Parser", "scrapy_rep.no_such_name", Unable, 7])
def test_unusable_parsers_are_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="ROBOTSTXT_PARSER"):
        choice(value)


@needs_shared
def test_shared_vectors_pass_through_the_interface() -> None:
    """As they do through `parse`: with the same list of exceptions."""
    wrong = [
        str(case)
        for case in cases()
        if len(case.agents) == 1
        and RepRobotParser.from_crawler(None, case.body).allowed(case.url, case.agents[0])
        is not expected(case)
    ]
    assert wrong == []
