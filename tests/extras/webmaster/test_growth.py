"""Twice the octets are about twice the work, whatever the file: over generated grammars of files.

Work is counted in calls of functions, including those of C. Comparisons of rules have budgets,
small ones here; beyond them, work must be linear. ``benchmarks/hostile.py`` times single calls.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import pytest

from scrapy_rep.extras.webmaster.effect import differences as comparing
from scrapy_rep.extras.webmaster.effect.differences import TooMuchToCompare, differences
from scrapy_rep.extras.webmaster.findings import findings
from scrapy_rep.extras.webmaster.linting import effect_checks
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.extras.webmaster.rewrite import normal
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.extensions.clean_params import CleanParams
from scrapy_rep.sitemaps.reader import Sitemap
from tests.at_length import at_length
from tests.counting import calls

pytestmark = pytest.mark.slow

HALF_OCTETS = 16_000
GROWTH = 2.6  # of the work, for twice the octets: n log n, rounded up
STEPS = 2_000
CALLS_A_STEP = 12
SEEDS = range(3)
MORE_SEEDS = range(3, 40)

Make = Callable[[int], bytes]


_many = pytest.mark.parametrize("seed", [*SEEDS, *at_length(MORE_SEEDS)])


def _letters(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def _line_maker(choose: random.Random) -> Callable[[int], str]:
    """How the lines of a file are made: the parts of a rule, and how each depends on its number."""
    head = choose.choice(["/", "/a", "/~**", "*", "/*", "", "/a/b/c", "~**", "/%7e", "/é"])
    words: list[Callable[[int], str]] = [
        _letters,
        lambda n: _letters(n)[::-1],
        lambda n: "a" * (n % 300),
        lambda n: "*a" * (n % 40),
        lambda n: f"{_letters(n)}*{_letters(n * 7)}",
        lambda _: "same",
        lambda n: "%2A" * (n % 9) + _letters(n),
        lambda n: f"*{_letters(n)}*aaa",
    ]
    word = choose.choice(words)
    tail = choose.choice(["", "$", "*", "*x", "?%2A", "/index.html", "**$", "%2F*u=%2F", "*%"])
    kinds = choose.choice([("allow",), ("disallow",), ("allow", "disallow")])
    return lambda n: f"{kinds[n % len(kinds)]}:{head}{word(n)}{tail}\n"


def _robots_txt(seed: int) -> Make:
    """A grammar of hostile files, by a number."""
    choose = random.Random(seed)
    rule = _line_maker(choose)
    agents: list[Callable[[int], str]] = [
        lambda n: "user-agent:*\n" * (n == 0),
        lambda n: f"user-agent:{_letters(n)}\n",
        lambda n: f"user-agent:{_letters(n % 5)}\n",
        lambda n: f"user-agent:{_letters(n // 20)}\n" * (n % 20 == 0),
        lambda n: f"user-agent:*\nuser-agent:{_letters(n)}\n",
        lambda n: f"user-agent:{_letters(n)}\n" if n < HALF_OCTETS // 100 else "",
    ]
    others: list[Callable[[int], str]] = [
        lambda _: "",
        lambda n: f"sitemap:/{_letters(n)}\n",
        lambda n: f"clean-param: {_letters(n)}&p /{_letters(n)}*a\n",
        lambda n: f"#{_letters(n)}\n",
        lambda n: f"dissallow /{_letters(n)}\n",
        lambda _: "crawl-delay: 1\n",
    ]

    agent, more = choose.choice(agents), choose.choice(others)

    def lines() -> Iterator[str]:
        for number in count():
            yield agent(number) + rule(number) + more(number)

    return lambda octets: _filled(octets, lines())


def _sitemap(seed: int) -> Make:
    """A grammar of hostile sitemaps, by a number: a few pieces, again and again."""
    choose = random.Random(seed)
    pieces = [
        *("<url>", "</url>", "<loc>https://h/a</loc>", "<loc>", "text", "<a:b>", "</a:b>", "<"),
        *("<c:d></c:d>", '<link href="https://h/">', '<x:link a="', '"/>', "&amp;", "&", "<!--"),
        *("-->", "<![CDATA[", "]]>", "<?x ", "?>", "<!DOCTYPE a [", "]>", " " * 50, "<a></a>"),
    ]
    line = "".join(choose.choices(pieces, k=choose.randint(1, 12)))
    return lambda octets: b"<urlset>" + _filled(octets, iter(lambda: line, None))


def _filled(octets: int, lines: Iterator[str]) -> bytes:
    made: list[bytes] = []
    while octets > 0:
        made.append(next(lines).encode())
        octets -= len(made[-1]) or 1
    return b"".join(made)


_URL = "https://h/a/b/c~aaa?%2A=%2F*u"


def _compare(body: bytes) -> None:
    try:
        for _ in differences(parse(body), parse(body + b"\nuser-agent:*\ndisallow:/new")):
            pass
    except TooMuchToCompare:
        pass


def _clean(body: bytes) -> None:
    CleanParams.of(parse(body).other_records).canonical("https://h/a/b?x=1&p=2")


WORKS: dict[str, Callable[[bytes], object]] = {
    "first verdict": lambda body: parse(body).verdict(_URL, ("a",)),
    "pace": lambda body: parse(body).site_pace(("a",)),
    "findings": lambda body: findings(parse(body)),
    "lint": lint,
    "normal": lambda body: normalise(body, Mode.NORMAL),
    "compact": lambda body: normalise(body, Mode.COMPACT),
    "compatible": lambda body: normalise(body, Mode.COMPATIBLE),
    "differences": _compare,
    "sitemap lines": lambda body: parse(body, "https://h/robots.txt").sitemaps,
    "clean-param": _clean,
}


@pytest.fixture(autouse=True)
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effect_checks, "BUDGET_STEPS", STEPS)
    monkeypatch.setattr(normal, "BUDGET_STEPS", STEPS)
    monkeypatch.setattr(comparing, "MOST_STEPS", 10 * STEPS)  # which are smaller
    monkeypatch.setattr(comparing, "STEPS_FOR_ALL", STEPS)


def _check(work: Callable[[bytes], object], make: Make, half_octets: int = HALF_OCTETS) -> None:
    bodies = make(half_octets), make(2 * half_octets)
    one, two = (calls(partial(work, body)) for body in bodies)
    assert two <= GROWTH * one + CALLS_A_STEP * STEPS, (one, two, make(200))


@pytest.mark.slow
@_many
@pytest.mark.parametrize("work", WORKS)
def test_of_robots_txt(work: str, seed: int) -> None:
    _check(WORKS[work], _robots_txt(seed), HALF_OCTETS if seed in SEEDS else HALF_OCTETS // 2)


_RECORDS: dict[str, Callable[[int], str]] = {
    "one name": lambda n: "user-agent:a\n" * (n == 0) + "crawl-delay: q\n",
    "a delay that counts": lambda n: "user-agent:a\n" * (n == 0) + f"crawl-delay: {n}\n",
    "among agents": lambda n: f"user-agent:a\nx{_letters(n)}: 1\n",
    "among agents, again": lambda n: f"user-agent:{_letters(n)}\nx: 1\n",
    "known ones": lambda n: f"user-agent:a\nvisit-time: {n}\ncrawl-delay: {n}\n",
    "rules before": lambda n: f"disallow:/robots.txt$\nx{_letters(n)}: 1\n",
    "for robots.txt": lambda n: "user-agent:a\n" * (n == 0) + "disallow:/robots.txt$\n",
    "relative": lambda n: f"sitemap:/{_letters(n)}\n",
    "blank": lambda _: "user-agent:a\n\n",
}
"""Files of other records and of few rules, which no grammar above makes."""


@pytest.mark.parametrize("record", _RECORDS)
@pytest.mark.parametrize("work", WORKS)
def test_of_other_records(work: str, record: str) -> None:
    _check(
        WORKS[work],
        lambda octets: _filled(octets, map(_RECORDS[record], count())),
        HALF_OCTETS // 2,
    )


@_many
def test_time_of_urls_grows_linearly(seed: int) -> None:
    """Twice the characters of a URL that is made of the rules' own parts, judged at once."""
    body = _robots_txt(seed)(HALF_OCTETS)
    robots_txt = parse(body)
    robots_txt.verdict(_URL, ("a",))
    parts = b"".join(line.partition(b":")[2] for line in body.split(b"\n"))
    path = parts.decode().replace("*", "").replace("$", "").replace("#", "")
    _check(
        lambda octets: robots_txt.verdict("/" + octets.decode(), ("a",)),
        lambda octets: (path * 20)[: octets // 8].encode(),
    )


@_many
def test_time_of_sitemaps_grows_linearly(seed: int) -> None:
    _check(lambda body: list(Sitemap(body)), _sitemap(seed))


def test_work_beyond_linear_fails_the_check() -> None:
    def pairs(body: bytes) -> None:
        lines = body.split(b"\n")
        for one in lines:
            for other in lines:
                one.startswith(other)

    with pytest.raises(AssertionError):
        _check(pairs, lambda octets: (b"a" * 49 + b"\n") * (octets // 50))
