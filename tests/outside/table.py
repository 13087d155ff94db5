"""The suites: where they are, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_rep.protocol.access.origin import origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.robotparser import RepRobotParser
from tests.outside import Case, Checkout, Robots, Suite, javascript, python_tests
from tests.outside.assertions import WORDS, Assertions

_ASSIGNED = rf"(?P<name>\w+)\s*(?:\+=|:?=(?!=)\s*(?:\(?b?(?P<value>{WORDS})\s*\)?[;\n])?)"


def _is_allowed(given: Robots) -> bool:
    """Whether the file allows the URL; it allows nothing of another origin."""
    here = given.file_url or "http://example.com/robots.txt"
    url = f"{here.removesuffix('/robots.txt')}{given.url}" if given.url[:1] == "/" else given.url
    try:
        is_of_file = not given.file_url or origin_of(url) == origin_of(here)
    except InvalidUri:
        return False
    parser = RepRobotParser.from_crawler(None, given.octets)
    return is_of_file and parser.allowed(url, given.agent)


def _rep_cpp(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"TEST\(\w+, (?P<test>\w+)\)",
        _ASSIGNED,
        rf"robot\((?P<text>{WORDS})(?:,\s*(?P<file_url>{WORDS}))?\)",
        rf"EXPECT_(?P<answer>TRUE|FALSE)\(robot\.allowed\(\s*(?P<url>{WORDS}),\s*(?P<agent>{WORDS})",
    )
    return reader.cases(checkout, ["test/test-robots.cpp"])


def _google(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"TEST\(\w+, (?P<test>\w+)\)",
        _ASSIGNED,
        r"StrAppend\(&(?P<name>\w+)",
        rf"EXPECT_(?P<answer>TRUE|FALSE)\(\s*IsUserAgentAllowed\(\s*"
        rf"(?P<text>{WORDS}),\s*(?P<agent>{WORDS}),\s*(?P<url>{WORDS})\)",
    )
    return reader.cases(checkout, ["robots_test.cc"])


def _google_specification(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        rf"robotstxt:\s*(?P<text>{WORDS})",
        rf"testurl:\s*(?P<url>{WORDS})\s*useragent:\s*(?P<agent>{WORDS})\s*"
        r"expected_outcome:\s*(?P<answer>\w+)",
    )
    paths = checkout.paths("src/main/resources/CTC")
    return reader.cases(checkout, [path for path in paths if path.endswith(".textproto")])


def _texting_robots(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"fn (?P<test>test_\w+)",
        _ASSIGNED,
        rf"Robot::new\(\s*(?P<agent>{WORDS}),\s*&?b?(?P<text>{WORDS})(?:\.as_bytes\(\))?\s*,?\s*\)",
        rf"assert!\(\s*(?P<answer>!?)r\.allowed\(\s*(?P<url>{WORDS})\s*\)",
    )
    paths = ["src/test.rs", "src/test_repcpp.rs", "tests/integration_test.rs"]
    return reader.cases(checkout, paths)


def _temoto(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"func (?P<test>Test\w+)",
        _ASSIGNED,
        rf"FromString\((?P<text>{WORDS})\)",
        rf"expectAllAgents\(t, r, (?P<answer>true|false), (?P<url>{WORDS})\)(?P<agent>)",
        rf"expectAccess\(t, r, (?P<answer>true|false), (?P<url>{WORDS}), (?P<agent>{WORDS})\)",
    )
    return reader.cases(checkout, ["robotstxt_test.go", "google_test.go"])


def _heritrix(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        # Three tests take their text from a function before them.
        r"(?:void|Robotstxt) (?P<test>(?!eval|test(?:Valid|Whitespace|HtmlMarkup))\w+)\(",
        _ASSIGNED,
        rf"StringReader\((?:\s*(?P<text>{WORDS})\s*\))?",
        rf"assert(?P<answer>True|False)\(\w+\.getDirectivesFor\((?P<agent>{WORDS})\)"
        rf"\.allows\((?P<url>{WORDS})\)",
    )
    return reader.cases(
        checkout, ["modules/src/test/java/org/archive/modules/net/RobotstxtTest.java"]
    )


def _crawler_commons(checkout: Checkout) -> Iterator[Case]:
    folder = "src/test/java/crawlercommons/robots/"
    octets = r"(?:\.getBytes\((?:US_ASCII|UTF_8)\))?"
    reader = Assertions(
        r"void (?P<test>\w+)\((?P<columns>[^)]*)\)",
        r"for \(String (?P<name>\w+) :",
        r"@CsvSource\(\{(?P<table>[^}]*)\}\)",
        _ASSIGNED,
        rf"(?:= createRobotRules|parseContent|failedFetch)\((?:(?P<agent>{WORDS}),\s*(?P<text>{WORDS}){octets}"
        r"(?:, (?:true|false))?\);)?",
        rf"assert(?P<answer>True|False)\(rules\.isAllowed\((?P<url>{WORDS})\)",
        rf"assertEquals\((?P<answer>\w+), rules?\d?\.isAllowed\((?P<url>{WORDS})\)",
        rf"assert(?P<answer>True|False)\(isUserAgentAllowed\("
        rf"(?P<text>{WORDS}),\s*(?P<agent>{WORDS}),\s*(?P<url>{WORDS})\)",
        **{"CRLF": '"\\r\\n"', "LF": '"\\n"', "CR": '"\\r"'},
    )
    paths = [f"{folder}SimpleRobotRulesParserTest.java", f"{folder}GoogleRobotsTxtTest.java"]
    return reader.cases(checkout, paths, "src/test/resources")


def _robotspy(checkout: Checkout) -> Iterator[Case]:
    names = ("robots", "google", "google_correctness", "google_stress")
    paths = [f"tests/test_{name}.py" for name in names]
    yield from python_tests.in_rows(checkout, paths, "tests/core.py")
    yield from python_tests.in_classes(checkout, "tests/test_robotparser.py")


def _cpython(checkout: Checkout) -> Iterator[Case]:
    return python_tests.in_classes(checkout, "Lib/test/test_robotparser.py")


def _protego(checkout: Checkout) -> Iterator[Case]:
    return python_tests.in_assertions(checkout, "tests/test_protego.py")


_ROBOTS = [
    ("andreburgaud/robotspy", "46fd34d14c9ef4ccb18e920b0a7250bcbf285be6", "2026-03-01", "MIT", _robotspy),
    ("crawler-commons/crawler-commons", "8e14e27cad529a35ee57010fbd63a91cfcfa3fcc", "2026-07-27", "Apache-2.0", _crawler_commons),
    ("google/robotstxt", "22b355ff855419e6a3ff8ff09c0ad7fdb17116f9", "2026-04-01", "Apache-2.0", _google),
    ("google/robotstxt-spec-test", "552ade54b9ce6c121ffc462bceb26941749907a7", "2022-03-07", "Apache-2.0", _google_specification),
    ("internetarchive/heritrix3", "5ada2a784a7b9ee066d6181c40777f41dc4357a3", "2026-07-02", "Apache-2.0", _heritrix),
    # It has CPython's Lib/test/test_robotparser.py, and is much smaller.
    ("RustPython/RustPython", "cc1e55e3e43f14a673901ea78ccb426ecb6c3bbb", "2026-08-23", "PSF-2.0", _cpython),
    ("samclarke/robots-parser", "fc27a0010e41bb87b138f8aa9b6e4aac87125ff7", "2026-08-07", "MIT", javascript.cases),
    ("scrapy/protego", "81f1b35d1a2b86595fb3ff656a58a68631ba06da", "2026-06-11", "BSD-3-Clause", _protego),
    ("seomoz/rep-cpp", "ca2ae84bacb4a11471a7ce12946beada597713ee", "2024-01-11", "MIT", _rep_cpp),
    ("Smerity/texting_robots", "8e52f3f4126cd88b23833317b4dadd91d3fcd1d3", "2024-02-13", "MIT OR Apache-2.0", _texting_robots),
    ("temoto/robotstxt", "cadd395bcc35aaa85a924321f9c7b2d5aa66112c", "2026-05-25", "MIT", _temoto),
]

SUITES = {suite.name: suite for suite in (*(Suite(*row, _is_allowed) for row in _ROBOTS),)}
