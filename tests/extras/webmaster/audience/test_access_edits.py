"""Files that shut known crawlers out or let them in, and what stays the same for all others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, Crawler, crawler_of
from scrapy_rep.extras.webmaster.audience.access_edits import access_edits, first_change, to_change
from scrapy_rep.extras.webmaster.audience.bindings import name_in_file
from scrapy_rep.extras.webmaster.effect.differences import agents_of, differences
from scrapy_rep.extras.webmaster.mending import edited
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.tokens import token_of
from tests.extras.webmaster.linting.corpus import RECENT, files
from tests.shared import needs_shared

_TRAINING = [one for one in CRAWLERS if one.purpose == "ai-training" and not one.is_obsolete]


def wanted_of(**sides: bool) -> dict[Crawler, bool]:
    found = {crawler_of(name): allowed for name, allowed in sides.items()}
    return {one: allowed for one, allowed in found.items() if one is not None}


def rewritten(body: bytes, wanted: dict[Crawler, bool]) -> bytes | None:
    """The new file; None if it cannot be proved."""
    old, before = parse(body), outline(body)
    changed = to_change(old, wanted)
    new = edited(body, access_edits(old, before, wanted, changed))
    found = first_change(old, parse(new), wanted, changed)
    return new if found is None else None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "UA GPTBot|UA CCBot|D /"),
        ("UA *|D /x", "UA *|D /x||UA GPTBot|UA CCBot|D /"),
        ("UA *|D /", "UA *|D /"),
        ("UA *|D /|A /x", "UA *|D /|A /x||UA GPTBot|UA CCBot|D /"),
        ("UA GPTBot|D /|UA *|D", "UA GPTBot|UA CCBot|D /|UA *|D"),
        ("UA GPTBot|D /a|A /b|UA CCBot|D /c", "UA GPTBot|D /|UA CCBot|D /"),
        ("UA x|UA GPTBot|D /a", "UA x|D /a||UA GPTBot|UA CCBot|D /"),
        ("UA CCBot|UA GPTBot|UA x|D /", "UA CCBot|UA GPTBot|UA x|D /"),
        ("UA x|D /a|UA *", "UA x|D /a|UA *|D||UA GPTBot|UA CCBot|D /"),
        ("UA x|D /a|UA GPTBot", "UA x|D /a|UA GPTBot|D /||UA CCBot|D /"),
        ("UA GPTBot|D /|S", "UA GPTBot|UA CCBot|D /|S"),
        ("UA GPTBot|Crawl-delay: 5|D /", "UA GPTBot|Crawl-delay: 5|D /||UA CCBot|D /"),
    ],
)
def test_crawlers_are_shut_out_by_few_lines(old: str, new: str) -> None:
    assert rewritten(_file(old), wanted_of(GPTBot=False, CCBot=False)) == _file(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("UA *|D /x", "UA *|D /x||UA GPTBot|D /"),
        ("UA *|D /", "UA *|D /||UA bingbot|A /"),
        ("UA bingbot|UA GPTBot|D /", "UA GPTBot|D /||UA bingbot|A /"),
        ("UA bingbot|UA CCBot|D /x|A /", "UA bingbot|UA CCBot|D /x|A /||UA GPTBot|D /"),
        (
            "UA *|Crawl-delay: 5|Host: h|D /",
            "UA *|Crawl-delay: 5|Host: h|D /||UA bingbot|Crawl-delay: 5|A /",
        ),
        (
            "UA *|Content-Signal: ai-train=no|D /",
            "UA *|Content-Signal: ai-train=no|D /||UA bingbot|Content-Signal: ai-train=no|A /",
        ),
    ],
)
def test_crawlers_are_let_in_by_few_lines(old: str, new: str) -> None:
    assert rewritten(_file(old), wanted_of(GPTBot=False, bingbot=True)) == _file(new)


def test_access_of_a_crawler_with_a_fallback() -> None:
    """Applebot takes that of Googlebot if it has none of its own."""
    old, new = "UA *|D|UA Googlebot|D /", "||UA Applebot|A /"
    assert rewritten(_file(old), wanted_of(Applebot=True)) == _file(old + new)
    old, new = "UA *|D /|UA Googlebot|A /", "||UA Applebot|D /"
    assert rewritten(_file(old), wanted_of(Applebot=False)) == _file(old + new)
    old = "UA *|D /x|UA Googlebot|A /"
    assert rewritten(_file(old), wanted_of(Googlebot=False, Applebot=True)) is None


def test_line_ends_and_comments_stay() -> None:
    body = b"\xef\xbb\xbf# a\r\nUser-agent: *\r\nDisallow: /x # b"
    new = rewritten(body, wanted_of(GPTBot=False))
    assert new == body + b"\r\n\r\nUser-agent: GPTBot\r\nDisallow: /\r\n"


def test_edit_that_changes_another_crawler_fails() -> None:
    """Without its line, the delay would belong to the crawler above."""
    body = b"User-agent: x\nUser-agent: GPTBot\nCrawl-delay: 5\nUser-agent: y\nDisallow: /a\n"
    body = body.replace(b"User-agent: x\n", b"User-agent: x\nDisallow:\n")
    assert rewritten(body, wanted_of(GPTBot=False)) is None


def test_name_that_strict_parsers_cut() -> None:
    """They read AI2Bot as AI, so a file that names AI stays as it is."""
    wanted = wanted_of(AI2Bot=False)
    assert rewritten(b"User-agent: *\nDisallow: /a\n", wanted) is not None
    assert rewritten(b"User-agent: AI\nDisallow: /a\n", wanted) is None


_LINES = st.sampled_from(
    [
        *("UA *", "UA GPTBot", "UA CCBot", "UA bingbot", "UA x", "UA gptbot/1", "UA"),
        *("D /", "D /a", "D", "A /", "A /a", "Crawl-delay: 5", "Content-Signal: ai-train=no"),
        *("S", "# c", "", "nonsense"),
    ]
)


@given(st.lists(_LINES, max_size=14), st.booleans())
def test_edit_of_any_file_changes_only_what_is_wanted(lines: list[str], bing: bool) -> None:
    """If it is written, it is as wanted, a second run changes nothing, and others see no change."""
    wanted = wanted_of(GPTBot=False, CCBot=False, bingbot=bing)
    body = _file("|".join(lines))
    new = rewritten(body, wanted)
    if new is not None:
        assert not to_change(parse(new), wanted)
        assert rewritten(new, wanted) == new
        assert not [*differences(parse(body), parse(new), ["x", "*", "Googlebot"])]


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("every", [150, pytest.param(12, marks=pytest.mark.at_length)])
def test_edit_of_real_files_changes_only_what_is_wanted(every: int) -> None:
    """Twice changes nothing, and no crawler that is not listed sees a change."""
    wanted = dict.fromkeys(_TRAINING, False)
    names = {name_in_file(one) for one in _TRAINING}
    listed = names | {token_of(name) for name in names}
    for _, body in files(RECENT)[:600:every]:
        new = rewritten(body, wanted)
        assert new is not None
        assert rewritten(new, wanted) == new
        old_file, new_file = parse(body), parse(new)
        others = [
            one for one in agents_of(outline(body), outline(new)) if one.lower() not in listed
        ]
        assert not [*differences(old_file, new_file, [*others, "Zyxwv"], steps=10**9)]
        known = [one for one in CRAWLERS if name_in_file(one) not in listed]
        for crawler in known:
            name = name_in_file(crawler)
            before, after = old_file.verdict("/", name), new_file.verdict("/", name)
            assert before.allowed is after.allowed


def _file(text: str) -> bytes:
    """A file in short words, a line each."""
    usual = {"UA": "User-agent:", "D": "Disallow:", "A": "Allow:", "S": "Sitemap: https://h/s.xml"}
    lines = []
    for line in text.split("|") if text else []:
        key, blank, value = line.partition(" ")
        lines.append(f"{usual.get(key, key)}{blank}{value}")
    return "".join(f"{line}\n" for line in lines).encode()
