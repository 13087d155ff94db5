"""Names that no crawler has, and advice that fits the value."""

from __future__ import annotations

import pytest

from scrapy_rep.analysis.checks.codes import GROUPS, Code, Severity
from scrapy_rep.analysis.findings import Finding
from scrapy_rep.analysis.lint.linter import fixed, lint
from scrapy_rep.protocol.other_readers import GOOGLE
from tests.protocol.reading import URI

HOST = URI.split("/")[2]


def _found(body: str, *codes: Code) -> list[Finding]:
    return [one for one in lint(body.encode(), URI) if not codes or one.code in codes]


def _of_name(name: str) -> list[Finding]:
    """The findings about a name that are reported by default, without those about the file."""
    body = f"User-agent: {name}\nDisallow: /x\n\nUser-agent: *\nDisallow:\n"
    return [one for one in _found(body) if one.code in GROUPS["default"] and one.line == 1]


class TestNames:
    @pytest.mark.parametrize(
        ("name", "others"),
        [
            ("GPTBot CCBot ClaudeBot", "CCBot, ClaudeBot"),
            ("GPTBot; CCBot", "CCBot"),
            ("GPTBot|CCBot", "CCBot"),
            ("Googlebot and Bingbot", "Bingbot"),
            ("GPTBot/1.0 CCBot/2.0", "CCBot"),
            ("FirstBot OtherBot", "OtherBot"),
            ("Yahoo Slurp", "Slurp"),
        ],
    )
    def test_line_with_several_names_is_an_error(self, name: str, others: str) -> None:
        (one,) = _of_name(name)
        assert (one.code, one.detail) == (Code.USER_AGENT_LIST, f"crawlers do not read {others}")

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("all", "*"),
            ("any", "*"),
            ("none", "*"),
            ("Everyone", "*"),
            ("robots", "*"),
            ("OpenAI", "GPTBot, OAI-SearchBot or ChatGPT-User"),
            ("Open AI", "GPTBot, OAI-SearchBot or ChatGPT-User"),
            ("ChatGPT", "GPTBot, OAI-SearchBot or ChatGPT-User"),
            ("Claude", "ClaudeBot, Claude-SearchBot or Claude-User"),
            ("Anthropic", "ClaudeBot, Claude-SearchBot or Claude-User"),
            ("Perplexity", "PerplexityBot or Perplexity-User"),
            ("Google", "Googlebot, Google-Extended or Google-CloudVertexBot"),
            ("Gemini", "Google-Extended"),
            ("Bing", "bingbot"),
            ("Semrush", "SemrushBot"),
            ("Ahrefs", "AhrefsBot"),
            ("baidu", "Baiduspider or YiyanBot"),
            ("Common Crawl", "CCBot"),
            ("Facebook", "facebookexternalhit or meta-externalagent"),
            ("TikTok", "TikTokSpider"),
            ("AI", "GPTBot, ClaudeBot, Google-Extended or CCBot"),
        ],
    )
    def test_advice_names_the_crawlers_of_an_operator_or_word(self, name: str, meant: str) -> None:
        (one,) = _of_name(name)
        assert (one.code, one.detail) == (Code.USER_AGENT_NO_CRAWLER, f"perhaps {meant}")

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("Claude Bot", "ClaudeBot"),
            ("GPT Bot", "GPTBot"),
            ("Bing Bot", "bingbot"),
            ("chatgpt_user", "ChatGPT-User"),
            ("Amazon-Bot", "Amazonbot"),
            ("Googlebot Images", "Googlebot-Image"),
        ],
    )
    def test_advice_names_the_crawler_of_a_misspelt_name(self, name: str, meant: str) -> None:
        (one,) = _of_name(name)
        assert (one.code, one.detail) == (Code.USER_AGENT_NEAR, f"perhaps {meant}")

    @pytest.mark.parametrize(
        "name",
        [
            *("5emeRue", "007ac9", "peer39_crawler", "peer39_crawler/1.0", "Offline Explorer"),
            *("Kangaroo Bot", "Wotbot", "Pingbot", "Roverbot", "MJ12bot", "Yahoo! Slurp"),
            *("Googlebot/2.1 (+http://www.google.com/bot.html)", "Mediapartners-Google*"),
            *("Turnitin Robot (v2)", "BSearchR&amp;D", "ExampleBot", "Microsoft.URL.Control"),
        ],
    )
    def test_names_in_use_have_no_finding(self, name: str) -> None:
        assert [one.code for one in _of_name(name) if one.code is not Code.USER_AGENT_WORDS] == []

    def test_names_of_several_words_share_one_finding(self) -> None:
        names = ["Big Reader", "Small Reader", "Third Reader"] * 3
        body = "\n".join(f"User-agent: {name}\nDisallow: /x\n" for name in names)
        (one,) = _found(body, Code.USER_AGENT_WORDS)
        assert one.line == 1
        assert one.detail == (
            "Big Reader is read as big; Small Reader is read as small; "
            "Third Reader is read as third"
        )

    def test_repeated_name_has_one_finding(self) -> None:
        body = "User-agent: OpenAI\nDisallow: /x\n\n" * 3
        assert len(_found(body, Code.USER_AGENT_NO_CRAWLER)) == 1

    def test_advice_removes_a_line_for_a_crawler_that_is_named(self) -> None:
        body = "User-agent: GPT\nUser-agent: GPTBot\nDisallow: /x\n"
        (one,) = _found(body, Code.USER_AGENT_NO_CRAWLER)
        assert one.mend == "remove the line: the file names GPTBot already"

    def test_run_without_rules_has_one_finding(self) -> None:
        body = "".join(f"User-agent: a{n}\nCrawl-delay: 1\n\n" for n in range(9))
        (one,) = _found(body + "User-agent: BadBot\nDisallow: /\n", Code.GROUP_SWALLOWED)
        assert one.line == 1
        assert (
            one.detail
            == "9 names up to line 25: a0, a1, a2, a3, a4, and 4 more; line 29: Disallow: /"
        )


_FOR_GOOGLE = f"that changes the rule for crawlers that {GOOGLE.words}"


class TestAdvice:
    @pytest.mark.parametrize(
        ("value", "advice"),
        [
            (".pdf", "write /*.pdf$ for all paths with this ending"),
            (".jpg$", "write /*.jpg$ for all paths with this ending"),
            ("none", "write an empty Disallow if everything may be fetched, or / if nothing"),
            ("all", "write / for everything"),
            ("e.com/foo", "remove the line, or write /foo in the robots.txt of e.com"),
            (f"{HOST}/foo", "write only the path: /foo"),
            (f"https://{HOST}/a/b", "write only the path: /a/b"),
            (f"https://{HOST}", "write only the path: /"),
            ("http://e.com", "remove the line, or write / in the robots.txt of e.com"),
            ("http//e.com/x", "write only the path of the URL, from the / after the host on"),
            ("?sort=", "write /*?sort= if a part of the query is meant"),
            ("private/", "write /private/ for the top of the site, or /*private/ for any place"),
            ("index.php", "write /index.php for the top of the site, or /*index.php for any place"),
            ("(x)", "write the path as it is in the URL, from the / after the host on"),
            ("/search\\?", "write /search? if that is meant; otherwise write several rules"),
            ("*\\+*", "write *+* if that is meant; otherwise write several rules"),
            ("/.*\\.pdf$", "write /*.pdf$ if that is meant; otherwise write several rules"),
            ("/(a|b)/", "write /a/ and /b/ if that is meant; otherwise write several rules"),
            ("/p/[0-9]+/x", "write /p/*/x if that is meant; otherwise write several rules"),
            ("/\\d{8}/", "write it with * and $, or as several rules"),
            ("[path]", "write the path as it is in the URL, from the / after the host on"),
            ("^/a/.*$", "write /a/ if that is meant; otherwise write several rules"),
            ("/(.|n){0,2}$", "write it with * and $, or as several rules"),
            ("C:\\www\\tmp", "write /www/tmp if that is the path in the URL"),
            ("../tmp", "write /tmp if that is the path in the URL"),
            ("&nbsp;/b/", "write 'Disallow: /b/'"),
            ("/*.pdf$*", "write /*.pdf$ if the end of the path is meant; otherwise %24"),
            ("/*$api", f"write %24 if the character is meant; {_FOR_GOOGLE}"),
            ("/a?x&amp;y", "write & alone"),
            (
                "/#top",
                (
                    "the rule is for the whole site: write only / if that is meant; otherwise "
                    "remove the line, since clients never send the # of a URL and what follows it"
                ),
            ),
            ("/a\\b", "write /"),
        ],
    )
    def test_advice_for_rules(self, value: str, advice: str) -> None:
        found = _found(f"User-agent: *\nDisallow: {value}\nDisallow: /zz\n")
        assert advice in [one.mend for one in found if one.line == 2]

    @pytest.mark.parametrize("value", ["/main.*.js", "/x.*/y", "/.*", "/a+b", "/f(1)", "/wp\\docs"])
    def test_path_with_a_dot_is_not_a_regular_expression(self, value: str) -> None:
        assert _found(f"User-agent: *\nDisallow: {value}\n", Code.REGULAR_EXPRESSION) == []

    @pytest.mark.parametrize(
        ("value", "code", "advice"),
        [
            ("http//e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "write https://e.com/s.xml"),
            ("htps://e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "write https://e.com/s.xml"),
            ("https:/e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "write https://e.com/s.xml"),
            ("https:://e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "write https://e.com/s.xml"),
            ("https://https://e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "write https://e.com/s.xml"),
            (
                "www.e.com/s.xml",
                Code.SITEMAP_LEFT_OUT,
                "write https:// before it: https://www.e.com/s.xml",
            ),
            (
                f"https://{HOST}/a b.xml",
                Code.SITEMAP_BLANK,
                "write %20 if the blank belongs to the address; otherwise remove it",
            ),
            (
                f"https://{HOST}/sitemap.xml (main)",
                Code.SITEMAP_LEFT_OUT,
                "write only the URL, and %20 for a blank that belongs to it",
            ),
            ("/s.xml", Code.SITEMAP_RELATIVE, f"write https://{HOST}/s.xml"),
            (f"{HOST}/s.xml", Code.SITEMAP_NO_SCHEME, f"write https://{HOST}/s.xml"),
            (f'"https://{HOST}/s.xml"', Code.SITEMAP_QUOTED, f"write https://{HOST}/s.xml"),
            (
                "https://e.com/a.xml, https://e.com/b.xml",
                Code.SITEMAP_SEVERAL,
                "write https://e.com/a.xml and https://e.com/b.xml",
            ),
            ("http://localhost/s.xml", Code.SITEMAP_NOT_PUBLIC, "write the URL of the public site"),
            ("http://10.0.0.7/s.xml", Code.SITEMAP_NOT_PUBLIC, "write the URL of the public site"),
            (
                "https://yourdomain.com/s.xml",
                Code.SITEMAP_NOT_PUBLIC,
                "write the URL of the public site",
            ),
            ("ftp://e.com/s.xml", Code.SITEMAP_SCHEME, "write an http or https URL"),
        ],
    )
    def test_advice_for_sitemaps(self, value: str, code: Code, advice: str) -> None:
        (one,) = _found(f"User-agent: *\nDisallow: /x\nSitemap: {value}\n", code)
        assert one.mend == advice


@pytest.mark.parametrize(
    ("line", "code", "mend"),
    [
        ("er-agent: Google-Extended", Code.NEAR_KEY, "write 'User-agent: Google-Extended'"),
        ("https://e.com/s.xml", Code.KEY_MISSING, Code.KEY_MISSING.fix),
    ],
)
def test_cut_key_is_repaired(line: str, code: Code, mend: str) -> None:
    (one,) = _found(f"User-agent: *\nDisallow: /x\n{line}\n", code)
    assert (one.line, one.mend) == (3, mend)


CDN = """\
# BEGIN Cloudflare Managed content

User-agent: *
Content-Signal: search=yes,ai-train=no
Allow: /

User-agent: GPTBot
Disallow: /

# END Cloudflare Managed Content

User-agent: *
Disallow: /
"""


class TestBans:
    def test_group_of_a_network_that_opens_the_site(self) -> None:
        found = {one.code: one for one in _found(CDN)}
        tie = found[Code.TIE]
        assert (tie.line, tie.severity.value) == (13, "warning")
        assert tie.detail == "line 5, which the content delivery network adds, opens it"
        assert "settings of the content delivery network" in tie.mend
        assert "content delivery network adds" in found[Code.MULTIPLE_STAR].mend
        assert Code.DISALLOW_ALL not in found

    def test_tie_in_several_groups_has_one_finding(self) -> None:
        body = "User-agent: a\nAllow: /x\n\nUser-agent: b\nUser-agent: a\nDisallow: /x\n"
        (one,) = _found(body, Code.TIE)
        assert (one.line, one.detail) == (6, "see line 2")

    @pytest.mark.parametrize("name", ["Googlebot", "bingbot"])
    def test_ban_of_a_big_search_engine_by_name(self, name: str) -> None:
        (one,) = _found(f"User-agent: {name}\nDisallow: /\n", Code.SEARCH_ENGINE_DISALLOWED)
        assert (one.line, one.severity.value) == (2, "warning")
        assert one.detail.lower() == name.lower()

    @pytest.mark.parametrize(
        "body",
        [
            "User-agent: Googlebot\nDisallow: /\nAllow: /a\n",
            "User-agent: GPTBot\nDisallow: /\n",
            "User-agent: Googlebot\nDisallow: /x\n",
            "User-agent: *\nDisallow: /\n",
        ],
    )
    def test_other_bans_have_no_finding(self, body: str) -> None:
        assert _found(body, Code.SEARCH_ENGINE_DISALLOWED) == []

    def test_ban_with_a_list_of_allowed_crawlers_is_intended(self) -> None:
        allowed = "User-agent: Googlebot\nUser-agent: bingbot\nDisallow:\n\n"
        rest = f"User-agent: *\nDisallow: /\n\nSitemap: https://{HOST}/sitemap.xml\n"
        codes = (Code.DISALLOW_ALL, Code.SITEMAP_DISALLOWED)
        assert _found(allowed + rest, *codes) == []
        assert [one.code for one in _found(rest, *codes)] == [*codes]


# Files that widely used systems write by default, or advise.
DEFAULT_FILES = {
    "WordPress": "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\n"
    "Sitemap: https://{host}/wp-sitemap.xml\n",
    "Yoast": "# START YOAST BLOCK\n# ---------------------------\nUser-agent: *\nDisallow:\n\n"
    "Sitemap: https://{host}/sitemap_index.xml\n# ---------------------------\n# END YOAST BLOCK\n",
    "Squarespace": "# Squarespace Robots Txt\n\nUser-agent: GPTBot\nUser-agent: ChatGPT-User\n"
    "User-agent: CCBot\nUser-agent: anthropic-ai\nUser-agent: Google-Extended\n"
    "User-agent: FacebookBot\nUser-agent: Claude-Web\nUser-agent: cohere-ai\n"
    "User-agent: PerplexityBot\nUser-agent: Applebot-Extended\nUser-agent: AdsBot-Google\n"
    "User-agent: AdsBot-Google-Mobile\nUser-agent: AdsBot-Google-Mobile-Apps\nUser-agent: *\n"
    "Disallow: /config\nDisallow: /search\nDisallow: /account$\nDisallow: /account/\n"
    "Disallow: /commerce/digital-download/\nDisallow: /api/\nAllow: /api/ui-extensions/\n"
    "Disallow: /static/\nDisallow:/*?author=*\nDisallow:/*&author=*\nDisallow:/*?tag=*\n"
    "Disallow:/*?month=*\nDisallow:/*?view=*\nDisallow:/*?format=json\n"
    "Disallow:/*?format=page-context\n\nSitemap: https://{host}/sitemap.xml\n",
    "Drupal": "# robots.txt\n#\nUser-agent: *\n# CSS, JS, Images\nAllow: /core/*.css$\n"
    "Allow: /core/*.js$\nAllow: /core/*.gif\n# Directories\nDisallow: /core/\n"
    "Disallow: /profiles/\n# Files\nDisallow: /README.md\n# Paths (clean URLs)\n"
    "Disallow: /admin/\nDisallow: /user/login\n# Paths (no clean URLs)\n"
    "Disallow: /index.php/admin/\n",
    "Joomla": "User-agent: *\nDisallow: /administrator/\nDisallow: /api/\nDisallow: /bin/\n"
    "Disallow: /cache/\nDisallow: /cli/\nDisallow: /components/\nDisallow: /includes/\n"
    "Disallow: /installation/\nDisallow: /language/\nDisallow: /layouts/\nDisallow: /tmp/\n",
    "Magento": "User-agent: *\nDisallow: /index.php/\nDisallow: /*?\nDisallow: /checkout/\n"
    "Disallow: /app/\nDisallow: /lib/\nDisallow: /*.php$\nDisallow: /pkginfo/\n"
    "Disallow: /report/\nDisallow: /var/\nDisallow: /catalog/\nDisallow: /customer/\n"
    "Disallow: /sendfriend/\nDisallow: /review/\nDisallow: /*SID=\n",
}


@pytest.mark.parametrize("system", DEFAULT_FILES)
def test_default_files_of_systems_have_no_findings(system: str) -> None:
    body = DEFAULT_FILES[system].format(host=HOST)
    assert [one for one in _found(body) if one.code in GROUPS["default"]] == []


@pytest.mark.parametrize(
    ("body", "code", "mend"),
    [
        (
            "User-agent=*\nDisallow: /x\n",
            Code.RULE_BEFORE_GROUP,
            "repair line 1 first: it may be meant as a user-agent line",
        ),
        (
            "User-agent=*\n",
            Code.NO_GROUPS,
            "repair line 1 first: it may be meant as a user-agent line",
        ),
        (
            "User-agent: a\nDisalllow: /a\n\nUser-agent: b\nDisallow: /b\n",
            Code.GROUP_SWALLOWED,
            "repair line 2 first: it may be meant as a rule",
        ),
        (
            "User-agent: a\nDisalllow: /a\n",
            Code.GROUP_WITHOUT_RULES,
            "repair line 2 first: it may be meant as a rule",
        ),
    ],
)
def test_advice_names_the_damaged_line_that_is_the_cause(body: str, code: Code, mend: str) -> None:
    (one,) = _found(body, code)
    assert (one.mend, one.is_safe) == (mend, False)


@pytest.mark.parametrize(
    ("name", "meant", "letter"),
    [
        ("GPT\u0412ot", "GPTBot", "\u0412 is U+0412 CYRILLIC CAPITAL LETTER VE"),
        (
            "Perplexity\u2011User",
            "Perplexity-User",
            "\u2011 is U+2011 NON-BREAKING HYPHEN",
        ),
        ("\uff27PTBot", "GPTBot", "\uff27 is U+FF27 FULLWIDTH LATIN CAPITAL LETTER G"),
        ("g\u03bfoglebot", "googlebot", "\u03bf is U+03BF GREEK SMALL LETTER OMICRON"),
    ],
)
def test_look_alike_letters_in_a_name(name: str, meant: str, letter: str) -> None:
    (one,) = _of_name(name)
    assert (one.code, one.detail, one.is_unsafe) == (Code.LOOK_ALIKE, letter, True)
    assert one.mend == f"write 'User-agent: {meant}'"


@pytest.mark.parametrize("name", ["\u042f\u043d\u0434\u0435\u043a\u0441", "\u767e\u5ea6"])
def test_names_in_other_scripts_are_not_look_alikes(name: str) -> None:
    assert Code.LOOK_ALIKE not in [one.code for one in _of_name(name)]


@pytest.mark.parametrize("name", ["AwarioBot", "AwarioSmartBot", "magpie-crawler", "ias_crawler"])
def test_names_in_files_of_2026_have_no_finding(name: str) -> None:
    codes = (Code.USER_AGENT_NO_CRAWLER, Code.USER_AGENT_NEAR)
    assert [one for one in _of_name(name) if one.code in codes] == []


def test_advice_keeps_a_ban_out_of_the_group_for_all() -> None:
    """The advice is not to move a ban to that group, which would close the site."""
    body = "User-agent: *\nDisallow: /x\n\nUser-agent: Spider\nDisallow: /\n"
    (one,) = _found(body, Code.USER_AGENT_NO_CRAWLER)
    assert (one.detail, one.mend.partition(":")[0]) == (
        "",
        "write the names of the crawlers that are meant, one line for each",
    )


def test_finding_says_that_the_name_is_not_known() -> None:
    (one,) = _of_name("Meltwater")
    assert one.message.startswith("the name is not among the crawlers known to this release")


def test_crawler_that_joins_the_group_for_all() -> None:
    body = "User-agent: bingbot\nCrawl-delay: 1\n\nUser-agent: *\nDisallow: /private/\n"
    (one,) = _found(body, Code.GROUP_JOINS_STAR)
    assert (one.line, one.severity) == (1, Severity.INFO)
    assert "Disallow" not in one.mend
    assert _found(body, Code.GROUP_SWALLOWED) == []


@pytest.mark.parametrize(
    ("value", "code", "mend"),
    [
        ("/h.example/wp-admin/", Code.HOST_IN_PATH, "write /wp-admin/"),
        ("/www.h.example/a", Code.HOST_IN_PATH, "write /a"),
        ("//a/", Code.DOUBLE_SLASH, Code.DOUBLE_SLASH.fix),
        (
            "//",
            Code.DOUBLE_SLASH,
            (
                "leave it if URLs with two slashes are meant; a rule with one / would be for the "
                "whole site"
            ),
        ),
        (
            "/[_0-9a-zA-Z]+/likes",
            Code.REGULAR_EXPRESSION,
            "write /*/likes if that is meant; otherwise write several rules",
        ),
        ("/y ; no", Code.FOREIGN_COMMENT, "write 'Disallow: /y # no'"),
        (
            "/a%",
            Code.BAD_ESCAPE,
            Code.BAD_ESCAPE.fix,
        ),
    ],
)
def test_advice_for_paths(value: str, code: Code, mend: str) -> None:
    body = f"User-agent: *\nDisallow: {value}\nSitemap: https://www.h.example/s.xml\n"
    (one,) = _found(body, code)
    assert (one.mend, one.is_safe) == (mend, False)


def test_safe_fixes_keep_a_fragment() -> None:
    body = b"User-agent: *\nDisallow: /page#section\nDisallow: /y ; no\n"
    assert fixed(body)[0] == body


def test_unsafe_fix_removes_an_entity() -> None:
    body = b"User-agent: *\nDisallow: &nbsp;/b/\n"
    assert fixed(body)[0] == body
    assert fixed(body, is_unsafe=True)[0] == b"User-agent: *\nDisallow: /b/\n"


def test_lone_percent_has_advice_without_a_fix() -> None:
    (one,) = _found("User-agent: *\nDisallow: /50%\n", Code.BAD_ESCAPE)
    assert one.mend.startswith("write the complete escape that URLs contain")
    assert fixed(b"User-agent: *\nDisallow: /50%\n", is_unsafe=True)[1] == []


def test_content_signals_key_is_corrected() -> None:
    body = b"User-agent: *\nContent-Signals: search=yes\nDisallow: /x\n"
    (one,) = (one for one in lint(body) if one.code is Code.MISSPELT_KEY)
    assert (one.detail, one.is_safe) == ("read as Content-Signal", True)
    assert b"\nContent-Signal: search=yes\n" in fixed(body)[0]


def test_unknown_name_between_stars() -> None:
    (one,) = _of_name("*scalepostAI*")
    assert one.code is Code.USER_AGENT_NAMES_NOBODY
    assert one.mend == "write * for all other crawlers, or scalepostAI for that crawler"
    assert one.detail == "so the rules below it are for no crawler"


@pytest.mark.parametrize("name", ["*bot*", "*spider", "*Bot"])
def test_word_for_all_between_stars(name: str) -> None:
    (one,) = _of_name(name)
    assert one.severity is Severity.ERROR
    assert not one.is_unsafe
    assert one.mend == ("write * for all other crawlers, or the name of each crawler that is meant")


@pytest.mark.parametrize("name", ["*Googlebot", "*googlebot*", "*Googelbot*"])
def test_known_name_between_stars(name: str) -> None:
    (one,) = _of_name(name)
    assert (one.mend, one.is_unsafe) == ("write Googlebot", True)
    assert one.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("record", "mend"),
    [
        ("Crawl-delay: often", "write a number of seconds, for example 'Crawl-delay: 5'"),
        ("Crawl-delay: 10s", "write 'Crawl-delay: 10'"),
        (
            "Request-rate: often",
            "write requests and seconds, for example 'Request-rate: 1/5'",
        ),
    ],
)
def test_advice_for_unreadable_paces(record: str, mend: str) -> None:
    (one,) = _found(f"User-agent: *\nDisallow: /x\n{record}\n", Code.VALUE_UNREADABLE)
    assert one.mend == mend


def test_several_stars_become_one() -> None:
    (one,) = _of_name("**")
    assert (one.mend, one.is_unsafe) == ("write *", True)


def test_advice_names_the_crawler_of_a_header() -> None:
    (one,) = _of_name("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)")
    assert one.mend == "write bingbot if this crawler is meant"


def test_name_with_a_sign_at_its_end_is_known() -> None:
    assert Code.USER_AGENT_NEAR not in [one.code for one in _of_name("Baiduspider+")]


def test_path_that_is_encoded_twice() -> None:
    """Their escapes would make the mistake permanent, so the fix is unsafe."""
    (one,) = _found("User-agent: *\nDisallow: /caf\u00c3\u00a9\n", Code.ENCODED_TWICE)
    assert one.is_unsafe
    assert one.mend == "write /caf%C3%A9, which is /caf\u00e9 in UTF-8, if that is meant"


def test_last_group_without_rules_has_an_unsafe_fix() -> None:
    """So an empty Disallow, which permits everything, is no safe fix."""
    (one,) = _found("User-agent: *\nDisallow: /x\n\nUser-agent: a\n", Code.GROUP_WITHOUT_RULES)
    assert not one.is_safe
    assert "those for * are not for them" in one.mend


def test_unreadable_delay_is_not_a_duplicate() -> None:
    body = "User-agent: *\nCrawl-delay: 2\nCrawl-delay: often\nDisallow: /x\n"
    assert _found(body, Code.CRAWL_DELAY_DUPLICATE) == []


def test_rules_of_a_word_for_all_are_moved() -> None:
    body = "User-agent: *\nDisallow: /a\n\nUser-agent: all\nDisallow: /b\n"
    (one,) = _found(body, Code.USER_AGENT_NO_CRAWLER)
    assert one.mend == "move these rules to the group for *"


@pytest.mark.parametrize(
    ("said", "meant"),
    [("ai-train: no", "ai-train=no"), ("search=yes ai_train=N", ""), ("use: full", "use=full")],
)
def test_advice_for_signals(said: str, meant: str) -> None:
    found = _found(f"User-agent: *\nDisallow: /x\nContent-Signal: {said}\n", Code.SIGNAL_SPELLING)
    assert [one.mend for one in found] == ([f"write 'Content-Signal: {meant}'"] if meant else [])
