"""The facts of a file that its policy shows, apart from verdicts."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_rep.fetch.reading import Reading
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Event, Failure, Meaning
from scrapy_rep.protocol.access.knowledge import REMARK, Copy, Knowledge, Outage
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import Standing, State
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.tokens import ProductTokens
from scrapy_rep.protocol.verdict import Reason, Verdict
from tests.extras import needs

ORIGIN = Origin("https", "example.com", 443)
BODY = b"""\
Sitemap: /a.xml
User-agent: *
Disallow: /private
Clean-param: ref /shop
Host: not a host
Host: www.example.com
License: /l.xml
"""


class Other:
    """Another parser's rules, which allow everything, and may know a delay."""

    def __init__(self, delay: float | None = None) -> None:
        self.delay = delay

    def verdict(self, url: str, product_tokens: ProductTokens) -> Verdict:
        return Verdict(allowed=True, reason=Reason.OTHER_PARSER)

    def crawl_delay(self, product_tokens: ProductTokens) -> float | None:
        return self.delay


def reading_of(body: bytes = BODY, other: Other | None = None) -> Reading:
    """The decider of a file: our parser or another one."""
    robots_txt = parse(body, ORIGIN.robots_txt_uri)
    return Reading(robots_txt, other or robots_txt)


def policy(
    body: bytes = BODY,
    other: Other | None = None,
    *,
    event: Event | None = 200,
    meaning: Meaning = Meaning.RULES,
    tokens: tuple[str, ...] = ("*",),
    **fields: Any,
) -> Policy:
    return Policy(ORIGIN, event, meaning, reading_of(body, other), tokens, **fields)


def test_policy_shows_the_file() -> None:
    found = policy()
    assert found.sitemaps == ("https://example.com/a.xml",)
    assert found.host == "www.example.com"
    assert found.clean_params("https://example.com/shop/1") == {"ref"}
    assert (
        found.canonical("https://example.com/shop/1?ref=2&a=3") == "https://example.com/shop/1?a=3"
    )
    keys = [record.key for record in found.other_records]
    assert keys == [b"Clean-param", b"Host", b"Host", b"License"]


@needs("webmaster")
def test_policy_has_the_findings_of_its_file() -> None:
    assert [one.code.slug for one in policy().findings] == ["sitemap-relative"]


def _names(number: int) -> str:
    return "&".join(chr(ord("一") + number + each) for each in range(160))


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (lambda n: f"Sitemap: https://example.com/{n}{'a' * 16_000}", lambda found: found.sitemaps),
        (lambda n: f"x{n}: {'a' * 16_000}", lambda found: found.other_records),
        (lambda n: f"Clean-param: {_names(n)}", lambda found: found.canonical("/?a")),
        pytest.param(
            lambda n: f"Disallow: {n}{'a' * 16_000}",
            lambda found: found.findings,
            marks=needs("webmaster"),
        ),
    ],
)
def test_long_values_that_are_kept_are_counted(
    line: Callable[[int], str], read: Callable[[Policy], object]
) -> None:
    body = "\n".join(map(line, range(31))).encode()
    found = policy(body)
    before = found.octets
    tracemalloc.start()
    read(found)
    taken_octets = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert found.octets - before > 0.8 * taken_octets


def test_memory_of_an_answer_is_counted() -> None:
    """A site may send 256 KiB of headers, and redirects with long addresses."""
    long = "a" * 100_000
    usual = policy().octets
    odd = policy(hops=(long, long), content_type=long, remark=long)
    assert odd.octets >= usual + 400_000
    elsewhere = Policy(Origin("http", long, 80), 404, Meaning.ALLOW, reading_of(), ("*",))
    assert elsewhere.octets > 100_000


@pytest.mark.parametrize("meaning", list(Meaning))
@pytest.mark.parametrize("is_stale", [False, True])
def test_verdicts_of_a_stale_copy_say_so(is_stale: bool, meaning: Meaning) -> None:
    found = policy(meaning=meaning, is_stale=is_stale)
    for url in ("https://example.com/private", "https://example.com/"):
        assert found.verdict(url).is_stale is is_stale


@pytest.mark.parametrize("meaning", list(Meaning))
@pytest.mark.parametrize("url", ["https://example.com/private", "/private", "ftp://example.com/"])
@pytest.mark.parametrize("is_other_parser", [False, True])
def test_swapped_arguments_of_a_policy_raise(
    meaning: Meaning, url: str, is_other_parser: bool
) -> None:
    found = policy(other=Other() if is_other_parser else None, meaning=meaning)
    for tokens in ("FooBot", ["FooBot", "foo"]):
        with pytest.raises(TypeError, match="is a URL: it comes first"):
            found.verdict(tokens, url)  # type: ignore[arg-type]
    assert found.verdict(url, "FooBot").reason is not None


class TestStanding:
    """A policy shows the answers that it rests on."""

    COPY = Copy(
        203,
        BODY,
        (ORIGIN.robots_txt_uri, "https://example.com/b"),
        (("content-type", "text/html"), (REMARK, "odd octets")),
        fetched_at=100.0,
        confirmed_at=200.0,
        fresh_until=300.0,
    )
    OUTAGE = Outage(503, ("https://example.com/c",), 400.0, 500.0, 2, 600.0)

    def policy(self, copy: Copy | None, outage: Outage | None, *, is_stale: bool) -> Policy:
        event = outage.event if outage else copy.event if copy else 200
        stands = Standing(
            State.STALE if is_stale else State.FRESH,
            Meaning.RULES,
            event,
            is_stale=is_stale,
            due_at=700.0,
            usable_until=800.0,
        )
        return Policy.learnt(ORIGIN, Knowledge(copy, outage), stands, reading_of(), ("*",))

    @pytest.mark.parametrize(
        ("has_outage", "is_stale"), [(False, False), (True, True), (False, True)]
    )
    def test_on_a_copy(self, has_outage: bool, is_stale: bool) -> None:
        found = self.policy(self.COPY, self.OUTAGE if has_outage else None, is_stale=is_stale)
        assert found.hops == self.COPY.hops
        assert found.final_url == "https://example.com/b"
        assert (found.content_type, found.remark) == ("text/html", "odd octets")
        assert (found.fetched_at, found.due_at, found.usable_until) == (100.0, 700.0, 800.0)
        assert found.is_stale is is_stale

    @pytest.mark.parametrize("copy", [COPY, None])
    def test_on_a_failure(self, copy: Copy | None) -> None:
        """A copy that is not used any more has no part in it."""
        found = self.policy(copy, self.OUTAGE, is_stale=False)
        assert found.hops == self.OUTAGE.hops
        assert (found.content_type, found.remark, found.fetched_at) == ("", "", 500.0)
        assert (found.event, found.status) == ("503", 503)
        assert found.is_unreachable
        assert not found.is_stale

    def test_policy_without_a_meaning_permits_nothing(self) -> None:
        stands = Standing(State.FRESH, None, 404, is_stale=False, due_at=0.0, usable_until=0.0)
        found = Policy.learnt(ORIGIN, Knowledge(), stands, Reading.of_nothing(ORIGIN), ("*",))
        assert found.meaning is Meaning.DISALLOW


@needs("webmaster")
@pytest.mark.parametrize(
    ("event", "remark", "codes"),
    [
        (200, "", []),
        (203, "", ["odd-status"]),
        (203, "odd", ["odd-status", "odd-coding"]),
        (200, "odd", ["odd-coding"]),
        (404, "", []),
        (503, "", []),
        (Failure.DNS, "", []),
        (None, "", []),
    ],
)
def test_unusual_answers_are_findings(event: Event | None, remark: str, codes: list[str]) -> None:
    reading = Reading.of_nothing(ORIGIN)
    found = Policy(ORIGIN, event, Meaning.RULES, reading, ("*",), remark=remark)
    assert [one.code.slug for one in found.findings] == codes
    told = {"odd-status": b"203", "odd-coding": b"odd"}
    assert [one.octets for one in found.findings] == [told[code] for code in codes]
    words = "override" if event is None else "dns" if event is Failure.DNS else str(event)
    assert found.event == words
    assert found.status == (event if isinstance(event, int) else None)
    assert f" {words} rules>" in repr(found)


@pytest.mark.parametrize(("delay", "expected"), [(9.0, 9.0), (0.0, 0.0), (None, 2.0)])
def test_delay_of_another_parser_counts(delay: float | None, expected: float) -> None:
    body = b"User-agent: *\nCrawl-delay: 2\n"
    found = policy(body, Other(delay))
    assert found.site_pace().crawl_delay == expected
    assert found.crawl_delay == delay
    assert reading_of(body, Other(delay)).octets > reading_of(body).octets, "it keeps a file too"


@pytest.mark.parametrize(
    ("line", "is_nothing"),
    [
        (b"Allow: /", True),
        (b"Crawl-delay: 0", True),
        (b"Crawl-delay: 0.1", False),
        (b"Request-rate: 1/5", False),
        (b"Visit-time: 0600-0845", False),
    ],
)
def test_file_sets_no_pace(line: bytes, *, is_nothing: bool) -> None:
    found = policy(b"User-agent: *\n%s\n" % line)
    assert found.site_pace(("another",)).is_nothing == is_nothing
    assert found.site_pace().is_nothing == is_nothing
