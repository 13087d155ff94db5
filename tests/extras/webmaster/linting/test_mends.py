"""The fixes of findings: their text, and the limits of what is safe. `test_promise` proves them."""

from __future__ import annotations

import pytest

from scrapy_rep.extras.webmaster.checks.codes import Code, Effect
from scrapy_rep.extras.webmaster.effect.differences import differences
from scrapy_rep.extras.webmaster.effect.other_readers import GOOGLE, PREFIXES, Reader
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.mending import edited
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, PARSE_LIMIT_OCTETS
from tests.extras.webmaster.linting.proving import prove
from tests.protocol.reading import URI

NEWS = "User-agent: Googlebot-News\nAllow: /\n\nUser-agent: *\nDisallow: /\n"


def _one(body: str | bytes, code: Code) -> Finding:
    octets = body.encode() if isinstance(body, str) else body
    (found,) = (finding for finding in lint(octets, URI) if finding.code is code)
    return found


def _followed(body: str, code: Code) -> str:
    finding = _one(body, code)
    assert finding.effect is Effect.KEEPS
    assert finding.proposal is not None
    return edited(body.encode(), finding.proposal.edits).decode()


@pytest.mark.parametrize(
    ("body", "code", "new"),
    [
        (NEWS, Code.RULE_REDUNDANT, NEWS.replace("Allow: /\n", "Disallow:\n", 1)),
        (
            "User-agent: a\nAllow:  # all\nUser-agent: *\nDisallow: /\n",
            Code.EMPTY_ALLOW,
            "User-agent: a\nDisallow: # all\nUser-agent: *\nDisallow: /\n",
        ),
        # Without a rule, the group would take in the user-agent line that is added below it.
        (
            "User-agent: a\nCrawl-delay: 5\n",
            Code.NO_STAR,
            "User-agent: a\nCrawl-delay: 5\nDisallow:\n\nUser-agent: *\nDisallow:\n",
        ),
        (
            "User-agent: a\nDisallow: /x\n",
            Code.NO_STAR,
            "User-agent: a\nDisallow: /x\n\nUser-agent: *\nDisallow:\n",
        ),
        (
            "User-agent: a\nContent-Signal: search=no\nUser-agent: b\nDisallow: /x\n",
            Code.RECORD_SPLITS_GROUP,
            "User-agent: a\nUser-agent: b\nContent-Signal: search=no\nDisallow: /x\n",
        ),
        (
            "User-agent: *\nDisallow: /a\nDisallow: /a # twice\n",
            Code.DUPLICATE_RULE,
            "User-agent: *\nDisallow: /a\n# twice\n",
        ),
        ("User-agent: GPTBot", Code.GROUP_WITHOUT_RULES, "User-agent: GPTBot\nDisallow:\n"),
    ],
)
def test_safe_fix_writes(body: str, code: Code, new: str) -> None:
    assert _followed(body, code) == new
    prove(body.encode(), new.encode(), URI)


@pytest.mark.parametrize(
    ("line", "code", "new", "who"),
    [
        ("Disallow: /price$list", Code.DOLLAR_NOT_LAST, "Disallow: /price%24list", GOOGLE),
        ("Disallow: /a b", Code.SPACE_IN_PATH, "Disallow: /a%20b", GOOGLE),
        ("Disallow: /%41", Code.NEEDLESS_ESCAPE, "Disallow: /A", GOOGLE),
        ("Disallow: /a**b", Code.REPEATED_STAR, "Disallow: /a*b", PREFIXES),
        ("Disallow: /a/*", Code.TRAILING_STAR, "Disallow: /a/", PREFIXES),
        ("Allow: /a/*", Code.TRAILING_STAR, "Allow: /a/", GOOGLE),
        # The blank would end the line, and the dollar would be the end of the path.
        ("Disallow: /x/ *", Code.TRAILING_STAR, "Disallow: /x/%20", GOOGLE),
        ("Disallow: /x$*", Code.TRAILING_STAR, "Disallow: /x%24", GOOGLE),
    ],
)
def test_fix_that_changes_a_rule_for_other_readers_is_unsafe(
    line: str, code: Code, new: str, who: Reader
) -> None:
    """It is not safe, and names the crawlers to which the rule would mean something else."""
    body = f"User-agent: *\n{line}\n".encode()
    finding = _one(body, code)
    assert finding.is_unsafe
    assert finding.proposal is not None
    assert edited(body, finding.proposal.edits) == f"User-agent: *\n{new}\n".encode()
    assert finding.mend.endswith(f"that changes the rule for crawlers that {who.words}")


@pytest.mark.parametrize(
    "rules", ["/x%3D\nDisallow: /x=", "/feed/\nDisallow: */feed/", "/a$b\nDisallow: /a%24b"]
)
def test_rules_that_some_reader_needs_have_no_finding(rules: str) -> None:
    """They are not even reported: each of them is there on purpose."""
    body = f"User-agent: *\nDisallow: {rules}\n".encode()
    of_needless = {Code.DUPLICATE_RULE, Code.RULE_SHADOWED, Code.RULE_REDUNDANT}
    assert of_needless.isdisjoint(one.code for one in lint(body, URI))
    assert fixed(body, URI)[0] == body


class TestLastRule:
    """Without any rule a group would become one with the next."""

    def test_one_of_two_removable_rules_stays(self) -> None:
        body = NEWS.replace("Allow: /\n", "Disallow:\nAllow: /\n", 1)
        codes = {finding.code for finding in lint(body.encode(), URI)}
        assert Code.RULE_REDUNDANT in codes
        assert Code.EMPTY_BESIDE_RULES not in codes
        assert _followed(body, Code.RULE_REDUNDANT) == body.replace("Allow: /\n", "", 1)

    def test_last_removable_rule_becomes_an_empty_one(self) -> None:
        body = "User-agent: a\nAllow: /x\nAllow: /x\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
        new, _ = fixed(body.encode(), URI)
        prove(body.encode(), new, URI)
        assert b"User-agent: a\nDisallow:\n" in new

    def test_rule_for_robots_txt_has_no_safe_fix(self) -> None:
        """``/robots.txt.bak`` is disallowed while the line is there."""
        body = "User-agent: a\nDisallow: /robots.txt\n"
        assert _one(body, Code.BLOCKS_ROBOTS).effect is Effect.CHANGES

    @pytest.mark.parametrize("pattern", ["/robots.txt", "/robots.txt$"])
    @pytest.mark.parametrize("after", ["", "User-agent: a\nDisallow: /\n"])
    def test_rule_for_robots_txt_before_the_first_group_stays(
        self, pattern: str, after: str
    ) -> None:
        """That is an error: it may be meant for the group below."""
        body = f"Disallow: {pattern}\n{after}".encode()
        assert not _one(body, Code.BLOCKS_ROBOTS).is_safe
        assert fixed(body, URI)[0] == body


class TestLimits:
    """A line or a file that is longer is cut, so that it says something else."""

    @pytest.mark.parametrize(
        ("start", "end", "beyond"),
        [
            (b"Disallow /", b"a", b""),
            (b"Disallow: /", b"%a", b""),
            (b"Disallow: /", b"\xe4", b""),
            (b"Disallow: /", b"*", b"bb"),
            (b"Disallow: /", b"****", b"b*c"),
        ],
    )
    def test_fixes_of_a_long_line_keep_its_meaning(
        self, start: bytes, end: bytes, beyond: bytes
    ) -> None:
        filling = b"a" * (LINE_LIMIT_OCTETS - len(start) - len(end))
        body = b"User-agent: *\n" + start + filling + end + beyond + b"\n"
        self.assert_keeps(body, fixed(body)[0])
        for mode in Mode:
            self.assert_keeps(body, normalise(body, mode))

    def test_long_comment_stays(self) -> None:
        comment = b"#" + b"why " * LINE_LIMIT_OCTETS
        body = b"User-agent: *\nDisallow /y " + comment + b"\nDisallow: /z\n"
        assert Code.LINE_TOO_LONG not in {finding.code for finding in lint(body)}
        new, _ = fixed(body)
        self.assert_keeps(body, new)
        assert comment in new
        assert b"Disallow /y" not in new

    @pytest.mark.parametrize("end", [b"", b"#" * PARSE_LIMIT_OCTETS])
    def test_file_near_or_beyond_the_limit_has_no_safe_fix(self, end: bytes) -> None:
        body = b"User-agent: *\nDisallow: /a\nDisallow: /a\nDisallow /b\n"
        assert fixed(body)[0] != body
        body += b"#" * (PARSE_LIMIT_OCTETS * 95 // 100) + end
        found = lint(body, URI)
        assert not any(finding.is_safe for finding in found)
        assert any("parse limit" in finding.mend for finding in found)
        assert fixed(body, URI)[0] == body

    def test_large_file_in_utf_16_stays(self) -> None:
        text = "User-agent: *\n#" + "\u4e00" * (PARSE_LIMIT_OCTETS // 3) + "\nDisallow: /z\n"
        body = text.encode("utf-16")
        assert len(body) < PARSE_LIMIT_OCTETS < len(text.encode())
        assert fixed(body)[0] == body
        for mode in Mode:
            assert normalise(body, mode) == body

    def test_safe_fixes_write_no_file_in_utf_16(self) -> None:
        """In UTF-8, search engines would obey rules that they can't read now."""
        body = "User-agent: *\n\nDisallow: /a\nDisallow: /a\nSitemap: /s.xml\n".encode("utf-16")
        assert not any(finding.is_safe for finding in lint(body, URI))
        assert fixed(body, URI) == (body, [])
        new, done = fixed(body, URI, is_unsafe=True)
        assert new == b"User-agent: *\nDisallow: /a\nSitemap: https://example.com/s.xml\n"
        assert len(done) == 4

    @staticmethod
    def assert_keeps(body: bytes, new: bytes) -> None:
        assert next(differences(parse(body), parse(new)), None) is None


class TestRecordsOfOneName:
    """The first of a group's delays counts, so none may move past another."""

    def test_no_record_moves_past_another(self) -> None:
        body = (
            b"User-agent: a\nContent-Signal: search=no\nUser-agent: b\nContent-Signal: use=full\n"
            b"User-agent: c\nContent-Signal: ai-train=no\nDisallow: /x\n"
        )
        found = [one for one in lint(body, URI) if one.code is Code.RECORD_SPLITS_GROUP]
        assert [one.line for one in found] == [2, 4]
        assert {one.effect for one in found} == {Effect.CHANGES}
        assert all(one.mend.startswith("write an empty 'Disallow:' above the") for one in found)
        prove(body, fixed(body, URI)[0], URI)

    @pytest.mark.parametrize("record", ["Content-Signal: search=no", "Foo: 1", "Sitemap:"])
    @pytest.mark.parametrize("delay", ["Crawl-delay: 60", "Request-rate: 1/5"])
    def test_record_that_limits_a_delay_stays(self, record: str, delay: str) -> None:
        """A delay belongs to the user-agent lines directly above it, which would be more then."""
        for first, second in ((record, delay), (delay, record)):
            body = f"User-agent: a\n{first}\nUser-agent: b\n{second}\nDisallow: /x\n".encode()
            new = parse(fixed(body, URI)[0])
            for token in ("a", "b"):
                assert new.site_pace(token) == parse(body).site_pace(token)


class TestEdits:
    def test_line_ends_stay(self) -> None:
        body = "User-agent: *\r\nDisallow: /a\r\nDisallow: /a\r\nAllow: /a/b c"
        new, done = fixed(body.encode(), URI)
        assert new == b"User-agent: *\r\nAllow: /a/b c\r\nDisallow: /a\r\n"
        assert {one.code for one in done} == {Code.DUPLICATE_RULE, Code.ORDER_MATTERS}


class TestRulesBeforeGroups:
    def test_rules_before_groups_get_a_group_for_all(self) -> None:
        body = b"Disallow: /a\nDisallow: /b\n\nUser-agent: x\nDisallow: /c\n"
        assert fixed(body, is_unsafe=True)[0] == b"User-agent: *\n" + body

    def test_rules_below_a_damaged_user_agent_line_stay(self) -> None:
        body = b"er-agent: x\nDisallow: /a\n"
        codes = {*Code} - {Code.NO_STAR}
        assert fixed(body, codes=codes, is_unsafe=True)[0] == b"User-agent: x\nDisallow: /a\n"


@pytest.mark.parametrize("line", ["/tmp/", "- /tmp/", ": /tmp/", "* /tmp/*.html"])
def test_path_without_a_key_stays(line: str) -> None:
    body = f"User-agent: *\nDisallow: /x\n{line}\n".encode()
    assert fixed(body, is_unsafe=True)[0] == body


def test_sitemaps_are_fixed_despite_damaged_lines() -> None:
    body = b"User-agent: *\nDisallow: x\nSitemap: /a.xml # c\nSitemap: <https://e.com/b.xml>\n"
    assert fixed(body, URI)[0] == (
        b"User-agent: *\nDisallow: x\nSitemap: https://example.com/a.xml # c\n"
        b"Sitemap: https://e.com/b.xml\n"
    )


def test_sitemaps_of_one_line_become_lines() -> None:
    body = b"User-agent: *\nDisallow: /x\nSitemap: https://e.com/a.xml, https://e.com/b.xml # c\n"
    lines = b"Sitemap: https://e.com/a.xml # c\nSitemap: https://e.com/b.xml\n"
    assert fixed(body)[0] == b"User-agent: *\nDisallow: /x\n" + lines
