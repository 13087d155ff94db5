"""The memory of a file and of the rules that are ready for some crawlers."""

from __future__ import annotations

import tracemalloc

import pytest

from scrapy_rep.fetch.reading import Reading
from scrapy_rep.protocol.document import parse


def test_rules_are_kept_for_few_crawlers() -> None:
    """A request may bring any User-Agent: each is prepared for, and the first are forgotten."""
    bots = [f"bot-{one}{other}" for one in "abcdefg" for other in "abcdefg"]
    rules = "Disallow: /x\n" * 100
    file = parse("".join(f"User-agent: {bot}\n{rules}" for bot in bots).encode())
    file.verdict("/", bots[0])
    once = file.kept_octets - len(file.octets)
    assert file.verdict("/x", bots[0]) is file.verdict("/xy", bots[0]), "equal ones are the same"
    for bot in bots:
        file.verdict("/", bot)
        assert once <= file.kept_octets - len(file.octets) <= 8 * once
    file.verdict("/", "bot-aa")
    before = file.kept_octets
    file.verdict("/", "bot-aa")
    assert file.kept_octets == before


def test_crawlers_of_one_group_share_its_rules() -> None:
    file = parse(b"User-agent: foo\nDisallow: /y\nUser-agent: *\n" + b"Disallow: /x\n" * 1000)
    shared = file.selection("one")
    once = file.kept_octets - len(file.octets)
    for number in range(50):
        assert file.selection(f"bot{number}") is shared
        assert file.selection((f"bot{number}", "other")) is shared
        assert file.kept_octets - len(file.octets) == once
    assert file.selection("foo") is not shared
    assert file.selection(("bot", "FOO")) is file.selection(["Foo", "x"])
    assert not file.verdict("/y", "foo").allowed
    assert file.verdict("/y", "fo").allowed


def test_crawlers_of_one_group_share_its_rules_beside_crawlers_with_own_groups() -> None:
    bots = [f"bot-{one}{other}" for one in "abcdefg" for other in "abcdefg"]
    own = "".join(f"User-agent: {bot}\nDisallow: /x\n" for bot in bots)
    file = parse(f"{own}User-agent: *\nDisallow: /y\n".encode())
    file.selection(bots[-1])
    shared = file.selection("stranger")
    for bot in bots:
        assert file.selection(bot) is not shared
        assert file.selection(f"stranger-to-{bot}") is shared


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
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept <= 1.3 * reading.octets + 5000, (line, count)
