"""A packed file equals the plain file, and takes less memory."""

from __future__ import annotations

import tracemalloc

import pytest

from scrapy_rep.analysis.findings import findings
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.text import Text

_BODY = (
    b"User-agent: *\r\nCrawl-delay: 3\r\nDisallow: /a\r\nAllow: /a/b\r\n"
    b"Sitemap: https://h/s.xml\r\nUser-agent: other\r\nDisallow: /o\r\nHost: h\r\n"
) + b"# filling\n" * 5000


def facts(file: RobotsTxt) -> list[object]:
    verdicts = [file.verdict(f"https://h{path}", (who,)) for who in ("x", "other") for path in "ao"]
    return [
        file.octets,
        file.sitemaps,
        file.other_records,
        findings(file),
        file.crawl_delay("x"),
        file.group("other"),
        *((one.allowed, str(one), one.rule and one.rule.line) for one in verdicts),
    ]


def test_a_packed_file_says_the_same() -> None:
    plain, packed, late = (parse(_BODY, "https://h/robots.txt") for _ in range(3))
    packed.text.pack()
    packed.text.pack()
    expected = facts(plain)
    assert facts(packed) == expected
    facts(late)
    late.text.pack()
    assert facts(late) == expected
    assert plain == packed
    assert hash(plain) == hash(packed)
    assert packed.text.kept_octets < len(packed.text) == len(plain.octets)


def test_rules_are_kept_for_few_crawlers() -> None:
    """A request may bring any User-Agent: each is prepared for, and the first are forgotten."""
    bots = [f"bot-{one}{other}" for one in "abcdefg" for other in "abcdefg"]
    rules = "Disallow: /x\n" * 100
    file = parse("".join(f"User-agent: {bot}\n{rules}" for bot in bots).encode())
    file.verdict("/", bots[0])
    once = file.kept_octets - file.text.kept_octets
    assert file.verdict("/x", bots[0]) is file.verdict("/xy", bots[0]), "equal ones are the same"
    for bot in bots:
        file.verdict("/", bot)
        assert once <= file.kept_octets - file.text.kept_octets <= 8 * once
    file.verdict("/", "bot-aa")
    before = file.kept_octets
    file.verdict("/", "bot-aa")
    assert file.kept_octets == before


def test_crawlers_of_one_group_share_its_rules() -> None:
    file = parse(b"User-agent: foo\nDisallow: /y\nUser-agent: *\n" + b"Disallow: /x\n" * 1000)
    shared = file.selection("one")
    once = file.kept_octets - file.text.kept_octets
    for number in range(50):
        assert file.selection(f"bot{number}") is shared
        assert file.selection((f"bot{number}", "other")) is shared
        assert file.kept_octets - file.text.kept_octets == once
    assert file.selection("foo") is not shared
    assert file.selection(("bot", "FOO")) is file.selection(["Foo", "x"])
    assert not file.verdict("/y", "foo").allowed
    assert file.verdict("/y", "fo").allowed


@pytest.mark.parametrize("octets", [b"", b"a", bytes(range(256))])
def test_incompressible_text_stays_plain(octets: bytes) -> None:
    text = Text(octets)
    text.pack()
    assert text.octets == octets
    assert text.kept_octets == len(octets)


@pytest.mark.parametrize(
    "line",
    ["# comment", "Disallow: /p{}", "Disallow: /*p{}*x", "Sitemap: https://h/{}", "Allow: /{}/{}"],
)
def test_counted_octets_are_those_kept(line: str) -> None:
    """Never much less, or a site could make a crawl take more than `REP_MEMORY_OCTETS`."""
    for count in (900, 1023, 1024, 20_000):
        lines = "\n".join(line.format(number, number) for number in range(count))
        body = f"User-agent: *\n{lines}\n".encode()
        parse(body).verdict("/", ("x",))  # objects that all files share
        tracemalloc.start()
        file = parse(body + b"#")
        reading = Reading(file, file)
        reading.settle(("x",))
        reading.pack()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept <= 1.3 * reading.octets + 5000, (line, count)
