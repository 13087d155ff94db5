"""Files with damaged records, with their findings and the meant files.

A row is a file, its findings of level error as (line, code), and the file that unsafe fixes make.
"""

from __future__ import annotations

from scrapy_rep.extras.webmaster.checks.codes import Code

_INVISIBLE, _MARK, _ALIKE = Code.INVISIBLE_CHARACTER, Code.LIST_MARK, Code.LOOK_ALIKE
_SEVERAL, _QUOTED, _COMMENT = Code.SEVERAL_RECORDS, Code.QUOTED_VALUE, Code.FOREIGN_COMMENT
_COLON = Code.WRONG_SEPARATOR
_KEY, _NONE = Code.NEAR_KEY, Code.NO_RECORD

_ALL = "User-agent: *\nDisallow: /\n"
_PRIVATE = "User-agent: *\nDisallow: /private/\n"

Errors = list[tuple[int, Code]]


def _below(line: str, code: Code, *meant: str) -> tuple[str, Errors, str]:
    """A line below a rule."""
    lines = "".join(f"{one}\n" for one in meant)
    return f"{_PRIVATE}{line}\n", [(3, code)], f"{_PRIVATE}{lines}"


FILES: list[tuple[str, Errors, str]] = [
    # Several records on one line.
    ("User-agent: * Disallow: /\n", [(1, _SEVERAL)], _ALL),
    ("User-agent:* Disallow:/\n", [(1, _SEVERAL)], "User-agent:*\nDisallow:/\n"),
    ("User-agent: *; Disallow: /\n", [(1, _SEVERAL)], _ALL),
    ("User-agent: *Disallow: /\n", [(1, _SEVERAL)], _ALL),
    (
        "User-agent: FooDisallow: /aAllow: /a/Crawl-delay: 5Sitemap: https://h/s.xml\n",
        [(1, _SEVERAL)],
        "User-agent: Foo\nDisallow: /a\nAllow: /a/\nCrawl-delay: 5\nSitemap: https://h/s.xml\n",
    ),
    ("User-agent * Disallow: /\n", [(1, _SEVERAL)], _ALL),
    ("User-agent: *\\nDisallow: /\n", [(1, _SEVERAL)], _ALL),
    ("User-agent: *\\r\\nDisallow: /\\r\\n\n", [(1, _SEVERAL)], _ALL),
    ("User-agent: *<br>Disallow: /<br />\n", [(1, _SEVERAL)], _ALL),
    (
        "User-agent: a User-agent: b Disallow: / # all\n",
        [(1, _SEVERAL)],
        "User-agent: a\nUser-agent: b\nDisallow: / # all\n",
    ),
    _below("Disallow: /x Crawl-delay: 10", _SEVERAL, "Disallow: /x", "Crawl-delay: 10"),
    _below("Disallow: /my file Disallow: /y", _SEVERAL, "Disallow: /my file", "Disallow: /y"),
    _below(
        "Disallow: /x Sitemap: https://h/s.xml",
        _SEVERAL,
        "Disallow: /x",
        "Sitemap: https://h/s.xml",
    ),
    # Characters that only look like the right ones.
    ("User-agent\uff1a*\nDisallow\uff1a/\n", [(1, _ALIKE), (2, _ALIKE)], _ALL),
    ("User\u2013agent: *\nDisallow: /\n", [(1, _ALIKE), (2, Code.RULE_BEFORE_GROUP)], _ALL),
    _below("Crawl\u2014delay: 5", _ALIKE, "Crawl-delay: 5"),
    _below("D\u0456sallow: /x", _ALIKE, "Disallow: /x"),
    _below("Disallow: \uff0fx", _ALIKE, "Disallow: /x"),
    ("User-agent: \uff0a\nDisallow: /\n", [(1, _ALIKE)], _ALL),
    # Invisible characters.
    (
        "\ufeff\u200bUser-agent: *\nDisallow: /\n",
        [(1, _INVISIBLE), (2, Code.RULE_BEFORE_GROUP)],
        _ALL,
    ),
    _below("Dis\u200ballow: /x", _INVISIBLE, "Disallow: /x"),
    _below("Dis\u00adallow: /x", _INVISIBLE, "Disallow: /x"),
    _below("\u00a0Disallow: /x", _INVISIBLE, "Disallow: /x"),
    _below("Disallow:\u00a0/x", _INVISIBLE, "Disallow: /x"),
    _below("Disallow\u00a0/x", _INVISIBLE, "Disallow: /x"),
    _below("Disallow: /x\u00a0", _INVISIBLE, "Disallow: /x"),
    _below("Disallow: /x\u200b # c", _INVISIBLE, "Disallow: /x # c"),
    _below("Disallow: /pri\u200bvate", _INVISIBLE, "Disallow: /private"),
    (
        "User-agent: Google\u200bbot\nDisallow: /\n",
        [(1, _INVISIBLE)],
        "User-agent: Googlebot\nDisallow: /\n",
    ),
    (
        "User-agent: \u200eGPTBot\nDisallow: /\n",
        [(1, _INVISIBLE)],
        "User-agent: GPTBot\nDisallow: /\n",
    ),
    ("User\u200b-agent: *\nDisallow: /\n", [(1, _INVISIBLE), (2, Code.RULE_BEFORE_GROUP)], _ALL),
    # Quotes and brackets.
    _below('Disallow: "/x"', _QUOTED, "Disallow: /x"),
    _below("Disallow: \u201c/x\u201d", _QUOTED, "Disallow: /x"),
    _below("Disallow: \u201e/x\u201c # c", _QUOTED, "Disallow: /x # c"),
    _below("Disallow: </x>", _QUOTED, "Disallow: /x"),
    _below('Disallow: "/x', _QUOTED, "Disallow: /x"),
    _below('Crawl-delay: "5"', _QUOTED, "Crawl-delay: 5"),
    ('User-agent: "*"\nDisallow: /\n', [(1, _QUOTED)], _ALL),
    (
        "User-agent: \u201cGPTBot\u201d\nDisallow: /\n",
        [(1, _QUOTED)],
        "User-agent: GPTBot\nDisallow: /\n",
    ),
    # List marks, numbers and quotes before the key.
    ("- User-agent: *\n- Disallow: /\n", [(1, _MARK), (2, _MARK)], _ALL),
    ("1. User-agent: *\n2. Disallow: /\n", [(1, _MARK), (2, _MARK)], _ALL),
    ("a) User-agent: *\nb) Disallow: /\n", [(1, _MARK), (2, _MARK)], _ALL),
    ('"User-agent: *"\n"Disallow: /",\n', [(1, _MARK), (2, _MARK)], _ALL),
    ("User-agent: : *\nDisallow:: /\n", [(1, _MARK), (2, _MARK)], "User-agent: *\nDisallow:/\n"),
    ("**User-agent:** *\n**Disallow:** /\n", [(1, _MARK), (2, _MARK)], _ALL),
    ('"User-agent": "*",\n"Disallow": "/",\n', [(1, _MARK), (2, _MARK)], _ALL),
    # Another character in place of the colon.
    ("User-agent=*\nDisallow=/\n", [(1, _COLON), (2, _COLON)], _ALL),
    ("User-agent; *\nDisallow; /\n", [(1, _COLON), (2, _COLON)], _ALL),
    ("User-agent -> *\nDisallow => /\n", [(1, _COLON), (2, _COLON)], _ALL),
    _below("Disallow \u2013 /x # c", _COLON, "Disallow: /x # c"),
    _below("sitemap https://h/s.xml", _COLON, "sitemap: https://h/s.xml"),
    _below("DisallowAITraining: /", Code.AI_TRAINING_KEY, "DisallowAITraining: /"),
    # Comments of other languages.
    ("// all\n" + _ALL, [(1, _COMMENT)], "# all\n" + _ALL),
    ("//Disallow: /x\n" + _ALL, [(1, _COMMENT)], "# Disallow: /x\n" + _ALL),
    ("/* all */\n" + _ALL, [(1, _COMMENT)], "# all\n" + _ALL),
    ("<!-- all -->\n" + _ALL, [(1, _COMMENT)], "# all\n" + _ALL),
    _below("Disallow: /x // old", _COMMENT, "Disallow: /x # old"),
    _below("Disallow: /x <!-- old -->", _COMMENT, "Disallow: /x # old"),
    _below("Disallow: /x /* old */", _COMMENT, "Disallow: /x # old"),
    _below("// Disallow: /x", _COMMENT, "# Disallow: /x"),
    _below("Disallow: /x/ (old)", _COMMENT, "Disallow: /x/ # (old)"),
    (
        f"<!--\nDisallow: /x\n# old\n-->\n{_ALL}",
        [(1, _COMMENT), (2, _COMMENT), (4, _COMMENT)],
        f"#\n# Disallow: /x\n# old\n#\n{_ALL}",
    ),
    ("User-agent: * // all\nDisallow: /\n", [(1, _COMMENT)], "User-agent: * # all\nDisallow: /\n"),
    # A group without rules, for a key that nothing reads: only the author can tell.
    (
        "User-agent: *\nNoindex: /x\n",
        [(2, Code.NOINDEX_UNSUPPORTED)],
        "User-agent: *\nNoindex: /x\n",
    ),
    # Other errors with a line that was probably meant.
    _below("Dissallw: /x", Code.UNKNOWN_KEY, "# Dissallw: /x"),
    _below("Disllow: /x", _KEY, "Disallow: /x"),
    _below("all of it is for people", _NONE, "# all of it is for people"),
    _below(": /x", Code.KEY_MISSING, ": /x"),
    _below("Disallow: /x /y", Code.SEVERAL_PATHS, "Disallow: /x", "Disallow: /y"),
    _below("Disallow: /x, /y # c", Code.SEVERAL_PATHS, "Disallow: /x", "Disallow: /y # c"),
    (
        "User-agent: GPTBot, CCBot\nDisallow: /\n",
        [(1, Code.USER_AGENT_LIST)],
        "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n",
    ),
    (
        "User-agent: FacebookBot / GPTBot & CCBot\nDisallow: /\n",
        [(1, Code.USER_AGENT_LIST)],
        "User-agent: FacebookBot\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n",
    ),
    _below("https://h/sitemap.xml # all", Code.KEY_MISSING, "Sitemap: https://h/sitemap.xml # all"),
    # A path that matches nothing, or in another encoding.
    _below("Disallow: all", Code.RULE_MATCHES_NOTHING, "Disallow: /"),
    _below("Disallow: \\tmp\\", Code.RULE_MATCHES_NOTHING, "Disallow: /tmp/"),
    _below("Disallow: C:\\tmp # c", Code.RULE_MATCHES_NOTHING, "Disallow: /tmp # c"),
    _below("Disallow: ^/a/.*$", Code.RULE_MATCHES_NOTHING, "Disallow: /a/"),
    _below("Disallow: pictures", Code.RULE_MATCHES_NOTHING, "Disallow: pictures"),
    _below("Crawl-delay: 10s", Code.VALUE_UNREADABLE, "Crawl-delay: 10"),
    _below("Crawl-delay: 2 minutes # c", Code.VALUE_UNREADABLE, "Crawl-delay: 120 # c"),
    _below("Crawl-delay: often", Code.VALUE_UNREADABLE, "Crawl-delay: often"),
    _below("Sitemap: https//e.com/s.xml", Code.SITEMAP_BAD_SCHEME, "Sitemap: https://e.com/s.xml"),
    # Two kinds in one line: the first is told, and both are repaired.
    ("- User-agent: * Disallow: '/x'\n", [(1, _MARK)], "User-agent: *\nDisallow: /x\n"),
    (
        "1. User\u2013agent\uff1a *\n2. Disallow\uff1a \u201c/x\u201d\n",
        [(1, _MARK), (2, _MARK)],
        "User-agent: *\nDisallow: /x\n",
    ),
]

USUAL = [
    "User-agent: Mozilla/5.0 (compatible; Foo: bar)",
    "Disallow: /a//b",
    "Disallow: /*.pdf$",
    "Disallow: /*--",
    "Disallow: /a--b",
    "Disallow: /*'",
    'Disallow: /*"',
    "Disallow: /\\n/x",
    "Disallow: /<br>/x",
    "Disallow: /host:/allow:",
    "DisAllow: /x",
    "see https://h/sitemap.xml",
    "Disallow: /\u0641\u0627\u0631\u0633\u06cc\u200c\u0647\u0627/",
    "Disallow: /caf\u00e9\u00a0noir",
    "Disallow: /-/1. x",
    "Disallow: /$",
    "Disallow: /a=b",
    "Disallow: /books/tax (1).html",
    "Disallow: /wiki/Colon (sign)",
    "sitemap - the list",
    "Sitemap: <https://h/s.xml>",
    "Sitemap: https://h/s.xml https://h/t.xml",
    "Content-Signal: search=yes, ai-train=no",
    "Clean-param: sid&ref /path",
    "# 1. Disallow: /x // all",
    "Disallow: /x # \u201call\u201d <!-- old -->",
    "Noindex: /x",
]
"""Lines below a rule that are not damaged."""
