"""What search engines lose by a file: scripts, rules that they escape, the whole site."""

from __future__ import annotations

import urllib.robotparser
from pathlib import Path

import pytest

from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from tests.commands.calling import rep
from tests.protocol.reading import URI

STAR = "User-agent: *\n"
THREE = "Disallow: /a\nDisallow: /b\nDisallow: /c\n"
DRUPAL = "Disallow: /profiles/\nDisallow: /user/login\n"


def _found(body: str, *codes: Code) -> list[Finding]:
    return [one for one in lint(body.encode(), URI) if one.code in codes]


class TestBlockedResources:
    @pytest.mark.parametrize(
        ("rules", "line"),
        [
            ("Disallow: /*.css$\nDisallow: /*.js$\n", 2),
            ("Disallow: /_next/\n", 2),
            ("Disallow: /*_next*\n", 2),
            ("Disallow: /_nuxt\n", 2),
            ("Disallow: /wp-login\nDisallow: */wp-includes/\n", 3),
            ("Disallow: /blog/*/wp-content/\n", 2),
            ("Disallow: /wp-content/plugins/\n", 2),
            ("Disallow: /wp-admin/\nDisallow: /*?\n", 3),
            ("Disallow: /static/*\n", 2),
            ("Disallow: /shop/assets/\n", 2),
            ("Disallow: /build\n", 2),
            ("Disallow: /assets/js/*\n", 2),
            ("Disallow: /*.js?\n", 2),
            (f"{DRUPAL}Disallow: /misc/\n", 4),
            (f"{DRUPAL}Disallow: /core/\n", 4),
            (f"{DRUPAL}Disallow: /sites/\n", 4),
            ("Disallow: /administrator/\nDisallow: /media/\n", 3),
            ("Disallow: /catalogsearch/\nDisallow: /media/\n", 3),
            ("Disallow: /skin/\n", 2),
            ("Disallow: /wp-content/\nAllow: /wp-content/uploads/\n", 2),
            ("Disallow: /*?controller=\nDisallow: /themes/\n", 3),
            ("Disallow: /typo3temp/\n", 2),
            ("Disallow: /x/home.css?v=*\nDisallow: /x/more.css?v=*\n", 2),
            ("Disallow: /wp-includes/\nDisallow: /wp-admin/\nDisallow: /js/\n", 4),
            # A part that is open, but not the one of scripts.
            ("Disallow: /wp-includes/\nAllow: /*.css\nAllow: /wp-includes/*.css\n", 2),
            # The rule with $ does not match a version.
            ("Disallow: /wp-includes/\nAllow: /wp-includes/*.js$\n", None),
        ],
    )
    def test_rule_is_named_with_a_url(self, rules: str, line: int | None) -> None:
        found = _found(STAR + rules, Code.BLOCKS_RESOURCES)
        if line is None:
            # The author let scripts through; what is left is another question.
            assert all("css" in one.detail for one in found)
        else:
            (one,) = found
            assert (one.line, one.severity.value, one.code.group) == (line, "warning", "search")
            assert one.detail.startswith("such as /")

    @pytest.mark.parametrize(
        "rules",
        [
            # By the longest match, these are open.
            "Disallow: /static/\nAllow: /static/*.js\nAllow: /static/*.css\n",
            "Disallow: /assets/\nAllow: /assets/js/\nAllow: /assets/css/\n",
            "Disallow: /wp-content/\nAllow: /wp-content/themes/\nAllow: /wp-content/plugins/\n",
            "Disallow: /wp-content/themes/\nAllow: /wp-content/themes/mine/\n",
            "Disallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n",
            "Disallow: /wp-admin/\nDisallow: /*?\nAllow: /*.js\nAllow: /*.css\n",
            f"{DRUPAL}Allow: /core/*.css$\nAllow: /core/*.js$\nDisallow: /core/\n",
            # Pages, not files.
            "Disallow: /static-content/\n",
            "Disallow: /static/embed/\n",
            "Disallow: /media/\n",
            "Disallow: /modules/\n",
            "Disallow: /themes\n",
            "Disallow: /json/\n",
            "Disallow: /*?\n",
            "Disallow: /buy/bundles\n",
            # Scripts for the pages of others.
            "Disallow: /maps/api/js/\n",
            "Disallow: /sdk/js\n",
            # These say more than that.
            "Disallow: /\n",
            "Disallow: /static/\nDisallow: /*\n",
            # All its files are on another host.
            "Disallow: /commerce/digital-download/\nDisallow: /static/\n",
            # Pages are by another system, or requests for files of this one are attacks.
            "Disallow: /wp-includes/\nDisallow: /_next/\nAllow: /_next/static/\n",
            f"{DRUPAL}Disallow: /misc/\nDisallow: /_next/data/\n",
            "Disallow: */wp-includes/\nDisallow: /feed/\n",
        ],
    )
    def test_open_files_and_other_paths_are_no_finding(self, rules: str) -> None:
        assert _found(STAR + rules, Code.BLOCKS_RESOURCES) == []

    @pytest.mark.parametrize("agent", ["GPTBot", "Googlebot-Image", "AhrefsBot"])
    def test_groups_of_others_do_not_matter(self, agent: str) -> None:
        rules = "Disallow: /*.css$\nDisallow: /static/\n"
        assert _found(f"User-agent: {agent}\n{rules}", Code.BLOCKS_RESOURCES) == []
        assert _found(f"User-agent: Googlebot\n{rules}", Code.BLOCKS_RESOURCES)

    @pytest.mark.parametrize(
        ("groups", "who"),
        [
            ("", ""),
            ("User-agent: Googlebot\nDisallow: /a\n\n", "; Bingbot"),
            ("User-agent: msnbot\nDisallow: /a\n\n", "; Googlebot"),
            ("User-agent: Googlebot\nUser-agent: bingbot\nDisallow: /a\n\n", None),
        ],
    )
    def test_engines_with_another_group_are_exempt(self, groups: str, who: str | None) -> None:
        found = _found(f"{groups}{STAR}Disallow: /js/\n", Code.BLOCKS_RESOURCES)
        assert [one.detail for one in found] == (
            [] if who is None else [f"such as /js/main.js{who}"]
        )

    @pytest.mark.parametrize(
        ("rules", "system"),
        [
            ("Disallow: /wp-includes/\n", "WordPress"),
            ("Disallow: /blog/wp-content/css/\n", "WordPress"),
            (f"{DRUPAL}Disallow: /misc/\nDisallow: /themes/\n", "Drupal"),
            ("Disallow: /administrator/\nDisallow: /media/\n", "Joomla"),
            ("Disallow: /skin/\n", "Magento"),
            ("Disallow: /typo3conf/\n", "TYPO3"),
            ("Disallow: /assets/\n", ""),
            # The rule that is certain comes first.
            (f"{DRUPAL}Disallow: /misc/\nDisallow: /assets/\n", ""),
        ],
    )
    def test_advice_for_a_system_that_may_be_gone(self, rules: str, system: str) -> None:
        (one,) = _found(STAR + rules, Code.BLOCKS_RESOURCES)
        gone = f"leave the line if the site no longer uses {system}"
        assert one.mend.endswith(gone) if system else "no longer" not in one.mend


class TestVainAllow:
    BODY = f"{STAR}Allow: *.js\nDisallow: /wp-content/plugins/\n"

    def test_both_lines_and_the_rule_that_would_win(self) -> None:
        (one,) = _found(self.BODY, Code.ALLOW_OUTRANKED)
        assert (one.line, one.other_line, one.octets) == (2, 3, b"*.js")
        assert one.detail == "line 3: /wp-content/plugins/"
        assert one.mend.startswith("write Allow: /wp-content/plugins/*.js too")
        mended = f"{self.BODY}Allow: /wp-content/plugins/*.js\n"
        assert _found(mended, Code.ALLOW_OUTRANKED) == []

    def test_allow_within_a_folder_loses_below_it(self) -> None:
        body = f"{STAR}Allow: /shop/*.js\nDisallow: /shop/controls/*\nDisallow: /plugins/\n"
        (one,) = _found(body, Code.ALLOW_OUTRANKED)
        assert one.detail == "line 3: /shop/controls/*"
        assert one.mend.startswith("write Allow: /shop/controls/*.js too")
        assert not _found(f"{body}Allow: /shop/controls/*.js\n", Code.ALLOW_OUTRANKED)

    def test_nothing_says_that_the_rule_should_go(self) -> None:
        wrong = (Code.RULE_REDUNDANT, Code.RULE_SHADOWED)
        assert _found(self.BODY, *wrong) == []
        done = rep("lint", "-", "--group", "all", "--all", stdin=self.BODY.encode())
        assert "remove the rule" not in done.out

    @pytest.mark.parametrize(
        "rules",
        [
            "Allow: /*.js\nDisallow: /x\n",  # the longer one wins
            "Allow: /*.js\nDisallow: /a-page.html\n",  # there are no scripts
            "Allow: /plugins/*.js\nDisallow: /plugins/\n",
            "Allow: /search\nDisallow: /search/results/\n",  # an exception of an exception
            "Allow: /*.js\nDisallow: /plugins/\nAllow: /plugins/*.js\n",
            "Allow: *.css\nDisallow: /admin/*\nDisallow: /search/\nDisallow: /member/\n",
        ],
    )
    def test_allow_that_works_is_no_finding(self, rules: str) -> None:
        assert _found(STAR + rules, Code.ALLOW_OUTRANKED) == []


class TestEscapes:
    @pytest.mark.parametrize(
        ("group", "names"),
        [
            ("User-agent: Googlebot\nAllow: /\n", "Googlebot"),
            ("User-agent: Googlebot\nDisallow:\n", "Googlebot"),
            ("User-agent: Googlebot\nUser-agent: bingbot\nDisallow: /d\n", "Googlebot, bingbot"),
        ],
    )
    def test_one_warning_names_what_is_escaped(self, group: str, names: str) -> None:
        (one,) = _found(f"{group}\n{STAR}{THREE}", Code.GROUP_IGNORES_STAR)
        assert (one.line, one.severity.value) == (1, "warning")
        assert one.detail == f"3 rules, such as /a, /b, /c; {names}"

    @pytest.mark.parametrize(
        ("group", "rules", "named"),
        [
            ("Allow: /", "Disallow: /search\nDisallow: /archive/\n", "2 rules, such as /archive/"),
            (
                "Disallow: /sponsor",
                "Disallow: /ajax/\nDisallow: /press-releases/\nDisallow: /2024/05/17/a-name\n",
                "3 rules, such as /press-releases/, /2024/05/17/a-name",
            ),
        ],
    )
    def test_group_for_google_news_names_the_rules_for_articles(
        self, group: str, rules: str, named: str
    ) -> None:
        body = f"User-agent: Googlebot-News\n{group}\n\n{STAR}{rules}"
        (one,) = _found(body, Code.GROUP_IGNORES_STAR)
        assert one.line == 1
        assert one.detail == (
            f"{named}; Googlebot-News, which is no crawler: this group decides alone what Google "
            "News shows, and Googlebot fetches the pages"
        )
        assert one.mend == (
            "repeat such rules in this group if Google News should not show these pages; otherwise "
            "leave it"
        )

    @pytest.mark.parametrize(
        "body",
        [
            # These paths are no articles.
            f"Allow: /\n\n{STAR}Disallow: /search\nDisallow: /api/\nDisallow: /*?utm_source=\n",
            f"Allow: /\n\n{STAR}Disallow: /mon-compte/\nDisallow: /newsletter/display/\n",
            # The group says by itself what Google News should not show.
            f"Disallow: /sponsor\n\n{STAR}Disallow: /beta/\nDisallow: /partners/\n",
            # The rules for * are not for Google.
            f"Allow: /\n\nUser-agent: Googlebot\nDisallow: /a\n\n{STAR}{THREE}",
        ],
    )
    def test_group_for_google_news_that_opens_no_articles(self, body: str) -> None:
        assert _found(f"User-agent: Googlebot-News\n{body}", Code.GROUP_IGNORES_STAR) == []

    def test_other_engines_are_told_beside_google_news(self) -> None:
        body = f"User-agent: Googlebot-News\nUser-agent: Applebot\nAllow: /\n\n{STAR}{THREE}"
        first, second = _found(body, Code.GROUP_IGNORES_STAR)
        assert (first.line, first.detail.partition(",")[0]) == (1, "3 rules")
        assert (second.line, second.detail) == (2, "3 rules, such as /a, /b, /c; Applebot")

    def test_googlebot_that_escapes_too_is_only_named(self) -> None:
        groups = "User-agent: Googlebot\nUser-agent: Googlebot-News\nAllow: /\n"
        (one,) = _found(f"{groups}\n{STAR}{THREE}", Code.GROUP_IGNORES_STAR)
        assert one.detail.endswith("/c; Googlebot, Googlebot-News")

    def test_group_of_an_older_name_is_no_reason(self) -> None:
        """Like the one of a press agency, with a group for each of 50 names."""
        names = ("bingbot", "Googlebot", "msnbot")
        groups = "".join(f"User-agent: {name}\nCrawl-delay: 10\n\n" for name in names)
        (one,) = _found(f"{STAR}{THREE}\n{groups}", Code.GROUP_IGNORES_STAR)
        assert one.detail.endswith("; bingbot, Googlebot, msnbot")

    def test_big_engines_come_first(self) -> None:
        names = ("Yandex", "Slurp", "Seznambot", "Applebot", "Yeti", "Bingbot", "Googlebot")
        agents = "".join(f"User-agent: {name}\n" for name in names)
        (one,) = _found(f"{agents}Disallow: /d\n\n{STAR}{THREE}", Code.GROUP_IGNORES_STAR)
        assert one.line == 6
        assert one.detail.partition("; ")[2].startswith("Bingbot, Googlebot, Yandex")

    @pytest.mark.parametrize(
        "body",
        [
            f"User-agent: Googlebot\nDisallow: /a\n\n{STAR}{THREE}",
            f"User-agent: Googlebot\nDisallow: /\n\n{STAR}{THREE}",
            # It repeats them by effect, not by words.
            f"User-agent: Googlebot\nDisallow: /*a\n\n{STAR}{THREE}",
            # To let one in is the intention.
            f"User-agent: Googlebot\nAllow: /\n\n{STAR}{THREE}Disallow: /\n",
            f"User-agent: Googlebot-Image\nAllow: /\n\n{STAR}{THREE}",
            f"User-agent: Googlebot-News\nDisallow: /\n\n{STAR}{THREE}",
            f"User-agent: Googlebot-News\nDisallow: /b/\nDisallow: /b\n\n{STAR}{THREE}",
            f"User-agent: AdsBot-Google\nAllow: /\n\n{STAR}{THREE}",
            f"User-agent: Googlebot\nAllow: /\n\n{STAR}Disallow: /a\n",
        ],
    )
    def test_groups_that_repeat_a_rule_or_are_meant(self, body: str) -> None:
        assert _found(body, Code.GROUP_IGNORES_STAR) == []


class TestSeverity:
    def test_what_shuts_a_site_out_is_a_warning(self) -> None:
        body = f"{STAR}Disallow: /\n".encode()
        assert rep("lint", "-", stdin=body).status == 0
        done = rep("lint", "-", "--strict", "--json", stdin=body)
        assert (done.status, [row["severity"] for row in done.rows]) == (1, ["warning"])

    def test_what_opens_a_closed_one_is_an_error(self) -> None:
        body = f"{STAR}Disallow: /private/\n".encode("utf-16")
        done = rep("lint", "-", "--json", stdin=body)
        assert (done.status, [row["code"] for row in done.rows]) == (1, ["REP102"])


class TestBlankLines:
    @pytest.mark.parametrize(
        ("body", "line", "lost"),
        [
            (f"{STAR}\nDisallow: /a\n", 2, "1 rule, from line 3 on"),
            (f"{STAR}Disallow: /a\n\nDisallow: /b\n", 3, "1 rule, from line 4 on"),
            (
                f"{STAR}Disallow: /a\n# b\n\n# c\nAllow: /b\n\nDisallow: /c\n",
                4,
                "2 rules, from line 6 on",
            ),
        ],
    )
    def test_rules_that_urllib_loses(self, body: str, line: int, lost: str) -> None:
        (one,) = _found(body, Code.BLANK_LINE_INSIDE)
        assert (one.line, one.detail) == (line, lost)
        read = urllib.robotparser.RobotFileParser()
        read.parse(fixed(body.encode())[0].decode().splitlines())
        before = urllib.robotparser.RobotFileParser()
        before.parse(body.splitlines())
        assert not read.can_fetch("x", "/c" if "/c" in body else "/b" if "/b" in body else "/a")
        assert before.can_fetch("x", "/c" if "/c" in body else "/b" if "/b" in body else "/a")

    @pytest.mark.parametrize(
        "body",
        [
            f"{STAR}Disallow: /a\n\nSitemap: https://{URI.split('/')[2]}/s.xml\n",
            f"{STAR}Disallow: /a\n\n\nUser-agent: b\nDisallow: /b\n",
            f"\n{STAR}#\n#\nDisallow: /a\n\n",
            f"{STAR}\n{STAR}Disallow: /a\n",
            f"{STAR}Disallow: /a\n \nDisallow: /b\n",  # urllib does not take it as blank
        ],
    )
    def test_other_blank_lines_lose_nothing(self, body: str) -> None:
        assert _found(body, Code.BLANK_LINE_INSIDE) == []

    def test_one_fix_brings_all_rules_back(self, tmp_path: Path) -> None:
        path = tmp_path / "robots.txt"
        path.write_text(STAR + "".join(f"Disallow: /{number}\n\n" for number in range(100)))
        assert rep("lint", path, "--fix").status == 0
        assert _found(path.read_text(), Code.BLANK_LINE_INSIDE) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Googlebot-Extended", "Google-Extended"),
        ("BingBot-AI", "bingbot"),
        ("GPTBot-Search", "GPTBot"),
        ("ClaudeBot-User", "Claude-User"),
    ],
)
def test_names_that_go_on_behind_a_known_one(name: str, meant: str) -> None:
    (one,) = _found(f"User-agent: {name}\nDisallow: /x\n", Code.USER_AGENT_NEAR)
    assert one.detail == f"perhaps {meant}"


@pytest.mark.parametrize("name", ["Googlebot-News", "Applebot-Extended", "SemrushBot-CT"])
def test_names_with_a_hyphen_that_exist(name: str) -> None:
    assert _found(f"User-agent: {name}\nDisallow: /x\n", Code.USER_AGENT_NEAR) == []


class TestSilence:
    """What an author meant has no finding."""

    @pytest.mark.parametrize(
        ("body", "code", "is_found"),
        [
            (f"{STAR}Disallow: /\nAllow: /wp-admin/admin-ajax.php\n", Code.DISALLOW_ALL, True),
            (f"{STAR}Disallow: /\nAllow: /ads.txt$\n", Code.DISALLOW_ALL, True),
            (f"{STAR}Disallow: /\nAllow: /$\n", Code.DISALLOW_ALL, False),
            (f"{STAR}Disallow: /\nAllow: /public/\n", Code.DISALLOW_ALL, False),
            (f"{STAR}\nSitemap: {URI}\n", Code.GROUP_WITHOUT_RULES, False),
            (f"User-agent: a\nDisallow: /x\n\n{STAR}", Code.GROUP_WITHOUT_RULES, True),
            (f"{STAR}Disallow: /a\nDisallow: /a/b\nAllow: /a/b*\n", Code.RULE_SHADOWED, True),
            (f"{STAR}Disallow: /x\nDisallow: /x*\n", Code.RULE_SHADOWED, False),
            (f"{STAR}Crawl-delay: 60\n", Code.CRAWL_DELAY_HUGE, True),
            ("User-agent: x\nUser-agent: msnbot\nCrawl-delay: 60\n", Code.CRAWL_DELAY_HUGE, True),
            # These are no search engine, or ignore it.
            ("User-agent: facebookexternalhit\nCrawl-delay: 60\n", Code.CRAWL_DELAY_HUGE, False),
            ("User-agent: Googlebot\nCrawl-delay: 60\n", Code.CRAWL_DELAY_HUGE, False),
            (f"# See our policy.\n\n{STAR}Disallow: /\n", Code.DISALLOW_ALL, False),
            (f"# Crawling is PROHIBITED.\n{STAR}Disallow: /\n", Code.DISALLOW_ALL, False),
            (f"# No robots\n{STAR}Disallow: /\n# A policy\n", Code.DISALLOW_ALL, True),
        ],
    )
    def test_rules_without_harm_are_not_reported(
        self, body: str, code: Code, *, is_found: bool
    ) -> None:
        assert bool(_found(body, code)) is is_found


class TestMisplacedRules:
    """Rules that only one crawler gets, although they seem to be for all."""

    @pytest.mark.parametrize("gap", ["\n", "# Lists\n", "Crawl-delay: 1\n\n# Lists\n"])
    def test_rules_after_an_open_group_are_named(self, gap: str) -> None:
        body = f"{STAR}Allow: /a\n\nUser-agent: Twitterbot\nDisallow:\n{gap}{THREE}"
        (one,) = _found(body, Code.EMPTY_BESIDE_RULES, Code.BLANK_LINE_INSIDE)
        assert one.code is Code.EMPTY_BESIDE_RULES
        assert "3 rules" in one.detail
        assert "are in the group for Twitterbot only" in one.detail
        assert one.mend.startswith("if the rules from line ")
        assert (one.is_safe, one.is_unsafe) == (False, False)

    def test_each_gap_leads_to_one_finding(self) -> None:
        body = f"User-agent: Twitterbot\n\nDisallow:\n\n{THREE}"
        (one,) = _found(body, Code.EMPTY_BESIDE_RULES, Code.BLANK_LINE_INSIDE)
        assert (one.code, one.line) == (Code.EMPTY_BESIDE_RULES, 3)

    def test_finding_about_a_blank_line_says_it_too(self) -> None:
        for own in ("Allow: /", "Disallow: /own/", "Crawl-delay: 0"):
            body = f"{STAR}Allow: /a\n\nUser-agent: AmazonAdBot\n{own}\n\n{THREE}"
            (one,) = _found(body, Code.BLANK_LINE_INSIDE)
            assert (one.line, one.is_safe) == (6, False)
            assert "are in the group for AmazonAdBot only" in one.detail

    @pytest.mark.parametrize(
        "body",
        [
            f"{STAR}Disallow:\n\n{THREE}",
            f"{STAR}\nUser-agent: CriteoBot\nDisallow:\n\n{THREE}",
            f"{STAR}\nUser-agent: CriteoBot\nAllow: /\n\n{THREE}",
            f"User-agent: Twitterbot\nDisallow:\n{THREE}",
            f"User-agent: Googlebot\nDisallow: /own\n\n{THREE}\nUser-agent: *\n{THREE}",
            f"User-agent: Twitterbot\nDisallow:\n\nUser-agent: *\n{THREE}",
            "User-agent: Twitterbot\nDisallow:\n\nAllow: /a\n",
            f"User-agent: Twitterbot\n\n{THREE}",
            "User-agent: Twitterbot\n\nDisallow:\nDisallow: /a\n",
        ],
    )
    def test_other_groups_are_not(self, body: str) -> None:
        codes = Code.EMPTY_BESIDE_RULES, Code.BLANK_LINE_INSIDE
        assert not [one for one in _found(body, *codes) if "for all crawlers" in one.mend]

    @pytest.mark.parametrize(
        "body",
        [
            f"{STAR}{THREE}\nAllow: /x\n",
            f"{STAR}{THREE}\n{THREE}",
            f"{STAR}Allow: /\n\nAllow: /en/\n",
            # urllib obeys the first rule that matches, and knows no wildcards.
            f"{STAR}Allow: /\n\n{THREE}",
            f"{STAR}\nAllow: /\nDisallow: /cdn-cgi/\n",
            f"{STAR}{THREE}\nAllow: /a/open\n",
            f"{STAR}{THREE}\nDisallow: /*?q=\nDisallow: */print/\nDisallow: /x$\n",
            f"{STAR}{THREE}\nUser-agent: bot\n{THREE}\n{STAR}\nDisallow: /d\n",
            # The rules are Googlebot's own.
            f"User-agent: Googlebot\nAllow: /\n\nAllow: /a/*?x\n\nDisallow: /a/\n\n{STAR}{THREE}",
            f"User-agent: Twitterbot\n\nAllow: /\n\n{STAR}Disallow:\n",
        ],
    )
    def test_lost_rules_that_change_no_verdict_have_no_finding(self, body: str) -> None:
        assert _found(body, Code.BLANK_LINE_INSIDE) == []

    @pytest.mark.parametrize(
        "body",
        [
            f"{STAR}Allow: /x\n\nAllow: /y\n{THREE}",
            f"{STAR}Allow: /*\n\n{THREE}",
            f"User-agent: Twitterbot\n\nAllow: /\n\n{STAR}{THREE}",
            f"User-agent: Twitterbot\nCrawl-delay: 1\n\n{THREE}\n{STAR}{THREE}",
        ],
    )
    def test_lost_rules_that_change_a_verdict_have_one(self, body: str) -> None:
        (one,) = _found(body, Code.BLANK_LINE_INSIDE)
        read, mended = (urllib.robotparser.RobotFileParser() for _ in range(2))
        read.parse(body.splitlines())
        mended.parse([line for n, line in enumerate(body.splitlines(), 1) if n != one.line])
        assert any(
            read.can_fetch("Twitterbot", path) is not mended.can_fetch("Twitterbot", path)
            for path in ("/a", "/q")
        )
