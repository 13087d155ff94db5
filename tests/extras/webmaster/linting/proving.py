"""The promises of fixes and of `format` for one file, and the proof that verdicts stay the same.

The proof is by `differences` and by the slow model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from scrapy_rep.extras.webmaster.checks.codes import Code, Severity
from scrapy_rep.extras.webmaster.effect.differences import (
    UNNAMED,
    TooMuchToCompare,
    agents_of,
    differences,
)
from scrapy_rep.extras.webmaster.effect.probes import probes
from scrapy_rep.extras.webmaster.effect.rule_patterns import pattern_of
from scrapy_rep.extras.webmaster.effect.usage_changes import usage_differences
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.mending import edited
from scrapy_rep.extras.webmaster.outline import Outline, outline
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS, RULES, Kind
from tests.protocol import model

_UNKNOWN = "unknown-crawler"
_SLOW_PATHS = 60
_USAGE = re.compile(rb"content-(?:usage|signal)", re.IGNORECASE)


def prove(before: bytes, after: bytes, uri: str) -> None:
    """Assert that both files mean the same for all agents; the slow model compares some paths."""
    old, new = parse(before, uri), parse(after, uri)
    assert next(differences(old, new), None) is None
    assert old.sitemaps == new.sitemaps
    outlines = outline(before), outline(after)
    agents = agents_of(*outlines)
    for agent in agents:
        tokens = () if agent == UNNAMED else (agent,)
        assert old.site_pace(tokens) == new.site_pace(tokens), agent
    if _USAGE.search(before) or _USAGE.search(after):
        assert next(usage_differences(old, new), None) is None
    paths = [path.encode() for path in islice(_paths(*outlines), _SLOW_PATHS)]
    groups = [model.groups(body[:PARSE_LIMIT_OCTETS]) for body in (before, after)]
    tried: list[tuple[object, object]] = []
    for agent in agents:
        token = _UNKNOWN if agent == UNNAMED else agent
        one, other = (model.numbered_rules_for(each, token) or [] for each in groups)
        if {rule[:2] for rule in one} != {rule[:2] for rule in other} and (one, other) not in tried:
            tried.append((one, other))
            for path in paths:
                assert model.decide(one, path)[0] is model.decide(other, path)[0], (agent, path)


def _paths(*outlines: Outline) -> Iterator[str]:
    """Probes: those for rules that only one of the files has first."""
    old, new = (
        dict.fromkeys(pattern_of(line.value) for line in one.lines if line.kind in RULES)
        for one in outlines
    )
    changed = {*old} ^ {*new}
    yield from probes(changed, changed)
    yield from probes(old, changed)


def _names(body: bytes) -> set[bytes]:
    """The words of user-agent lines, without versions; in comments they count, too."""
    lines = outline(body).lines
    texts = [line.value for line in lines if line.kind is Kind.USER_AGENT]
    texts += [line.comment for line in lines if line.comment is not None]
    return {word.lower() for text in texts for word in re.findall(rb"[A-Za-z_-]{2,}", text)}


def _comments(body: bytes) -> list[bytes]:
    return [line.comment.strip() for line in outline(body).lines if line.comment]


def has_names_and_comments(body: bytes, new: bytes) -> None:
    """Assert that the new file has all names and comments of the old one."""
    assert not _names(body) - _names(new)
    if body.isascii():  # other comments may change their encoding
        text = b"\n".join(_comments(new))
        assert all(comment in text for comment in _comments(body))


def _errors(found: list[Finding]) -> Counter[Code]:
    return Counter(one.code for one in found if one.severity is Severity.ERROR)


def check_fixes(body: bytes, uri: str) -> None:
    """Assert what safe fixes promise: verdicts, names, comments and errors stay."""
    new, _ = fixed(body, uri)
    with suppress(TooMuchToCompare):  # then nothing is written
        prove(body, new, uri)
    has_names_and_comments(body, new)
    assert _errors(lint(body, uri)) <= _errors(lint(new, uri))


def check_advice(body: bytes, uri: str, *, most: int = 1000) -> None:
    """Assert that each safe fix alone keeps all verdicts; for each code, `most` are tried."""
    tried: Counter[Code] = Counter()
    for finding in lint(body, uri):
        if finding.is_safe and tried[finding.code] < most:
            tried[finding.code] += 1
            assert finding.proposal is not None
            assert finding.proposal.edits
            prove(body, edited(body, finding.proposal.edits), uri)


def check_format(body: bytes, uri: str, mode: Mode = Mode.NORMAL) -> None:
    """Assert what `format` promises: verdicts stay, also the second time, and nothing is new.

    No finding of the formatted file is new, unless it hides an error, and so is not written.
    """
    new = normalise(body, mode, uri)
    assert normalise(new, mode, uri) == new
    with suppress(TooMuchToCompare):
        prove(body, new, uri)
    if mode is Mode.NORMAL:
        before, after = (lint(one, uri) for one in (body, new))
        told = {one.code for one in after}
        is_refused = not _errors(before).keys() <= told
        assert is_refused or told <= {one.code for one in before}
