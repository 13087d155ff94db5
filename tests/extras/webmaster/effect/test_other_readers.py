"""The readings of other crawlers: Google's matcher itself, where it is installed, and examples."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from scrapy_rep.extras.webmaster.effect.differences import probes_of
from scrapy_rep.extras.webmaster.effect.other_readers import (
    GOOGLE,
    OURS,
    PREFIXES,
    READERS,
    Judge,
    Reader,
)
from scrapy_rep.extras.webmaster.linting.linter import fixed
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from tests.extras.webmaster.linting.corpus import files
from tests.shared import needs_shared
from tests.tables import rows_of

ROWS = rows_of(__file__)

HOST = "https://host"
_PIECES = ["/", "/a", "b", "feed/", "*", "*/", "$", "%24", "%2A", "%3D", "=", "%3d", "%2F", "+"]
_PIECES += ["?x=", "%41", "A", "é", "%c3%a9", " ", "%20", "%", ";", "/index.html", "/index.htm"]
_OF_URLS = [*_PIECES, "#", "//", "/.", "/../", "/robots.txt"]


def _judge(reader: Reader, body: bytes, agent: str = "a") -> Judge:
    group = parse(body).group(reader.tokens(agent))
    return reader.judge(() if group is None else group.rules)


def _allows(reader: Reader, body: bytes, url: str, agent: str = "a") -> bool:
    return _judge(reader, body, agent)(url).allowed


def _star(*rules: str) -> bytes:
    return "\n".join(("User-agent: *", *rules)).encode()


@pytest.mark.parametrize(("rules", "path", "google", "prefixes"), ROWS["examples"])
def test_other_readers_judge_as_documented(
    rules: list[str], path: str, google: bool, prefixes: bool
) -> None:
    assert _allows(GOOGLE, _star(*rules), HOST + path) is google
    assert _allows(PREFIXES, _star(*rules), HOST + path) is prefixes


def test_the_deciding_line() -> None:
    group = parse(_star("Disallow: /a", "Allow: /b", "Disallow: /b/c")).group("x")
    assert group is not None
    for reader in (GOOGLE, PREFIXES):
        assert reader.judge(group.rules)(f"{HOST}/b/c").line == 4


def test_a_name_that_is_no_product_token() -> None:
    """Google's matcher finds no group for it."""
    body = b"User-agent: MJ12bot\nDisallow: /\n"
    found = {reader.name: _allows(reader, body, "/x", "MJ12bot") for reader in READERS[1:]}
    assert found == {"google": True, "1994": False}


@pytest.mark.parametrize("count", [5, 2000])
def test_google_s_matcher_agrees(count: int) -> None:
    """The package is the matcher itself; a group of 2,000 rules is kept in another form."""
    matcher = pytest.importorskip("jwm.robotstxt.googlebot").RobotsMatcher()
    draw = random.Random(60)
    for _ in range(2000 // count):
        body, urls = _generated(draw, count), list(_urls(draw))
        for agent in ("foo", "zyxwv"):
            judge = _judge(GOOGLE, body, agent)
            for url in urls:
                theirs = matcher.OneAgentAllowedByRobots(body, agent, url)
                assert judge(url).allowed is theirs, (body, url, agent)


@pytest.mark.parametrize("seed", range(4))
def test_rewritten_and_fixed_files_mean_the_same_to_each_reader(seed: int) -> None:
    """Without the short cuts of `differences`, which is the proof of `format` and `--fix`."""
    draw = random.Random(seed)
    for _ in range(12):
        body = _generated(draw, 3)
        every = probes_of([line for line in outline(body).lines if line.pattern])
        paths = draw.sample(every, min(len(every), 50))
        results = {fixed(body)[0], *(normalise(body, mode) for mode in Mode)} - {body}
        for reader, agent in product(READERS, ("foo", "zyxwv")):
            before = _allowed(reader, body, agent, paths)
            for new in results:
                assert _allowed(reader, new, agent, paths) == before, (body, new, reader.name)


def _allowed(reader: Reader, body: bytes, agent: str, paths: list[str]) -> list[bool]:
    if reader is OURS:
        return [parse(body).verdict(HOST + path, agent).allowed for path in paths]
    judge = _judge(reader, body, agent)
    return [judge(HOST + path).allowed for path in paths]


def _generated(draw: random.Random, count: int) -> bytes:
    lines = []
    for agent in ("foo/1.0", "*", "Foo"):
        lines.append(f"User-agent: {agent}")
        for _ in range(count):
            key = draw.choice(("Disallow", "Disallow", "Allow"))
            path = "".join(draw.choices(_PIECES, k=draw.randint(0, 4 if count < 9 else 8)))
            lines.append(f"{key}: {draw.choice(('/', '/', '*', ''))}{path}")
    return "\n".join(lines).encode()


def _urls(draw: random.Random) -> Iterator[str]:
    for _ in range(30):
        yield f"{HOST}/{''.join(draw.choices(_OF_URLS, k=draw.randint(0, 4)))}"


@pytest.mark.slow
@needs_shared
def test_google_s_matcher_agrees_on_real_files() -> None:
    matcher = pytest.importorskip("jwm.robotstxt.googlebot").RobotsMatcher()
    draw = random.Random(60)
    for uri, body in files()[::10]:
        file = parse(body)
        paths = probes_of([line for line in outline(body).lines if line.pattern])
        judge = _judge(GOOGLE, body, "zyxwv")
        for path in draw.sample(paths, min(len(paths), 40)) if not file.codings else ():
            theirs = matcher.OneAgentAllowedByRobots(file.octets, "zyxwv", HOST + path)
            assert judge(HOST + path).allowed is theirs, (uri, path)
