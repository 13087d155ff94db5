"""Where findings are, what lint makes of any octets, and that it stays bounded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.findings import findings
from scrapy_rep.analysis.lint import effect_checks
from scrapy_rep.analysis.lint.crawler_names import KNOWN, nearly
from scrapy_rep.analysis.lint.linter import FINDINGS_PER_CODE, lint
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS
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


def _places(body: str, code: Code) -> list[tuple[int, int, bytes]]:
    found = [f for f in lint(body.encode(), URI) if f.code is code]
    return [(finding.line, finding.column, finding.octets) for finding in found]


class TestPlaces:
    """Line and column are an editor's."""

    @pytest.mark.parametrize(
        ("body", "code", "place"),
        [
            ("User-agent: *\n\tDisallow : a", Code.RULE_MATCHES_NOTHING, (2, 13, b"a")),
            ("User-agent: *\nDisallow: /é/a b", Code.SPACE_IN_PATH, (2, 15, b" ")),
            ("User-agent: *\r\n\r\nDisalow: /", Code.MISSPELT_KEY, (3, 1, b"Disalow")),
            ("User-agent: *\rDisallow: /%zz", Code.BAD_ESCAPE, (2, 12, b"%")),
            ("User-agent: *\nDisallow: /", Code.DISALLOW_ALL, (2, 11, b"/")),
            ("User-agent a\nDisallow: /", Code.MISSING_COLON, (1, 1, b"User-agent")),
            ("User-agent: *\nDisallow: /x#y", Code.FRAGMENT, (2, 13, b"#")),
            ("User-agent: *\nDisallow: /a%2Fb?%2F", Code.ESCAPED_SLASH, (2, 13, b"%2F")),
        ],
    )
    def test_place(self, body: str, code: Code, place: tuple[int, int, bytes]) -> None:
        assert _places(body, code) == [place]

    def test_misspelt_key_names_the_key_that_is_read(self) -> None:
        (found,) = (
            finding
            for finding in lint(b"User-agent: *\nDisalow: /x\n", URI)
            if finding.code is Code.MISSPELT_KEY
        )
        assert found.detail == "read as Disallow"

    def test_byte_order_mark_has_no_column(self) -> None:
        found = lint(b"\xef\xbb\xbfDisallow: /x\n", URI)
        place = [(f.line, f.column) for f in found if f.code is Code.RULE_BEFORE_GROUP]
        assert place == [(1, 1)]

    def test_findings_are_in_file_order(self) -> None:
        found = lint(b"User-agent: *\nDisallow: a b\nAlow: /\nDisallow: x\n", URI)
        keys = [(finding.line, finding.column) for finding in found]
        assert keys == sorted(keys)


class TestEffect:
    """Rules that could go, by what all rules of a merged group say."""

    def test_rule_is_redundant_only_if_each_of_its_groups_agrees(self) -> None:
        """``b`` has the wide rule too; ``a`` does not, and needs the narrow one."""
        body = "User-agent: a\nUser-agent: b\nDisallow: /x/y\n\nUser-agent: b\nDisallow: /x\n"
        assert _places(body, Code.RULE_REDUNDANT) == []
        alone = body.replace("User-agent: a\n", "")
        assert _places(alone, Code.RULE_REDUNDANT) == [(2, 11, b"/x/y")]

    def test_exception_between_two_rules_keeps_the_longer_one(self) -> None:
        body = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n"
        assert _places(body, Code.RULE_REDUNDANT) == []

    def test_allow_without_a_disallow_is_redundant(self) -> None:
        assert _places("User-agent: *\nAllow: /a\n", Code.RULE_REDUNDANT) == [(2, 8, b"/a")]

    def test_rule_for_an_index_page_is_not_shadowed(self) -> None:
        """Without the line, ``/a/`` would be disallowed."""
        body = "User-agent: *\nDisallow: /a/\nAllow: /a/index.html\nAllow: /a/index.html*\n"
        assert _places(body, Code.RULE_SHADOWED) == []

    def test_sitemap_of_another_host_is_not_blocked(self) -> None:
        body = "User-agent: *\nDisallow: /\nSitemap: https://cdn.example/sitemap.xml\n"
        assert _places(body, Code.SITEMAP_DISALLOWED) == []

    def test_blocked_sitemaps_share_one_finding(self) -> None:
        body = "User-agent: Googlebot\nDisallow: /s\nDisallow: /t\n"
        body += "Sitemap: /s1.xml\nSitemap: /s2.xml\nSitemap: /t.xml\n"
        assert _places(body, Code.BLOCKS_SITEMAP) == [(2, 11, b"/s")]
        assert ", and 1 more of these" in next(
            one.detail for one in lint(body.encode(), URI) if one.code is Code.BLOCKS_SITEMAP
        )
        for_all = body.replace("Googlebot", "*")
        assert _places(for_all, Code.SITEMAP_DISALLOWED) == [(4, 10, b"/s1.xml")]

    def test_sitemap_may_be_blocked_for_other_crawlers(self) -> None:
        body = "User-agent: GPTBot\nDisallow: /s\nSitemap: /s1.xml\n"
        assert _places(body, Code.BLOCKS_SITEMAP) == []

    @pytest.mark.parametrize(
        ("own", "lines"),
        [
            ("Allow: /", [2]),
            ("Allow: /\nDisallow: /d", []),
            ("Disallow:", []),  # Google documents that form for its ads crawler
        ],
    )
    def test_group_that_allows_all_ignores_the_rules_for_all(
        self, own: str, lines: list[int]
    ) -> None:
        rules = "Disallow: /a\nDisallow: /b\nDisallow: /c\n"
        body = f"User-agent: Googlebot\n{own}\n\nUser-agent: *\n{rules}"
        assert [place[0] for place in _places(body, Code.GROUP_IGNORES_STAR)] == lines
        for_images = body.replace("Googlebot", "Googlebot-Image")  # they are often let in
        assert _places(for_images, Code.GROUP_IGNORES_STAR) == []
        ban = f"User-agent: Googlebot\n{own}\n\nUser-agent: *\n{rules}Disallow: /\n"
        assert _places(ban, Code.GROUP_IGNORES_STAR) == []

    def test_style_sheets_matter_to_search_engines_only(self) -> None:
        rules = "Disallow: /*.css$\nDisallow: /*.js$\n"
        assert _places(f"User-agent: *\n{rules}", Code.BLOCKS_RESOURCES) == [(2, 11, b"/*.css$")]
        assert _places(f"User-agent: GPTBot\n{rules}", Code.BLOCKS_RESOURCES) == []

    def test_ban_of_a_group_is_intended(self) -> None:
        body = f"User-agent: bingbot\nDisallow: /\n\nSitemap: {URI}.xml\n"
        assert _places(body, Code.BLOCKS_SITEMAP) == []


class TestNames:
    """Crawlers that are meant."""

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("googelbot", "googlebot"),
            ("gogglebot", "googlebot"),
            ("googlebott", "googlebot"),
            ("gptbo", "gptbot"),
            ("examplebot", None),
            ("bingbott", "bingbot"),
            ("claude bot", "claudebot"),
            ("chatgpt_user", "chatgpt-user"),
            ("metaexternalagent", "meta-externalagent"),
            ("gptb\u043et", "gptbot"),  # a Cyrillic letter
            ("g00glebot", "googlebot"),
            ("wotbot", None),
            ("pingbot", None),
            ("roverbot", None),
            ("spbot", None),
        ],
    )
    def test_nearest_known_name(self, name: str, meant: str | None) -> None:
        assert nearly(name) == meant

    def test_known_names_have_no_nearest_name(self) -> None:
        """Some are one slip from each other, and both are real."""
        assert [name for name in KNOWN if nearly(name)] == []
        assert {"semrushbot-si", "semrushbot-sa", "xai-searchbot", "oai-searchbot"} <= KNOWN


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
            ("Content-Signal: search=yes, use=reference", []),
            ("Content-Signal: /private/ ai-input=perhaps", [Code.SIGNAL_SYNTAX]),
            ("Content-Signal: train-ai=n", [Code.SIGNAL_SYNTAX]),
            ("Content-Usage: /a train-ai=n, search=y", []),
            ("Content-Signal: search = YES , Ai-Train=No", []),
            ("Content-Signals: search: yes; ai-train: N", [Code.SIGNAL_SPELLING]),
            ("Content-Signal: ai-train=0", [Code.SIGNAL_SPELLING]),
            ("Content-Signal: ai-train=y", [Code.SIGNAL_SYNTAX]),
            ("Content-Signal: search=yes, ai-train", [Code.SIGNAL_SYNTAX]),
            ("Content-Signal:", [Code.SIGNAL_SYNTAX]),
            ("Content-Usage: Train-AI=n", [Code.USAGE_LETTER_CASE]),
            ("Content-Usage: /A Search=Y", [Code.USAGE_LETTER_CASE]),
            ("Content-Usage: train-ai=n, search=N", [Code.USAGE_LETTER_CASE]),
            ("Content-Usage: ai-train=n", [Code.USAGE_FOREIGN_WORDS]),
            ("Content-Usage: train-ai=no", [Code.USAGE_FOREIGN_WORDS]),
            ("Content-Usage: /no AI-Train=No, search=y", [Code.USAGE_FOREIGN_WORDS]),
            ("Content-Usage: ai-train", [Code.USAGE_SYNTAX]),
            ("Content-Usage: noai", [Code.USAGE_UNKNOWN_LABEL]),
            ("Content-Usage: bots=n", [Code.USAGE_UNKNOWN_LABEL]),
            ("Content-Usage: train-ai=n,", [Code.USAGE_SYNTAX]),
            ("Content-Usage: /a", [Code.USAGE_SYNTAX]),
            ("Content-Usage: train-ai=n\nContent-Usage: / train-ai=y", [Code.USAGE_CONFLICT]),
            ("Content-Usage: train-ai=n\nContent-Usage: search=y", []),
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
            ("Content-Signal: use=full", "Content-Signal: use=reference", [Code.SIGNAL_CONFLICT]),
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

    @pytest.mark.parametrize(
        ("name", "is_known"),
        [("__usage_ai-training", True), ("__Usage_AI-Training", True), ("__usage_ai", False)],
    )
    def test_policy_tokens(self, name: str, is_known: bool) -> None:
        body = f"User-agent: {name}\nDisallow: /\nUser-agent: *\nDisallow: /x\n".encode()
        found = [one.code for one in lint(body, uri=URI) if one.line == 1]
        assert found == ([] if is_known else [Code.POLICY_TOKEN_UNKNOWN])

    def test_policy_tokens_are_not_among_the_missing_crawlers(self) -> None:
        """A group for * does not stop crawlers that obey only their own; it is about crawlers."""
        found = lint(b"User-agent: *\nDisallow: /\n", uri=URI)
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
            said = parse(body, URI).usage("/")
            is_told = any(found.code in silent for found in lint(body, uri=URI))
            assert is_told or not said.remarks
            assert not is_told or said.remarks or not (said.statements or said.use)


class TestAnything:
    """Octets never raise; what a crawl finds lint finds too."""

    @given(strategies.files)
    def test_any_octets(self, body: bytes) -> None:
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


_N = 128_000  # a quarter of the parse limit, to keep the suite quick; nothing else changes


def _numbered(text: str, octets: int = _N) -> bytes:
    lines: list[bytes] = [b"User-agent: *\n"]
    size = 0
    while size < octets:
        lines.append((text % len(lines)).encode())
        size += len(lines[-1])
    return b"".join(lines)


HOSTILE = {
    "short lines": b"a\n" * (_N // 2),
    "empty records": b"a:\n" * (_N // 3),
    "wildcards behind one prefix": _numbered("Disallow: /*%d*a\n"),
    "wildcards of both kinds": _numbered("Disallow: /*%d\nAllow: /a*\n".replace("a*", "a*b")),
    "plain rules": _numbered("Disallow: /p%d\n"),
    "nested rules": b"User-agent: *\n"
    + b"".join(b"Disallow: /" + b"a" * n + b"\n" for n in range(490)),
    "agents": _numbered("User-agent: bot%d\n"),
    "groups": _numbered("User-agent: bot%d\nDisallow: /\n"),
    "one agent in every group": _numbered("User-agent: a%d\nUser-agent: b\nDisallow: /x\n"),
    "many agents with many rules": _numbered("User-agent: bot%d\n", _N // 2)
    + _numbered("Disallow: /%d\n", _N // 2),
    "blanks in paths": b"User-agent: *\n" + (b"Disallow: /a" + b" " * 16_000 + b"b\n") * 8,
    "brackets": b"User-agent: *\n" + (b"Disallow: /" + b"[(" * 8_000 + b"\n") * 8,
    "bars": b"User-agent: *\n" + (b"Disallow: /(" + b"|" * 16_000 + b"\n") * 8,
    "stars": b"User-agent: *\n" + (b"Disallow: /" + b"*a" * 8_000 + b"b\n") * 8,
    "keys that are near": _numbered("Disalow%d: /\n"),
    "sitemaps and rules": _numbered("Sitemap: https://example.com/%d\n", _N // 2)
    + _numbered("Disallow: /%d\n", _N // 2),
    "agents that share and own": _numbered("User-agent: bot%d\n", _N // 3)
    + _numbered("Disallow: /%d\n", _N // 3)
    + _numbered("User-agent: bot%d\nDisallow: /\n", _N // 3),
    "index pages that agents share": _numbered("User-agent: bot%d\n", _N // 3)
    + _numbered("Allow: /%d/index.html\n", _N // 3)
    + _numbered("User-agent: bot%d\nDisallow: /\n", _N // 3),
    "signals that agents share": _numbered("User-agent: bot%d\n", _N // 3)
    + b"Content-Signal: use=full\n" * (_N // 75)
    + _numbered("User-agent: bot%d\nDisallow: /\n", _N // 3),
    "NULs": b"a\0\n" * (_N // 3),
    "agents named twice": _numbered("User-agent: bot%d\n", _N // 2)
    + b"Disallow: /a\n"
    + _numbered("User-agent: bot%d\n", _N // 2)
    + b"Disallow: /b\n",
    "commas in a preference": b"User-agent: *\nContent-Usage: a=n" + b",b" * 8_000 + b" c\n",
    "dots in an authority": b"User-agent: *\n" + (b"Disallow: //" + b"." * 16_000 + b"\n") * 8,
    "blanks behind a damaged key": b"User-agent: *\n"
    + (b"- Disallow: /\xe2\x80\x8b" + b" " * 16_000 + b"a\n") * 8,
    "comments in comments": b"User-agent: *\n" + (b"<!-- " * 3_000 + b"\n") * 8,
    "one long name": b"User-agent:" + b"a" * (LINE_LIMIT_OCTETS - 11) + b"\nDisallow: /\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    """A file that is built to be slow is no slower than the others; the suite would notice."""
    found = lint(HOSTILE[name], URI)
    counts: dict[Code, int] = {}
    for finding in found:
        counts[finding.code] = counts.get(finding.code, 0) + 1
    assert max(counts.values()) <= FINDINGS_PER_CODE


@pytest.mark.parametrize("piece", [" ", "\t", "|", "-", "*", "<-", "a;"])
@pytest.mark.parametrize(
    "key", ["Disallow: /", "- Disallow: /\u200b", "Sitemap: ", "Sitemap: http://", "<!-- "]
)
def test_long_lines_of_one_piece(key: str, piece: str) -> None:
    """Lines of blanks behind a damaged key took 36 s of the processor."""
    line = f"{key}{piece * (15_000 // len(piece))}x<\n"
    began_at = time.process_time()
    lint(("User-agent: *\n" + line * 8).encode(), URI)
    assert time.process_time() - began_at < 4


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
