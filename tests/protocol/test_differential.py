"""Verdicts and lines over a million generated files and URLs: the package's and the slow model's.

The files are near to real ones, and the URLs near to their rules, so that rules do match. One run
has a fixed seed, another a fresh one. A difference is told with its seed; to see it again::

    REP_SEED=... pytest -m slow tests/protocol/test_differential.py
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import pytest

from scrapy_rep.protocol import matching, packed, ruleset
from scrapy_rep.protocol.document import RobotsTxt, parse

from . import model

VERDICTS = 500_000  # of each of the two seeds, each with its line
FEW_VERDICTS = 5_000

_URLS = 24
_TOKENS = ("a", "foobot", "MJ12bot", "c")
_NAMES = ["a", "A/1.0", "a*", "foobot", "FooBot/2 x", "foo", "MJ12bot", "mj12bot/1", "*", "* x", ""]
_MARKS = [b""] * 20
_MARKS += [b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xbb"]
_ENDS = ["\n"] * 8 + ["\r\n"] * 3
_ENDS += ["\r", "\n\n", " \n", "\t\n", "\v\n", " # c\n", "#\n", "\0x\n"]
_KEYS = ["Disallow: "] * 8 + ["Allow: "] * 6
_KEYS += ["disallow:", "ALLOW :", "Disallows: ", "dissalow: ", "Disallow ", "Allow\t", " allow: "]
_OTHERS = ["Sitemap: /s", "Crawl-delay: 1", "Foo: /a", "nothing", "a b c", ":", "Disallow", "#", ""]
_AGENTS = ["User-agent: ", "user-agent:", "USER-AGENT : ", "useragent: ", "User agent: "]
_PIECES = ["/", "a", "b", "ab", "/a", "/b/", "x", ".", "=", ";", "&", ",", "~", "//", "é", "?", "?"]
_PIECES += ["%2F", "%2f", "%3F", "%3f", "%41", "%7e", "%C3%A9", "%c3", "%25", "%zz", "%", "{"]
_PIECES += ["/.", "/..", "/./", "/../", "/%2e", "/.%2E/", ".."]
_PIECES += ["index.htm", "/index.html", "%69ndex.htm"]
_OF_RULES = [*_PIECES, "*", "*", "*", "*/", "*a", "$", "%2A", "%24"]
_OF_RULES += ["*%2F", "*a%2F", "*%3Fb", "/*u=%2F"]
_OF_URLS = [*_PIECES, "*", "$", "%2A", "%24", "?a/b", "?a%2Fb", "?u=/"]
_OF_URLS += ["#", "#/x", " ", "/robots.txt"]
_FORMS = ((1024, 16, 6_000_000), (1024, 0, 0), (0, 16, 0), (0, 0, 0))
"""From how many rules on they are packed; how many wildcard rules behind one head lie in windows;
how many steps a verdict may take before few rules are packed too."""


class Samples:
    """Files and URLs of one seed, without end."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._patterns = ["/"]

    def file(self) -> bytes:
        """Some groups, some of them for the crawlers that will ask."""
        draw = self._draw
        self._patterns = ["/"]
        text = "".join(self._line() + draw.choice(_ENDS) for _ in range(draw.randrange(3)))
        for _ in range(draw.randint(1, 3)):
            for _ in range(draw.choice([1, 1, 2])):
                text += draw.choice(_AGENTS) + draw.choice(_NAMES) + draw.choice(_ENDS)
            for _ in range(draw.randrange(7)):
                text += self._line() + draw.choice(_ENDS)
        return draw.choice(_MARKS) + text.encode()

    def _line(self) -> str:
        draw = self._draw
        if draw.random() < 0.1:
            return draw.choice(_OTHERS)
        pattern = self._text(_OF_RULES, draw.choice(["/", "/", "/", "*", ""]))
        self._patterns.append(pattern)
        return draw.choice(_KEYS) + pattern

    def path(self) -> str:
        """A path as in a link: often one that a rule of the last file matches."""
        draw = self._draw
        if draw.random() < 0.5:
            return self._text(_OF_URLS, "/")
        parts = draw.choice(self._patterns).removesuffix("$").split("*")
        path = draw.choice(_OF_URLS).join(parts) + draw.choice(["", *_OF_URLS])
        return path if path.startswith("/") else f"/{path}"

    def _text(self, pieces: list[str], beginning: str) -> str:
        return beginning + "".join(self._draw.choices(pieces, k=self._draw.randrange(6)))


@contextmanager
def _form(packed_from: int, crowd: int, safe_steps: int) -> Iterator[None]:
    """Rules are kept as they would be if there were many more of them."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(ruleset, "PACKED_FROM", packed_from))
        stack.enter_context(patch.object(packed, "_CROWD", crowd))
        stack.enter_context(patch.object(matching, "_SAFE_STEPS", safe_steps))
        yield


def _compare(seed: int, verdicts: int) -> int:
    """Compare this many verdicts; return how many were by a rule."""
    samples = Samples(seed)
    asked = by_rule = number = 0
    while asked < verdicts:
        body = samples.file()
        paths = [samples.path() for _ in range(_URLS)]
        with _form(*_FORMS[number % len(_FORMS)]):
            robots_txt = parse(body)
            groups = model.groups(body)
            decided: _Decided = {}
            for token in _TOKENS:
                told = f"seed {seed}: {body!r} for {token}"
                by_rule += _compare_for(robots_txt, groups, token, paths, decided, told=told)
                asked += len(paths)
        number += 1
    return by_rule


_Decided = dict[tuple[model.Numbered, ...], list[tuple[bool, int]]]
"""The model's verdicts on each path, by the rules: many tokens share the rules for ``*``."""


def _compare_for(
    robots_txt: RobotsTxt,
    groups: list[model.Group],
    token: str,
    paths: list[str],
    decided: _Decided,
    *,
    told: str,
) -> int:
    own = model.numbered_rules_for(groups, token)
    group = robots_txt.group(token)
    lines = None if group is None else [(r.allow, r.path_pattern, r.line) for r in group.rules]
    assert lines == own, f"{told}: {lines} is not {own}"
    rules = tuple(own or ())
    if rules not in decided:
        decided[rules] = [model.decide([*rules], path.encode()) for path in paths]
    by_rule = 0
    for path, expected in zip(paths, decided[rules], strict=True):
        verdict = robots_txt.verdict(f"http://h{path}", token)
        rule = verdict.rule
        found = verdict.allowed, rule.line if rule is not None and rule.octets else 0
        assert found == expected, f"{told} on {path!r}: {found} is not {expected}"
        by_rule += expected[1] > 0
    return by_rule


def _fresh_seed() -> int:
    return int(os.environ.get("REP_SEED") or random.SystemRandom().getrandbits(32))


def test_a_few_verdicts_and_lines() -> None:
    assert _compare(9309, FEW_VERDICTS) > FEW_VERDICTS / 4, "rules do match"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "verdicts"),
    [
        pytest.param(9309, VERDICTS, marks=pytest.mark.at_length, id="fixed seed"),
        pytest.param(None, VERDICTS, marks=pytest.mark.at_length, id="fresh seed"),
        pytest.param(None, VERDICTS // 4, id="fresh seed, in CI"),
    ],
)
def test_a_million_verdicts_and_lines(seed: int | None, verdicts: int) -> None:
    seed = _fresh_seed() if seed is None else seed
    assert _compare(seed, verdicts) > verdicts / 4, f"seed {seed}: rules do match"
