"""Where findings are, what lint makes of any octets, and that it stays bounded."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.findings import findings
from scrapy_rep.extras.webmaster.linting import effect_checks
from scrapy_rep.extras.webmaster.linting.crawler_names import KNOWN, nearly
from scrapy_rep.extras.webmaster.linting.linter import FINDINGS_PER_CODE, lint
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, PARSE_LIMIT_OCTETS
from tests.protocol import strategies
from tests.protocol.reading import URI

# Lint has finer codes than the few checks of a crawl.
FINER = {
    Code.RULE_MATCHES_NOTHING: {Code.FULL_URL, Code.SEVERAL_PATHS},
    Code.USER_AGENT_NAMES_NOBODY: {
        *[Code.USER_AGENT_EMPTY, Code.USER_AGENT_WILDCARD, Code.USER_AGENT_LIST],
        *[Code.USER_AGENT_HEADER, Code.USER_AGENT_CUT, Code.USER_AGENT_VERSION],
        *[Code.USER_AGENT_NEAR, Code.USER_AGENT_NO_CRAWLER, Code.USER_AGENT_WORDS],
    },
    Code.SITEMAP_LEFT_OUT: {
        *[Code.SITEMAP_SCHEME, Code.SITEMAP_EMPTY, Code.SITEMAP_RELATIVE, Code.SITEMAP_BAD_SCHEME],
    },
    Code.SITEMAP_RELATIVE: {Code.SITEMAP_SCHEME, Code.SITEMAP_LEFT_OUT, Code.SITEMAP_BAD_SCHEME},
}


_USUAL = "User-agent: *\n"
_THREE = "Disallow: /a\nDisallow: /b\nDisallow: /c\n"
_NARROW = "User-agent: b\nDisallow: /x/y\n\nUser-agent: b\nDisallow: /x\n"
_SITEMAPS = "Disallow: /s\nSitemap: /s1.xml\nSitemap: /s2.xml\n"
_INDEX = "Allow: /a/index.html"


@pytest.mark.parametrize(
    ("body", "code", "places"),
    [
        # Line and column are those of an editor.
        ("User-agent: *\n\tDisallow : a", Code.RULE_MATCHES_NOTHING, [(2, 13, b"a")]),
        ("User-agent: *\nDisallow: /é/a b", Code.SPACE_IN_PATH, [(2, 15, b" ")]),
        ("User-agent: *\r\n\r\nDisalow: /", Code.MISSPELT_KEY, [(3, 1, b"Disalow")]),
        ("User-agent: *\rDisallow: /%zz", Code.BAD_ESCAPE, [(2, 12, b"%")]),
        ("User-agent: *\nDisallow: /#y", Code.FRAGMENT, [(2, 12, b"#")]),
        ("\ufeffDisallow: /x\n", Code.RULE_BEFORE_GROUP, [(1, 1, b"/x")]),
        # A rule is redundant only if each of its groups agrees: `a` needs the narrow one.
        (f"User-agent: a\n{_NARROW}", Code.RULE_REDUNDANT, []),
        (_NARROW, Code.RULE_REDUNDANT, [(2, 11, b"/x/y")]),
        (f"{_USUAL}Disallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n", Code.RULE_REDUNDANT, []),
        (f"{_USUAL}Allow: /a\n", Code.RULE_REDUNDANT, [(2, 8, b"/a")]),
        # Without the line, /a/ would be disallowed.
        (f"{_USUAL}Disallow: /a/\n{_INDEX}\n{_INDEX}*\n", Code.RULE_SHADOWED, []),
        # Sitemaps.
        (f"{_USUAL}Disallow: /\nSitemap: https://cdn.example/s.xml", Code.SITEMAP_DISALLOWED, []),
        (f"{_USUAL}{_SITEMAPS}", Code.SITEMAP_DISALLOWED, [(3, 10, b"/s1.xml")]),
        (f"User-agent: Googlebot\n{_SITEMAPS}", Code.BLOCKS_SITEMAP, [(2, 11, b"/s")]),
        ("User-agent: GPTBot\nDisallow: /s\nSitemap: /s1.xml\n", Code.BLOCKS_SITEMAP, []),
        ("User-agent: bingbot\nDisallow: /\nSitemap: /s.xml\n", Code.BLOCKS_SITEMAP, []),
        (f"{_USUAL}Disallow: /*.css$\n", Code.BLOCKS_RESOURCES, [(2, 11, b"/*.css$")]),
    ],
)
def test_finding_has_line_and_column(
    body: str, code: Code, places: list[tuple[int, int, bytes]]
) -> None:
    found = [one for one in lint(body.encode(), URI) if one.code is code]
    assert [(one.line, one.column, one.octets) for one in found] == places


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *[("googelbot", "googlebot"), ("gptbo", "gptbot"), ("bingbott", "bingbot")],
        *[
            ("claude bot", "claudebot"),
            ("chatgpt_user", "chatgpt-user"),
            ("g00glebot", "googlebot"),
        ],
        *[("gptb\u043et", "gptbot"), ("examplebot", None), ("roverbot", None), ("spbot", None)],
    ],
)
def test_nearest_known_name(name: str, meant: str | None) -> None:
    assert nearly(name) == meant


def test_known_names_have_no_nearest_name() -> None:
    """Some are one slip from each other, and both are real."""
    assert [name for name in KNOWN if nearly(name)] == []


_SILENT_SIGNAL = {Code.SIGNAL_SYNTAX}
_SILENT_USAGE = {
    *(Code.USAGE_SYNTAX, Code.USAGE_LETTER_CASE),
    *(Code.USAGE_FOREIGN_WORDS, Code.USAGE_UNKNOWN_LABEL),
}
_OF_USAGE = {
    *(Code.SIGNAL_SPELLING, Code.SIGNAL_BEFORE_GROUP),
    *(Code.USAGE_CONFLICT, Code.SIGNAL_CONFLICT),
    *(_SILENT_SIGNAL | _SILENT_USAGE),
}


class TestUsage:
    """Content-Usage and Content-Signal are read as crawlers read them."""

    @pytest.mark.parametrize(
        ("lines", "codes"),
        [
            ("Content-Signal: /private/ ai-input=no", []),
            ("Content-Signal: /private/ ai-input=perhaps", [Code.SIGNAL_SYNTAX]),
            ("Content-Usage: /a train-ai=n, search=y", []),
            ("Content-Signal: search = YES , Ai-Train=No", []),
            ("Content-Signals: search: yes; ai-train: N", [Code.SIGNAL_SPELLING]),
            ("Content-Signal: search=yes, ai-train", [Code.SIGNAL_SYNTAX]),
            ("Content-Usage: Train-AI=n", [Code.USAGE_LETTER_CASE]),
            ("Content-Usage: ai-train=n", [Code.USAGE_FOREIGN_WORDS]),
            ("Content-Usage: /no AI-Train=No, search=y", [Code.USAGE_FOREIGN_WORDS]),
            ("Content-Usage: noai", [Code.USAGE_UNKNOWN_LABEL]),
            ("Content-Usage: train-ai=n,", [Code.USAGE_SYNTAX]),
            ("Content-Usage: train-ai=n\nContent-Usage: / train-ai=y", [Code.USAGE_CONFLICT]),
            ("Content-Usage: /%7E train-ai=n\nContent-Usage: /~ train-ai=y", [Code.USAGE_CONFLICT]),
        ],
    )
    def test_ignored_preferences_have_a_finding(self, lines: str, codes: list[Code]) -> None:
        body = f"User-agent: *\nDisallow: /x\n{lines}\n".encode()
        assert [found.code for found in lint(body, uri=URI) if found.code in _OF_USAGE] == codes

    @pytest.mark.parametrize(
        ("first", "other", "codes"),
        [
            (
                "Content-Signal: ai-train=no",
                "Content-Signals: ai-train=yes",
                [Code.SIGNAL_CONFLICT],
            ),
            ("Content-Signal: ai-train=no", "Content-Signal: search=yes, ai-train=no", []),
            ("Content-Signal: ai-train=no", "Content-Signal: /a ai-train=yes", []),
            ("Content-Usage: train-ai=n", "Content-Usage: train-ai=y", [Code.USAGE_CONFLICT]),
        ],
    )
    def test_conflict_of_merged_groups_has_one_finding(
        self, first: str, other: str, codes: list[Code]
    ) -> None:
        """Both are for ``*``, so they are one group; those for others are not."""
        body = f"User-agent: *\n{first}\nAllow: /\n\nUser-agent: *\n{other}\nDisallow: /x\n"
        body += f"User-agent: foo\n{other}\nDisallow: /\n"
        found = [one for one in lint(body.encode(), uri=URI) if one.code in _OF_USAGE]
        assert [one.code for one in found] == codes
        assert [one.line for one in found] == [6] * len(codes)

    def test_policy_tokens_are_no_unknown_crawlers(self) -> None:
        """They are known; and a ban of * does not miss them, as it misses some crawlers."""
        body = b"User-agent: __Usage_AI-Training\nDisallow: /x\nUser-agent: *\nDisallow: /\n"
        found = lint(body, uri=URI)
        assert [one.code for one in found if one.line == 1] == []
        (detail,) = [one.detail for one in found if one.code is Code.OWN_TOKEN_ONLY]
        assert "__usage_" not in detail

    @pytest.mark.parametrize("name", ["Content-Signal", "content-signals"])
    def test_signal_before_the_first_group(self, name: str) -> None:
        body = f"{name}: search=yes\nUser-agent: *\nDisallow: /x\n{name}: search=yes\n".encode()
        found = [one for one in lint(body, uri=URI) if one.code in _OF_USAGE]
        assert [(one.code, one.line) for one in found] == [(Code.SIGNAL_BEFORE_GROUP, 1)]

    @given(st.text('abcdehnorstuy-ilAT=:,;/ "?10', max_size=40))
    def test_lint_and_crawls_agree(self, value: str) -> None:
        """Lint and a crawl report the same ignored values."""
        for name, silent in (("Content-Signal", _SILENT_SIGNAL), ("Content-Usage", _SILENT_USAGE)):
            body = f"User-agent: *\nDisallow: /x\n{name}: {value}\n".encode()
            said = file_usage(parse(body, URI), "/")
            is_told = any(found.code in silent for found in lint(body, uri=URI))
            assert is_told or not said.remarks
            assert not is_told or said.remarks or not (said.statements or said.use)


class TestAnything:
    """Octets never raise; what a crawl finds lint finds too."""

    @given(strategies.files)
    def test_any_octets_can_be_linted(self, body: bytes) -> None:
        line_count = body.count(b"\n") + body.count(b"\r") + 1
        for finding in lint(body, URI):
            assert 0 <= finding.line <= line_count
            assert finding.column >= 0
            assert str(finding)

    @given(st.one_of(strategies.files, st.binary(max_size=200)))
    def test_lint_finds_all_findings_of_a_crawl(self, body: bytes) -> None:
        found = {(finding.code, finding.line) for finding in lint(body, URI)}
        for finding in findings(parse(body, URI)):
            finer = {finding.code, *FINER.get(finding.code, ())}
            assert any((code, finding.line) in found for code in finer), finding


def _numbered(text: str, octets: int) -> bytes:
    lines: list[bytes] = [b"User-agent: *\n"]
    size = 0
    while size < octets:
        lines.append((text % len(lines)).encode())
        size += len(lines[-1])
    return b"".join(lines)


_SHARED = "User-agent: bot%d\n"
_OWN = "User-agent: bot%d\nDisallow: /\n"
_NUMBERED = {
    "wildcards behind one prefix": ["Disallow: /*%d*a\n"],
    "wildcards of both kinds": ["Disallow: /*%d\nAllow: /a*b\n"],
    "plain rules": ["Disallow: /p%d\n"],
    "agents": [_SHARED],
    "groups": [_OWN],
    "one agent in every group": ["User-agent: a%d\nUser-agent: b\nDisallow: /x\n"],
    "many agents with many rules": [_SHARED, "Disallow: /%d\n"],
    "keys that are near": ["Disalow%d: /\n"],
    "sitemaps and rules": ["Sitemap: https://example.com/%d\n", "Disallow: /%d\n"],
    "agents that share and own": [_SHARED, "Disallow: /%d\n", _OWN],
    "index pages that agents share": [_SHARED, "Allow: /%d/index.html\n", _OWN],
    "signals that agents share": [_SHARED, "Content-Signal: use=full #%d\n", _OWN],
    "agents named twice": [_SHARED, "Disallow: /%d\n", _SHARED, "Disallow: /b%d\n"],
}
_LINES = {
    "blanks in paths": b"Disallow: /a" + b" " * 16_000 + b"b\n",
    "brackets": b"Disallow: /" + b"[(" * 8_000 + b"\n",
    "bars": b"Disallow: /(" + b"|" * 16_000 + b"\n",
    "stars": b"Disallow: /" + b"*a" * 8_000 + b"b\n",
    "commas in a preference": b"Content-Usage: a=n" + b",b" * 8_000 + b" c\n",
    "dots in an authority": b"Disallow: //" + b"." * 16_000 + b"\n",
    "blanks behind a damaged key": b"- Disallow: /\xe2\x80\x8b" + b" " * 16_000 + b"a\n",
    "comments in comments": b"<!-- " * 3_000 + b"\n",
}


def _hostile(octets: int) -> dict[str, bytes]:
    """Files that are built to be slow."""
    return {
        "short lines": b"a\n" * (octets // 2),
        "empty records": b"a:\n" * (octets // 3),
        "NULs": b"a\0\n" * (octets // 3),
        "nested rules": b"User-agent: *\n"
        + b"".join(b"Disallow: /" + b"a" * n + b"\n" for n in range(490)),
        "one long name": b"User-agent:" + b"a" * (LINE_LIMIT_OCTETS - 11) + b"\nDisallow: /\n",
        **{name: b"User-agent: *\n" + line * 8 for name, line in _LINES.items()},
        **{
            name: b"".join(_numbered(text, octets // len(texts)) for text in texts)
            for name, texts in _NUMBERED.items()
        },
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", _hostile(0))
@pytest.mark.parametrize("octets", [6_000, pytest.param(128_000, marks=pytest.mark.at_length)])
def test_hostile_files_take_bounded_time(name: str, octets: int) -> None:
    body = _hostile(octets)[name]
    began_at = time.process_time()
    assert max(Counter(one.code for one in lint(body, URI)).values()) <= FINDINGS_PER_CODE
    for mode in Mode:
        assert len(normalise(body, mode)) <= PARSE_LIMIT_OCTETS
    written = normalise(body)
    assert normalise(written) == written
    assert time.process_time() - began_at < max(20, octets / 1000)


@pytest.mark.parametrize("piece", [" ", "\t", "|", "-", "*", "<-", "a;"])
@pytest.mark.parametrize(
    "key", ["Disallow: /", "- Disallow: /\u200b", "Sitemap: ", "Sitemap: http://", "<!-- "]
)
def test_long_lines_are_linted_in_time(key: str, piece: str) -> None:
    """Blanks behind a damaged key took 5 s of the processor a line."""
    line = f"{key}{piece * (15_000 // len(piece))}x<\n"
    began_at = time.process_time()
    lint(("User-agent: *\n" + line).encode(), URI)
    assert time.process_time() - began_at < 2


def test_spent_budget_names_no_rule_of_an_unchecked_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the budget spent between two merged groups, what they share stays unnamed."""
    body = b"User-agent: a\nUser-agent: b\nDisallow: /x\nDisallow: /x/y\n\n"
    body += b"User-agent: b\nDisallow: /z\n"
    told = []
    for steps in range(90):
        monkeypatch.setattr(effect_checks, "BUDGET_STEPS", steps)
        codes = {finding.code for finding in lint(body, URI)}
        assert Code.EFFECT_NOT_CHECKED in codes or Code.RULE_REDUNDANT in codes
        told.append(Code.RULE_REDUNDANT in codes)
    assert told == sorted(told), "from some budget on, in every group"
    assert told[40] is False
    assert told[-1] is True


def test_omitted_findings_are_counted() -> None:
    body = b"User-agent: *\n" + b"Disallow: x\n" * (FINDINGS_PER_CODE + 5)
    found = lint(body, URI)
    assert sum(f.code is Code.RULE_MATCHES_NOTHING for f in found) == FINDINGS_PER_CODE
    more = [f for f in found if f.code is Code.TOO_MANY_FINDINGS]
    assert "REP401 rule-matches-nothing" in [f.detail for f in more]


def test_a_sitemap_of_another_host_is_blocked_only_if_the_file_is_of_that_host() -> None:
    body = b"User-agent: *\nDisallow: /*.xml$\nSitemap: https://cdn.example/s.xml\n"
    (found,) = [one for one in lint(body) if one.code is Code.SITEMAP_DISALLOWED]
    assert found.detail == "see line 2; this holds if the file is that of https://cdn.example"
    named = lint(body, uri="https://www.example/robots.txt")
    assert [one for one in named if one.code is Code.SITEMAP_DISALLOWED] == []
