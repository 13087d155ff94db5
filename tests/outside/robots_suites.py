"""The suites on robots.txt: how they are read, and what this package answers."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy_rep.protocol.access.origin import origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.robotparser import RepRobotParser
from tests.outside import Case, Checkout, Robots, python_tests
from tests.outside.assertions import WORDS, Assertions

_ASSIGNED = rf"(?P<name>\w+)\s*(?:\+=|:?=(?!=)\s*(?:\(?b?(?P<value>{WORDS})\s*\)?[;\n])?)"


def is_allowed(given: Robots) -> bool:
    """Whether the file allows the URL; it allows nothing of another origin."""
    here = given.file_url or "http://example.com/robots.txt"
    url = f"{here.removesuffix('/robots.txt')}{given.url}" if given.url[:1] == "/" else given.url
    try:
        is_of_file = not given.file_url or origin_of(url) == origin_of(here)
    except InvalidUri:
        return False
    parser = RepRobotParser.from_crawler(None, given.octets)
    return is_of_file and parser.allowed(url, given.agent)


def rep_cpp(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"TEST\(\w+, (?P<test>\w+)\)",
        _ASSIGNED,
        rf"robot\((?P<text>{WORDS})(?:,\s*(?P<file_url>{WORDS}))?\)",
        rf"EXPECT_(?P<answer>TRUE|FALSE)\(robot\.allowed\(\s*(?P<url>{WORDS}),\s*(?P<agent>{WORDS})",
    )
    return reader.cases(checkout, ["test/test-robots.cpp"])


def google(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"TEST\(\w+, (?P<test>\w+)\)",
        _ASSIGNED,
        r"StrAppend\(&(?P<name>\w+)",
        rf"EXPECT_(?P<answer>TRUE|FALSE)\(\s*IsUserAgentAllowed\(\s*"
        rf"(?P<text>{WORDS}),\s*(?P<agent>{WORDS}),\s*(?P<url>{WORDS})\)",
    )
    return reader.cases(checkout, ["robots_test.cc"])


def google_specification(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        rf"robotstxt:\s*(?P<text>{WORDS})",
        rf"testurl:\s*(?P<url>{WORDS})\s*useragent:\s*(?P<agent>{WORDS})\s*"
        r"expected_outcome:\s*(?P<answer>\w+)",
    )
    paths = checkout.paths("src/main/resources/CTC")
    return reader.cases(checkout, [path for path in paths if path.endswith(".textproto")])


def texting_robots(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"fn (?P<test>test_\w+)",
        _ASSIGNED,
        rf"Robot::new\(\s*(?P<agent>{WORDS}),\s*&?b?(?P<text>{WORDS})(?:\.as_bytes\(\))?\s*,?\s*\)",
        rf"assert!\(\s*(?P<answer>!?)r\.allowed\(\s*(?P<url>{WORDS})\s*\)",
    )
    paths = ["src/test.rs", "src/test_repcpp.rs", "tests/integration_test.rs"]
    return reader.cases(checkout, paths)


def temoto(checkout: Checkout) -> Iterator[Case]:
    reader = Assertions(
        r"func (?P<test>Test\w+)",
        _ASSIGNED,
        rf"FromString\((?P<text>{WORDS})\)",
        rf"expectAllAgents\(t, r, (?P<answer>true|false), (?P<url>{WORDS})\)(?P<agent>)",
        rf"expectAccess\(t, r, (?P<answer>true|false), (?P<url>{WORDS}), (?P<agent>{WORDS})\)",
    )
    return reader.cases(checkout, ["robotstxt_test.go", "google_test.go"])


def heritrix(checkout: Checkout) -> Iterator[Case]:
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


def crawler_commons(checkout: Checkout) -> Iterator[Case]:
    folder = "src/test/java/crawlercommons/robots/"
    octets = r"(?:\.getBytes\((?:US_ASCII|UTF_8)\))?"
    reader = Assertions(
        r"void (?P<test>\w+)\((?P<columns>[^)]*)\)",
        r"for \(String (?P<name>\w+) :",
        r"@CsvSource\(\{(?P<table>[^}]*)\}\)",
        _ASSIGNED,
        rf"(?:= createRobotRules|parseContent|failedFetch)\((?:"
        rf"(?P<agent>{WORDS}),\s*(?P<text>{WORDS}){octets}(?:, (?:true|false))?\);)?",
        rf"assert(?P<answer>True|False)\(rules\.isAllowed\((?P<url>{WORDS})\)",
        rf"assertEquals\((?P<answer>\w+), rules?\d?\.isAllowed\((?P<url>{WORDS})\)",
        rf"assert(?P<answer>True|False)\(isUserAgentAllowed\("
        rf"(?P<text>{WORDS}),\s*(?P<agent>{WORDS}),\s*(?P<url>{WORDS})\)",
        CRLF='"\\r\\n"',
        LF='"\\n"',
        CR='"\\r"',
    )
    paths = [f"{folder}SimpleRobotRulesParserTest.java", f"{folder}GoogleRobotsTxtTest.java"]
    return reader.cases(checkout, paths, "src/test/resources")


def robotspy(checkout: Checkout) -> Iterator[Case]:
    names = ("robots", "google", "google_correctness", "google_stress")
    paths = [f"tests/test_{name}.py" for name in names]
    yield from python_tests.in_rows(checkout, paths, "tests/core.py")
    yield from python_tests.in_classes(checkout, "tests/test_robotparser.py")


def cpython(checkout: Checkout) -> Iterator[Case]:
    return python_tests.in_classes(checkout, "Lib/test/test_robotparser.py")


def protego(checkout: Checkout) -> Iterator[Case]:
    return python_tests.in_assertions(checkout, "tests/test_protego.py")
