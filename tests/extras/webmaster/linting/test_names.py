"""Names that no crawler has, and advice that fits the value."""

from __future__ import annotations

import pytest

from scrapy_rep.extras.webmaster.checks.codes import GROUPS, Code, Severity
from scrapy_rep.extras.webmaster.effect.other_readers import GOOGLE
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from tests.protocol.reading import URI

HOST = URI.split("/")[2]
_NOBODY = "so the rules below it are for no crawler"


def _found(body: str, *codes: Code) -> list[Finding]:
    return [one for one in lint(body.encode(), URI) if not codes or one.code in codes]


def _of_name(name: str) -> list[Finding]:
    """The findings about a name that are reported by default, without those about the file."""
    body = f"User-agent: {name}\nDisallow: /x\n\nUser-agent: *\nDisallow:\n"
    return [one for one in _found(body) if one.code in GROUPS["default"] and one.line == 1]


_NAME, _LIST, _NEAR = Code.USER_AGENT_NO_CRAWLER, Code.USER_AGENT_LIST, Code.USER_AGENT_NEAR
_OPENAI = "perhaps GPTBot, OAI-SearchBot or ChatGPT-User"


class TestNames:
    @pytest.mark.parametrize(
        ("name", "code", "detail"),
        [
            ("GPTBot CCBot ClaudeBot", _LIST, "crawlers do not read CCBot, ClaudeBot"),
            ("GPTBot; CCBot", _LIST, "crawlers do not read CCBot"),
            ("GPTBot|CCBot", _LIST, "crawlers do not read CCBot"),
            ("Googlebot and Bingbot", _LIST, "crawlers do not read Bingbot"),
            ("GPTBot/1.0 CCBot/2.0", _LIST, "crawlers do not read CCBot"),
            ("FirstBot OtherBot", _LIST, "crawlers do not read OtherBot"),
            ("none", _NAME, "perhaps *"),
            ("Everyone", _NAME, "perhaps *"),
            ("Open AI", _NAME, _OPENAI),
            ("ChatGPT", _NAME, _OPENAI),
            ("Claude", _NAME, "perhaps ClaudeBot, Claude-SearchBot or Claude-User"),
            ("Gemini", _NAME, "perhaps Google-Extended"),
            ("Bing", _NAME, "perhaps bingbot"),
            ("baidu", _NAME, "perhaps Baiduspider"),
            ("DuckAssist", _NAME, "perhaps DuckAssistBot"),
            ("google", _NAME, "perhaps Googlebot"),
            ("ImageSift", _NAME, "perhaps ImagesiftBot"),
            ("AI", _NAME, "perhaps GPTBot, ClaudeBot, Google-Extended or CCBot"),
            ("Claude Bot", _NEAR, "perhaps ClaudeBot"),
            ("chatgpt_user", _NEAR, "perhaps ChatGPT-User"),
            ("Googlebot Images", _NEAR, "perhaps Googlebot-Image"),
            ("*scalepostAI*", Code.USER_AGENT_NAMES_NOBODY, _NOBODY),
            ("*bot*", Code.USER_AGENT_NAMES_NOBODY, _NOBODY),
            ("GPT\u0412ot", Code.LOOK_ALIKE, "\u0412 is U+0412 CYRILLIC CAPITAL LETTER VE"),
            ("Perplexity\u2011User", Code.LOOK_ALIKE, "\u2011 is U+2011 NON-BREAKING HYPHEN"),
        ],
    )
    def test_wrong_name_of_a_crawler_is_found(self, name: str, code: Code, detail: str) -> None:
        (one,) = _of_name(name)
        assert (one.code, one.detail) == (code, detail)

    @pytest.mark.parametrize(
        ("name", "mend", "is_unsafe"),
        [
            ("*scalepostAI*", "write scalepostAI for that crawler", 0),
            ("*bot*", "write the name of each crawler that is meant", 0),
            ("*Googelbot*", "write Googlebot", 1),
            ("**", "write *", 1),
            ("GPT\u0412ot", "write 'User-agent: GPTBot'", 1),
            (
                "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
                "write bingbot if this crawler is meant",
                0,
            ),
        ],
    )
    def test_advice_names_the_crawler_that_is_meant(
        self, name: str, mend: str, is_unsafe: int
    ) -> None:
        (one,) = _of_name(name)
        assert (one.mend, one.is_unsafe) == (mend, bool(is_unsafe))

    @pytest.mark.parametrize(
        "name",
        [
            *("5emeRue", "007ac9", "peer39_crawler/1.0", "Offline Explorer", "AwarioBot"),
            *("Kangaroo Bot", "Wotbot", "MJ12bot", "Yahoo! Slurp", "magpie-crawler"),
            *("Googlebot/2.1 (+http://www.google.com/bot.html)", "Mediapartners-Google*"),
            *("Turnitin Robot (v2)", "BSearchR&amp;D", "ExampleBot", "Microsoft.URL.Control"),
            *("360Spider", "008", "archive.org_bot", "SemrushBot-SI", "xAI-SearchBot"),
            *("yacy", "yacybot", "yacyproxy", "Mojeek", "MeltwaterNews", "FlipboardRSS"),
        ],
    )
    def test_names_in_use_have_no_finding(self, name: str) -> None:
        assert [one.code for one in _of_name(name) if one.code is not Code.USER_AGENT_WORDS] == []

    @pytest.mark.parametrize(
        "name",
        [
            *("Flipboard", "Meltwater", "Grok", "xAI", "Manus", "Seobility", "ChatGLM"),
            *("CoHereBot", "archive.org", "DeepSeek", "Spider"),
        ],
    )
    def test_words_without_a_sure_name_have_no_finding(self, name: str) -> None:
        """The operator documents no name, or the word may be a crawler's name itself."""
        assert _of_name(name) == []

    def test_names_of_several_words_share_one_finding(self) -> None:
        names = ["Big Reader", "Small Reader", "Third Reader"] * 3
        body = "\n".join(f"User-agent: {name}\nDisallow: /x\n" for name in names)
        (one,) = _found(body, Code.USER_AGENT_WORDS)
        assert one.line == 1
        assert one.detail == (
            "Big Reader is read as big; Small Reader is read as small; "
            "Third Reader is read as third"
        )

    def test_run_without_rules_has_one_finding(self) -> None:
        body = "".join(f"User-agent: a{n}\nCrawl-delay: 1\n\n" for n in range(9))
        (one,) = _found(body + "User-agent: BadBot\nDisallow: /\n", Code.GROUP_SWALLOWED)
        assert one.line == 1
        assert (
            one.detail
            == "9 names up to line 25: a0, a1, a2, a3, a4, and 4 more; line 29: Disallow: /; "
            "crawlers that take a Crawl-delay for a rule have only that"
        )


_FOR_GOOGLE = f"that changes the rule for crawlers that {GOOGLE.words}"

_ON_CDN = f"remove the line, or write / in the robots.txt of cdn.{HOST}"


class TestAdvice:
    @pytest.mark.parametrize(
        ("value", "advice"),
        [
            (".pdf", "write /*.pdf$ for all paths with this ending"),
            ("none", "write an empty Disallow if everything may be fetched, or / if nothing"),
            ("all", "write / for everything"),
            ("e.com/foo", f"remove the line: this file is only for {HOST}"),
            ("https://t.me/share/", f"remove the line: this file is only for {HOST}"),
            (f"cdn.{HOST}/foo", f"remove the line, or write /foo in the robots.txt of cdn.{HOST}"),
            (f"cdn.{HOST}/", f"{_ON_CDN}, which is for all of it"),
            (f"{HOST}/foo", "write only the path: /foo"),
            (f"https://{HOST}/a/b", "write only the path: /a/b"),
            ("http//e.com/x", "write only the path of the URL, from the / after the host on"),
            ("?sort=", "write /*?sort= if a part of the query is meant"),
            ("private/", "write /private/ for the top of the site, or /*private/ for any place"),
            ("index.php", "write /index.php for the top of the site, or /*index.php for any place"),
            ("(x)", "write the path as it is in the URL, from the / after the host on"),
            ("/search\\?", "write /search? if that is meant; otherwise write several rules"),
            ("/.*\\.pdf$", "write /*.pdf$ if that is meant; otherwise write several rules"),
            ("/(a|b)/", "write /a/ and /b/ if that is meant; otherwise write several rules"),
            ("/p/[0-9]+/x", "write /p/*/x if that is meant; otherwise write several rules"),
            ("/(.*)\\.php$", "write /*.php$ if that is meant; otherwise write several rules"),
            (
                "/a(?:/[0-9]+)/\\(b\\)",
                "write /a/*/(b) if that is meant; otherwise write several rules",
            ),
            ("/(?!a)/[0-9]+/b", "write it with * and $, or as several rules"),
            ("/\\d{8}/", "write it with * and $, or as several rules"),
            ("^/a/.*$", "write /a/ if that is meant; otherwise write several rules"),
            ("C:\\www\\tmp", "write /www/tmp if that is the path in the URL"),
            ("&nbsp;/b/", "write 'Disallow: /b/'"),
            ("/*.pdf$*", "write /*.pdf$ if the end of the path is meant; otherwise %24"),
            ("/*$api", f"write %24 if the character is meant; {_FOR_GOOGLE}"),
            ("/a?x&amp;y", "write & alone"),
            ("/#top", Code.FRAGMENT.fix),
            ("/a._f.[a-z]*Sort.*", "write /a._f.*Sort.* if that is meant"),
        ],
    )
    def test_advice_for_rules(self, value: str, advice: str) -> None:
        found = _found(f"User-agent: *\nDisallow: {value}\nDisallow: /zz\n")
        assert any(one.mend.startswith(advice) for one in found if one.line == 2)

    @pytest.mark.parametrize(
        ("value", "code", "advice"),
        [
            ("http//e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "write https://e.com/s.xml"),
            ("htps://e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "write https://e.com/s.xml"),
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
        assert Code.MULTIPLE_STAR not in found  # the site can't change it
        assert Code.DISALLOW_ALL not in found

    def test_tie_in_several_groups_has_one_finding(self) -> None:
        body = "User-agent: a\nAllow: /x\n\nUser-agent: b\nUser-agent: a\nDisallow: /x\n"
        (one,) = _found(body, Code.TIE)
        assert (one.line, one.detail) == (6, "see line 2")

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


_X, _BAN, _ALLOW = "Disallow: /x", "Disallow: /", "Allow: /"


def _group(name: str, *lines: str) -> str:
    return "\n".join([f"User-agent: {name}", *lines, "", ""])


ADVICE = {
    # A damaged line is the cause.
    Code.RULE_BEFORE_GROUP: {
        f"User-agent=*\n{_X}": "repair line 1 first: it may be meant as a user-"
    },
    Code.GROUP_SWALLOWED: {
        _group("a", "Disalllow: /a")
        + _group("b", _X): "repair line 2 first: it may be meant as a rule",
        # The site is never opened.
        _group("*", "# Crawl-delay: 10")
        + _group("CriteoBot", _X): "let all crawlers fetch everything",
    },
    Code.GROUP_WITHOUT_RULES: {
        _group("a", "Disalllow: /a"): "repair line 2 first: it may be meant as a rule",
        # An empty Disallow, which permits everything, is no safe fix.
        _group("*", _X) + _group("a"): "those for * are not for them",
    },
    Code.NO_GROUPS: {
        "User-agent=*\n": "repair line 1 first: it may be meant as a user-agent line",
        f"Sitemap: https://{HOST}/s.xml\n": "leave it if everything may be fetched",
    },
    # The URL costs no other name.
    Code.USER_AGENT_NAMES_NOBODY: {
        _group("https://hada.news", "User-agent: BadBot", _X): ", or remove the line",
    },
    # Without the header, its rules would be those of the group above.
    Code.USER_AGENT_HEADER: {
        _group("*", _X)
        + _group("Mozilla/4.0 (compatible; MSIE)", _BAN): "without one, remove the group",
    },
    _NAME: {
        _group("GPT", "User-agent: Y", _X)
        + _group("GPTBot", _BAN): "the file names GPTBot already",
        # A ban in the group for all would close the site.
        _group("*", _X)
        + _group("Robot", _BAN): "write the names of the crawlers that are meant, one",
        _group("*", _X) + _group("all", _BAN + "b"): "move these rules to the group for *",
        _group("GPTBot", _BAN)
        + _group("OpenAI", _BAN): "write OAI-SearchBot or ChatGPT-User if meant: ",
        # Rules that a group has among others are not moved.
        "".join(
            [
                *(_group("MistralAI-User", _ALLOW + "n"), _group("MistralAI-User", _BAN)),
                _group("Mistral.ai/bot", _BAN),
            ]
        ): "write MistralAI-Training or MistralAI-Index if meant: ",
    },
    Code.RULE_MATCHES_NOTHING: {
        # A dead ban of scripts is not revived.
        _group("*", "Disallow: .js$"): "remove the line",
        _group("*", "Disallow: .html$"): "has no effect now and disallows such paths then",
    },
    # Escapes would make the mistake permanent.
    Code.ENCODED_TWICE: {
        _group(
            "*", "Disallow: /caf\u00c3\u00a9"
        ): "write /caf%C3%A9, which is /caf\u00e9 in UTF-8, if",
    },
}


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [(body, code, words) for code, rows in ADVICE.items() for body, words in rows.items()],
)
def test_advice_fits_the_rest_of_the_file(body: str, code: Code, words: str) -> None:
    (one,) = _found(body, code)
    assert words in one.mend
    assert not one.is_safe


MEANT = {
    (_NAME, _NEAR, Code.USER_AGENT_HEADER): [
        # Lists of names contain such words, for parts of names.
        *(_group("a", f"User-agent: {name}", _BAN) for name in ("Bot", "Crawler", "Other")),
        # These names change no verdict.
        _group("Amazon-Bot", _BAN) + _group("Amazonbot", _BAN),
        _group("metaexternalagent", "User-agent: meta-externalagent", _BAN),
        _group("Googlebot Smartphone", _X),
        _group("Claude", _ALLOW) + _group("*", _ALLOW),
        _group("Perplexity-ai", _BAN) + _group("PerplexityBot", _BAN),
        _group("archive_bot", _BAN) + _group("*", "Disallow:"),
        _group("Mozilla/4.0 (FooBot)", _BAN) + _group("Foobot", _BAN),
    ],
    (Code.REGULAR_EXPRESSION,): [
        *(
            _group("*", f"Disallow: {path}")
            for path in ("/main.*.js", "/x.*/y", "/.*", "/a+b", "/f(1)", "/wp\\docs")
        ),
        *(_group("*", f"Disallow: /search{end}", "Disallow: /search\\?") for end in "?*"),
    ],
    (Code.SPACE_IN_PATH,): [_group("*", "Disallow: /a%20b", "Disallow: /a b/c")],
    (Code.SEARCH_ENGINE_DISALLOWED,): [
        _group("Googlebot", _BAN, "Allow: /a"),
        _group("GPTBot", _BAN),
        _group("Bingbot", "Crawl-delay: 5") + _group("GPTBot", _BAN),
        _group("Googlebot", _X),
        _group("*", _BAN),
    ],
    # No crawler has this name.
    (Code.CRAWL_DELAY_IGNORED,): [_group("Google-Extended", _X, "Crawl-delay: 5")],
    (Code.CRAWL_DELAY_DUPLICATE,): [_group("*", "Crawl-delay: 2", "Crawl-delay: often", _X)],
    # The last group for all has no rule that could be lost.
    (Code.MULTIPLE_STAR,): [_group("*", _X) + _group("*", f"Sitemap: https://{HOST}/s.xml")],
    # A key of other programs
    (Code.UNKNOWN_KEY,): [_group("*", _X, f"Agentmap: https://{HOST}/ai-catalog.json")],
}


@pytest.mark.parametrize(
    ("body", "codes"), [(body, codes) for codes, bodies in MEANT.items() for body in bodies]
)
def test_what_is_meant_has_no_finding(body: str, codes: tuple[Code, ...]) -> None:
    assert _found(body, *codes) == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (_group("OpenAI", _X) * 3, _NAME),
        (_group("Amazon-Bot", _BAN) + _group("Amazonbot", _X), _NEAR),
        (_group("Claude", _BAN) + _group("*", _ALLOW), _NAME),
        *((_group(name, _BAN), Code.SEARCH_ENGINE_DISALLOWED) for name in ("Googlebot", "bingbot")),
    ],
)
def test_what_is_not_meant_has_one_finding(body: str, code: Code) -> None:
    assert len(_found(body, code)) == 1


@pytest.mark.parametrize("name", ["\u042f\u043d\u0434\u0435\u043a\u0441", "\u767e\u5ea6"])
def test_names_in_other_scripts_are_not_look_alikes(name: str) -> None:
    assert Code.LOOK_ALIKE not in [one.code for one in _of_name(name)]


def test_crawler_that_joins_the_group_for_all() -> None:
    body = "User-agent: bingbot\nCrawl-delay: 1\n\nUser-agent: *\nDisallow: /private/\n"
    (one,) = _found(body, Code.GROUP_JOINS_STAR, Code.GROUP_SWALLOWED)
    assert (one.code, one.line, one.severity) == (Code.GROUP_JOINS_STAR, 1, Severity.INFO)
    assert "Disallow" not in one.mend


@pytest.mark.parametrize(
    ("value", "code", "mend"),
    [
        ("/h.example/wp-admin/", Code.HOST_IN_PATH, "write /wp-admin/"),
        ("/www.h.example/a", Code.HOST_IN_PATH, "write /a"),
        ("//a/", Code.DOUBLE_SLASH, Code.DOUBLE_SLASH.fix),
        ("//", Code.DOUBLE_SLASH, "leave it if URLs with two slashes are meant"),
        ("/[_0-9a-zA-Z]+/likes", Code.REGULAR_EXPRESSION, "write /*/likes if that is meant"),
        ("/y ; no", Code.FOREIGN_COMMENT, "write 'Disallow: /y # no'"),
        ("/a%", Code.BAD_ESCAPE, Code.BAD_ESCAPE.fix),
    ],
)
def test_advice_for_paths(value: str, code: Code, mend: str) -> None:
    body = f"User-agent: *\nDisallow: {value}\nSitemap: https://www.h.example/s.xml\n"
    (one,) = _found(body, code)
    assert one.mend.startswith(mend)
    assert not one.is_safe


def test_safe_fixes_keep_a_fragment() -> None:
    body = b"User-agent: *\nDisallow: /page#section\nDisallow: /y ; no\n"
    assert fixed(body)[0] == body


def test_content_signals_key_is_corrected() -> None:
    body = b"User-agent: *\nContent-Signals: search=yes\nDisallow: /x\n"
    (one,) = (one for one in lint(body) if one.code is Code.MISSPELT_KEY)
    assert (one.detail, one.is_safe) == ("read as Content-Signal", True)
    assert b"\nContent-Signal: search=yes\n" in fixed(body)[0]


@pytest.mark.parametrize(
    ("record", "mend"),
    [
        ("Crawl-delay: often", "write a number of seconds, for example 'Crawl-delay: 5'"),
        ("Crawl-delay: 10s", "write 'Crawl-delay: 10'"),
        ("Request-rate: often", "write requests and seconds, for example 'Request-rate: 1/5'"),
        ("Content-Signal: ai-train: no", "write 'Content-Signal: ai-train=no'"),
        ("Content-Signal: search=yes ai_train=N", ""),
        ("Content-Signal: use: full", "write 'Content-Signal: use=full'"),
    ],
)
def test_advice_for_other_records(record: str, mend: str) -> None:
    codes = Code.VALUE_UNREADABLE, Code.SIGNAL_SPELLING
    found = _found(f"User-agent: *\nDisallow: /x\n{record}\n", *codes)
    assert [one.mend for one in found] == ([mend] if mend else [])


@pytest.mark.parametrize(
    ("uri", "code", "is_odd"),
    [
        *[(f"https://www.{HOST}/s.xml", Code.SITEMAP_CROSS_HOST, False)],
        *[(f"https://cdn.{HOST}/s.xml", Code.SITEMAP_CROSS_HOST, True)],
        *[
            (f"https://h/{path}", Code.SITEMAP_ENDING, is_odd)
            for path, is_odd in {
                **dict.fromkeys(("s.XML.gz", "feed.rss", "l.txt", "make?kind=sitemap"), False),
                **dict.fromkeys(("", "sitemap", "sitemap.html"), True),
            }.items()
        ],
    ],
)
def test_odd_address_of_a_sitemap_is_found(uri: str, code: Code, is_odd: bool) -> None:
    body = f"User-agent: *\nDisallow: /x\nSitemap: {uri}\n"
    assert bool(_found(body, code)) is is_odd


def test_groups_of_crawlers_that_merge_them_are_not_told() -> None:
    body = "User-agent: {0}\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\n"
    body += "User-agent: {0}\nDisallow: /b\n"
    assert _found(body.format("GoogleOther"), Code.GROUP_SHADOWED) == []
    assert len(_found(body.format("Bingbot"), Code.GROUP_SHADOWED)) == 1


def test_text_that_is_encoded_twice_has_one_finding_without_a_blank() -> None:
    path = "/a/طب القلب".encode().decode("latin-1")
    found = _found(f"User-agent: *\nDisallow: {path}\n")
    (one,) = [one for one in found if one.line == 2]
    assert one.code is Code.ENCODED_TWICE
    assert "%D8%A8%20%D8" in one.mend


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"\xef\xbb\xbfUser-agent: *\nAllow: /\n", []),
        (b"User-agent: *\nDisallow: /a\n\r\r", []),
        (b"User-agent: *\nDisallow: /a\r\r\n", []),
        (b"User-agent: *\r\nDisallow: /a\rDisallow: /b\n", [2]),
    ],
)
def test_only_marks_that_lose_something_have_a_finding(body: bytes, lines: list[int]) -> None:
    found = (one for one in lint(body, URI) if one.code in (Code.BOM, Code.CR_ONLY))
    assert [one.line for one in found] == lines
