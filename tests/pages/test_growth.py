"""Twice the octets are about twice the work, and memory is bounded for every response.

Work is counted, not timed: calls of functions, those of C included. Within one call only `str`,
`bytes` and anchored expressions with one way to match walk over text; ``benchmarks/pages.py`` shows
that these take no longer for their length.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_rep import parse, usage_of
from scrapy_rep.pages.readings import refused_links
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
        return lambda: file.usage("/" + "a" * 1000, "FooBot", tokens)

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
