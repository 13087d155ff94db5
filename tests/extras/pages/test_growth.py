"""Twice the octets are at most about twice the work, and memory is bounded for every response.

Beyond the budgets of a page, more octets are no more work.

Work is counted, not timed: calls of functions, those of C included. Within one call only `str`,
`bytes` and anchored expressions with one way to match walk over text; ``benchmarks/pages.py`` shows
that these take no longer for their length.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_rep import page_rules, parse, usage_of
from scrapy_rep.extras.pages import Preference
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.page_html import (
    ANCHORS,
    HEAD_ELEMENTS,
    has_unread_links,
    is_unreadable,
)
from scrapy_rep.extras.pages.readings import refused_links
from scrapy_rep.extras.pages.usage.tdmrep import TdmFile
from tests.counting import calls

from .answers import meta, page, response_of

_GROWTH = 2.6  # n log n, and rounding
_COUNT = 2_000


def field(name: str, make: Callable[[int], str]) -> Callable[[int], Callable[[], Any]]:
    """Page rules and usage of a response with one field of `count` parts."""

    def prepared(count: int) -> Callable[[], Any]:
        value = make(count).encode("utf-8", "surrogateescape")
        response = response_of(fields=[(name, value)])
        return lambda: usage_of(response, b"", product_tokens="FooBot")

    return prepared


def lines(name: str, value: str) -> Callable[[int], Callable[[], Any]]:
    """The same with `count` lines of a field."""

    def prepared(count: int) -> Callable[[], Any]:
        response = response_of(fields=[(name, value)] * count)
        return lambda: usage_of(response, b"", product_tokens="FooBot")

    return prepared


def html(make: Callable[[int], str]) -> Callable[[int], Callable[[], Any]]:
    """Page rules, usage and links of a page; it is parsed before."""

    def prepared(count: int) -> Callable[[], Any]:
        response = response_of(make(count))
        assert response.selector is not None  # type: ignore[attr-defined]

        def read() -> Any:
            usage = usage_of(response, b"", product_tokens="FooBot")
            return usage, refused_links(response)

        return read

    return prepared


def robots(make: Callable[[int], str]) -> Callable[[int], Callable[[], Any]]:
    """Usage by a robots.txt."""

    def prepared(count: int) -> Callable[[], Any]:
        file = parse(make(count).encode()[:500_000])
        tokens = {"train-ai": ["GPTBot"]}
        return lambda: file_usage(file, "/" + "a" * 1000, "FooBot", tokens)

    return prepared


def tdmrep(make: Callable[[int], str]) -> Callable[[int], Callable[[], Any]]:
    """Usage by a tdmrep.json."""

    def prepared(count: int) -> Callable[[], Any]:
        response, body = response_of(), make(count).encode()
        return lambda: usage_of(response, b"", tdmrep=body, product_tokens="FooBot")

    return prepared


_UA = "User-agent: *\n"
_FILES = {
    "usage records": robots(lambda n: _UA + "Content-Usage: train-ai=n\n" * n),
    "usage paths": robots(
        lambda n: (
            _UA + "".join(f"Content-Usage: /{'a' * (i % 50)}*a$ train-ai=n\n" for i in range(n))
        )
    ),
    "usage groups": robots(lambda n: f"{_UA}Content-Usage: train-ai=n\n" * n),
    "usage before": robots(lambda n: "Content-Signal: ai-train=no\n" * n + _UA),
    "signal records": robots(lambda n: _UA + "Content-Signal: /a search=no\n" * n),
    "licences": robots(lambda n: _UA + "".join(f"License: /{i}\n" for i in range(n))),
    "json": tdmrep(lambda n: "[" + '{"location":"/","tdm-reservation":2},' * n + "1]"),
    "json rules": tdmrep(
        lambda n: "[" + '{"location":"/*a*b","tdm-reservation":1},' * (n // 2) + "1]"
    ),
}
_HOSTILE = {
    **_FILES,
    "commas": field("X-Robots-Tag", lambda n: "," * n * 10),
    "words": field("X-Robots-Tag", lambda n: "noindex," * n),
    "pieces": field("X-Robots-Tag", lambda n: "noindex;" * n),
    "no": field("X-Robots-Tag", lambda n: "no " * n + "index"),
    "no-hyphens": field("X-Robots-Tag", lambda n: "no" + "-" * n * 10 + "x"),
    "colons": field("X-Robots-Tag", lambda n: "a:" * n),
    "names": field("X-Robots-Tag", lambda n: "a:noindex," * n),
    "named pieces": field("X-Robots-Tag", lambda n: "x " * n + ": noindex"),
    "values": field("X-Robots-Tag", lambda n: "max-snippet:1," * n),
    "long value": field("X-Robots-Tag", lambda n: "max-snippet" + " " * n * 10 + "1"),
    "digits": field("X-Robots-Tag", lambda n: "max-snippet:" + "9" * n * 10),
    "dates": field("X-Robots-Tag", lambda n: "unavailable_after: Wed," * n),
    "quotes": field("X-Robots-Tag", lambda n: "\"'" * n * 10),
    "octets": field("X-Robots-Tag", lambda n: "\udcff" * n * 10),
    "lines": lines("X-Robots-Tag", "noindex"),
    "list": field("Robots-Tag", lambda n: "*;noindex," * n + "*"),
    "no list": field("Robots-Tag", lambda n: "*;noindex," * n + ","),
    "list lines": lines("Robots-Tag", "*;noindex"),
    "inner lists": field("Robots-Tag", lambda n: "(" + "a " * n + ")"),
    "parameters": field("Robots-Tag", lambda n: "*" + ";noindex" * n),
    "strings": field("Robots-Tag", lambda n: '"' + '\\"' * n * 5 + '"'),
    "dictionary": field("Content-Usage", lambda n: "train-ai=n," * n + "a"),
    "base64": field("Content-Usage", lambda n: "a=:" + "A" * n * 10 + "="),
    "signals": field("Content-Signal", lambda n: "ai-train=yes " * n),
    "marks": field("Content-Signal", lambda n: "=:,;" * n),
    "links field": field("Link", lambda n: "<a>;rel=license," * n),
    "open links": field("Link", lambda n: "<a>" + ";a" * n),
    "reservations": lines("tdm-reservation", "1"),
    "metas": html(lambda n: page(meta("noindex") * n)),
    "other metas": html(lambda n: page(meta("noindex", "otherbot") * n)),
    "deep metas": html(lambda n: page(body="<div>" * min(n, 200) + meta("noindex") * n)),
    "metas in turn": html(lambda n: page(body=f"<i>{meta('a')}</i>{meta('b', 'c')}" * n)),
    "anchors": html(
        lambda n: page(body="".join(f"<a href='/{i}' rel=nofollow>" for i in range(n)))
    ),
    "anchors and areas": html(
        lambda n: page(
            body="".join(
                f"<a href='/a{i}' rel=nofollow></a><area href='/b{i}' rel=nofollow>"
                for i in range(n // 2)
            )
        )
    ),
    "areas, then anchors": html(
        lambda n: page(body="<area href=/a rel=nofollow>" + "<area href=/b><a href=/c></a>" * n)
    ),
    "same anchors": html(lambda n: page(body="<a href='/a' rel=nofollow>" * n)),
    "rels": html(lambda n: page(body=f"<a href=/ rel='{'nofollow ' * n}'>")),
    "licence links": html(lambda n: page("<link rel=license href=/a>" * n)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _HOSTILE)
def test_work_is_linear(name: str) -> None:
    make = _HOSTILE[name]
    once, twice = calls(make(_COUNT)), calls(make(2 * _COUNT))
    assert twice <= _GROWTH * once + 200, (once, twice)


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("name", _HOSTILE)
def test_time_is_not_quadratic(name: str) -> None:
    """No call takes quadratic time: four times the parts would take 16 times as long."""
    seconds = []
    # a longer robots.txt or tdmrep.json is not read to its end
    for count in (2_250, 9_000) if name in _FILES else (7_500, 30_000):
        work = _HOSTILE[name](count)
        before = time.process_time()
        work()
        seconds.append(time.process_time() - before)
    few, many = seconds
    assert many <= 10 * few + 0.2, seconds


@pytest.mark.parametrize("name", _HOSTILE)
def test_memory_is_bounded(name: str) -> None:
    result = _HOSTILE[name](_COUNT)()
    usage = result[0] if isinstance(result, tuple) else result
    assert len(usage.statements) <= 110
    assert len(usage.remarks) <= 100
    assert len(usage.licences) <= 100
    assert all(len(one.text) <= 200 for one in (*usage.statements, *usage.remarks))


def test_depth_costs_nothing_for_each_element() -> None:
    """Each element that lxml makes calls a function: 500 meta elements had a million ancestors."""
    deep, flat = (
        calls(html(lambda n: page(body="<div>" * depth + meta("a") * n))(500))  # noqa: B023
        for depth in (2_000, 10)
    )
    assert deep <= flat + 10 * 2_000


_BEYOND: dict[str, tuple[Callable[[int], Any], int]] = {
    "content": (lambda n: response_of(page(meta("a:b," * n))), 20_000),
    "pieces": (lambda n: response_of(page(meta("a;" * n))), 20_000),
    "metas for us": (lambda n: response_of(page(meta("index") * n)), 5_000),
    "field": (lambda n: response_of(fields=[("X-Robots-Tag", "a:b," * n)]), 20_000),
    "field of lines": (lambda n: response_of(fields=[("X-Robots-Tag", "index")] * n), 10_000),
    "list": (lambda n: response_of(fields=[("Robots-Tag", "*;all," * n + "*")]), 20_000),
    "usage": (lambda n: response_of(fields=[("Content-Usage", "a=n," * n + "b")]), 20_000),
    "signals": (lambda n: response_of(fields=[("Content-Signal", "a=b," * n)]), 20_000),
    "reservations": (lambda n: response_of(fields=[("tdm-reservation", "0," * n)]), 20_000),
}


@pytest.mark.parametrize("name", _BEYOND)
def test_beyond_its_budget_a_page_is_no_more_work_and_unreadable(name: str) -> None:
    make, count = _BEYOND[name]

    def work(octets: int) -> int:
        response = make(octets)
        found = calls(lambda: usage_of(response, b"", product_tokens="FooBot"))
        assert is_unreadable(response)
        assert not usage_of(response, b"", product_tokens="FooBot").is_complete
        return found

    once, thrice = work(count), work(3 * count)
    # only for each element that is walked over
    assert thrice <= once + (40 * count if name == "metas for us" else 500), (once, thrice)


@pytest.mark.parametrize(("tag", "most"), [("meta", HEAD_ELEMENTS), ("a", ANCHORS)])
def test_page_of_more_elements_is_unreadable(tag: str, most: int) -> None:
    for count, is_too_much in ((most, False), (most + 1, True)):
        response = response_of(f"<html><head></head><body>{f'<{tag} name=a href=/a>' * count}")
        page_rules(response, "FooBot")
        refused_links(response)
        assert has_unread_links(response) is is_too_much
        assert is_unreadable(response) is (is_too_much and tag == "meta")


def test_more_licences_than_are_read_make_nothing_unknown() -> None:
    response = response_of(page("<link rel=license href=/a>" * 3), [("Link", "<a>;a=b," * 20_000)])
    usage = usage_of(response, b"", product_tokens="FooBot")
    assert usage.is_complete
    assert [one.uri for one in usage.licences] == ["https://example.com/a"]


def test_more_records_than_are_read_forbid_every_use() -> None:
    """One of the records that are not read may forbid it."""
    record = "Content-Signal: /{} search=yes, ai-train=yes\n"
    few, many, more = (
        parse((_UA + "".join(map(record.format, range(count)))).encode())
        for count in (1_000, 1_001, 4_000)
    )
    assert file_usage(few, "/1").search is Preference.ALLOWED
    assert set(file_usage(many, "/1").to_dict().values()) == {"n"}
    assert file_usage(few, "/x").search is Preference.UNKNOWN
    assert (
        calls(lambda: file_usage(more, "/1")) <= calls(lambda: file_usage(many, "/1")) + 20 * 3_000
    )


def test_a_tdmrep_json_of_too_many_rules_is_unknown() -> None:
    rule = {"location": "/", "tdm-reservation": 0}
    few, many, more = (json.dumps([rule] * count).encode() for count in (3_333, 3_334, 10_000))
    assert usage_of(response_of(), b"", tdmrep=few).tdm is Preference.ALLOWED
    for body in (many, more, json.dumps([1] * 10_001).encode()):
        assert usage_of(response_of(), b"", tdmrep=body).tdm is Preference.UNKNOWN
        assert not usage_of(response_of(), b"", tdmrep=body).is_complete
    once, thrice = (calls(lambda: TdmFile.of(body, "")) for body in (many, more))  # noqa: B023
    assert thrice <= once + 10 * 10_000
