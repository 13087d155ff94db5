"""``scrapy rep agents``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, DATED
from tests.commands.calling import rep, rep_process
from tests.servers.handle import Answer, Site, free_port

FILE = (
    b"User-agent: Bingbot\nCrawl-delay: 5\n\nUser-agent: BadBot\nUser-agent: MJ12bot\nDisallow: /\n"
    b"\nUser-agent: GPTBot\nUser-agent: anthropic-ai\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n"
)


def test_text_has_table_lists_and_date(robots: Path) -> None:
    done = rep("agents", robots)
    assert (done.status, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[:5] == [
        "/",
        "purpose      operator   crawler   verdict     by",
        "ai-training  OpenAI     GPTBot    disallowed  10",
        "search       Microsoft  bingbot   disallowed  6",
        "seo          Majestic   MJ12bot!  disallowed  6",
    ]
    assert max(map(len, lines)) <= 80
    assert lines[5].startswith("and 342 crawlers that the file does not name (--all): ")
    assert "  disallowed: OpenAI" in lines
    assert "  bingbot: line 1 (Bingbot) has no rules of its own, so it gets those of the" in lines
    assert "  line 9: anthropic-ai is out of use; Anthropic has ClaudeBot, Claude-User," in lines
    assert "no parser of RFC 9309 can match 'MJ12bot'" in done.out
    assert f"from a list of {DATED}" in done.out


def test_unknown_names_are_listed_with_near_ones(robots: Path) -> None:
    robots.write_bytes(FILE + b"\nUser-agent: OpenAI\nUser-agent: Claude Bot\nDisallow: /\n")
    lines = rep("agents", robots).out.splitlines()
    start = lines.index("names that match no known crawler")
    assert lines[start + 1 : start + 4] == [
        "  line 15: OpenAI; perhaps GPTBot, OAI-SearchBot or ChatGPT-User",
        "  line 16: Claude Bot; perhaps ClaudeBot",
        "  other names: BadBot",
    ]


def test_all_shows_every_crawler(robots: Path) -> None:
    done = rep("agents", robots, "--all")
    table, _, retired = done.out.partition("names out of use\n")
    assert table.count("\n") == 2 + sum(not crawler.is_obsolete for crawler in CRAWLERS)
    assert "anthropic-ai" in retired
    assert "anthropic-ai" not in table
    assert max(map(len, done.out.splitlines())) <= 80


def test_json_has_a_row_for_each_crawler_and_url(robots: Path) -> None:
    found = rep("agents", robots, "/", "/x", "--json").rows
    assert len(found) == 2 * len(CRAWLERS)
    told = {(row["crawler"], row["url"]): row for row in found}
    bing = told["bingbot", "/"]
    assert (bing["access"], bing["group_is"], bing["line"]) == ("disallowed", "own", 6)
    assert (bing["accident"], bing["rule"]) == ("swallowed", "Disallow: /")
    assert told["Applebot", "/x"]["group_is"] == "everyone"
    ads = told["AdsBot-Google", "/x"]
    assert (ads["access"], ads["file_allows"], ads["is_certain"]) == ("not_bound", False, True)
    assert told["MJ12bot", "/"]["name_by_rfc_9309"] == "MJ"
    assert told["360Spider", "/"]["name_by_rfc_9309"] == ""
    assert told["anthropic-ai", "/"]["is_obsolete"]
    assert told["KimiBot", "/"]["doubts"] == ["whether it obeys is unknown"]


@pytest.mark.parametrize(
    ("record", "question", "words"),
    [
        ("Content-Signal: ai-train=no", "train on it", "train-ai=n (line 2)"),
        ("Content-Signal: ai-input=no, ai-train=yes", "answer from it", "ai-input=n (line 2)"),
        ("Content-Usage: search=n", "search it", "search=n (line 2)"),
    ],
)
def test_access_is_not_use(robots: Path, record: str, question: str, words: str) -> None:
    """A crawler that may fetch a page may not use it for what the file forbids."""
    robots.write_text(f"User-agent: *\n{record}\nAllow: /\n\nUser-agent: Foo\nDisallow: /\n")
    summary = rep("agents", robots).out.partition("who can train on it\n")[2]
    for part in f"who can train on it\n{summary}".split("who can ")[1:]:
        title, _, text = part.partition("\n")
        start = "  allowed, but " + words if title == question else "  allowed: "
        assert text.startswith(start), title
    assert "as for /\n" not in rep("agents", robots, "/", "/a").out.partition("who can")[0]


def test_use_of_a_path_and_of_a_group(robots: Path) -> None:
    robots.write_bytes(
        b"User-agent: *\nContent-Signal: /a ai-train=no\nDisallow: /x\n\n"
        b"User-agent: GPTBot\nContent-Signal: ai-train=yes\n"
    )
    out = rep("agents", robots, "/", "/a").out
    assert "all verdicts are the same" not in out
    assert "allowed, but train-ai=n (line 2): " in out.partition("/a\n")[2]
    assert "  allowed: OpenAI\n" in out.partition("/a\n")[2]
    found = {row["crawler"]: row for row in rep("agents", robots, "/a", "--json").rows}
    uses = [found[name]["use"] for name in ("GPTBot", "CCBot", "AhrefsBot")]
    assert uses == ["y", "n", "unknown"]
    assert found["CCBot"]["access"] == "allowed"
    assert "Content-Signal, line 2" in found["CCBot"]["use_by"]


def test_csv_of_agents_says_the_same_as_its_json(robots: Path) -> None:
    told = rep("agents", robots, "--json").rows
    done = rep("agents", robots, "--csv")
    table = list(csv.DictReader(io.StringIO(done.out)))
    assert done.status == 1
    assert [row["crawler"] for row in table] == [row["crawler"] for row in told]
    assert list(table[0]) == list(told[0])
    assert {row["is_certain"] for row in table} == {"true", "false"}


def test_equal_verdicts_of_urls_are_shown_once(robots: Path) -> None:
    one, two = rep("agents", robots, "/q"), rep("agents", robots, "/q", "/r")
    for words in ("who can train on it", "names in the file", "from a list of", "! no parser"):
        assert (one.out.count(words), two.out.count(words)) == (1, 1)
    assert "all verdicts are the same as for /q\n" in two.out
    assert two.status == one.status


def test_different_verdicts_are_shown_for_each_url(tmp_path: Path) -> None:
    path = tmp_path / "robots.txt"
    path.write_bytes(b"User-agent: *\nDisallow: /x\n")
    done = rep("agents", path, "/", "/x")
    assert done.out.count("who can train on it") == 2
    assert "same verdict" not in done.out
    assert done.out.count("from a list of") == 1


@pytest.mark.slow
def test_url_is_judged_by_the_file_of_its_site(tmp_path: Path) -> None:
    """Without a file, all crawlers may fetch; an unreachable file is an error."""
    store = ["-s", f"REP_STORE_PATH={tmp_path / 'store.sqlite'}"]
    file = Answer(body=FILE.decode())
    with Site({"/robots.txt": file}) as site, Site({"/robots.txt": Answer(status=404)}) as bare:
        done = rep_process("rep", "agents", site.url("/x/1"), "--json", *store)
        assert done.status == 1, done.err
        assert {row["url"] for row in done.rows} == {site.url("/x/1")}
        assert "fetched now" in done.err
        again = rep_process("rep", "agents", site.url("/robots.txt"), "--json", *store)
        assert {row["url"] for row in again.rows} == {"/"}
        assert site.paths() == ["/robots.txt"] * 2
        none = rep_process("rep", "agents", bare.url("/"), *store)
        assert none.status == 0
        assert "does not exist (404): by RFC 9309, all URLs are allowed" in none.err
    url = f"http://127.0.0.1:{free_port()}/"
    down = rep_process("rep", "agents", url, *store, "-s", "REP_QUICK_RETRY_SECONDS=")
    assert (down.status, down.out) == (3, "")
    assert "is unreachable (refused)" in down.err


class TestAsserted:
    def test_status_is_0_if_all_verdicts_are_as_asserted(self, robots: Path) -> None:
        asserted = ["--assert-disallowed", "gptbot", "--assert-allowed", "preview"]
        done = rep("agents", robots, *asserted)
        assert (done.status, done.out) == (0, "")
        assert done.err.endswith(" crawlers, 0 verdicts not as asserted\n")

    def test_different_verdicts_are_shown(self, robots: Path) -> None:
        asserted = ["--assert-disallowed", "training", "--assert-allowed", "search"]
        done = rep("agents", robots, *asserted)
        assert done.status == 1
        cells = [line.split() for line in done.out.splitlines()]
        assert ["search", "Microsoft", "bingbot", "disallowed", "6"] in cells
        assert "CCBot" in done.out
        assert "GPTBot" not in done.out
        assert "anthropic-ai" not in done.out  # out of use
        rows = rep("agents", robots, "/x", "/y", *asserted, "--json").rows
        told = {(row["crawler"], row["url"]) for row in rows}
        assert ("Googlebot", "/x") in told
        assert ("Googlebot", "/y") not in told
        assert ("CCBot", "/x") not in told  # the group for * disallows it
        assert ("CCBot", "/y") in told

    def test_assertion_tests_the_file_not_the_crawler(self, tmp_path: Path) -> None:
        """A group for * does not bind every crawler."""
        path = tmp_path / "robots.txt"
        path.write_bytes(b"User-agent: *\nDisallow: /\n")
        asserted = ["--assert-disallowed", "Bytespider", "--assert-disallowed", "AdsBot-Google"]
        rows = rep("agents", path, *asserted, "--json").rows
        assert [row["crawler"] for row in rows] == ["AdsBot-Google"]


class TestPolicyTokens:
    FILE = b"User-agent: __usage_ai-training\nDisallow: /a\nUser-agent: *\nDisallow: /x\n"

    def test_token_is_shown_if_it_is_named(self, robots: Path) -> None:
        assert "__usage_" not in rep("agents", robots).out
        assert "__usage_" in rep("agents", robots, "--all").out
        robots.write_bytes(self.FILE)
        done = rep("agents", robots, "/a")
        assert "ai-training  anyone (poli...  __usage_ai-training  disallowed?  2\n" in done.out
        assert "  __usage_ai-training: crawlers that know this policy token do not" in done.out

    def test_purpose_does_not_include_tokens(self, robots: Path) -> None:
        robots.write_bytes(b"User-agent: *\nDisallow: /\n")
        assert rep("agents", robots, "--assert-disallowed", "training").status == 0
        token = ["--assert-disallowed", "__usage_ai-training"]
        assert rep("agents", robots, *token).status == 1
        robots.write_bytes(self.FILE)
        assert rep("agents", robots, "/a/b", *token).status == 0


class TestWriting:
    def test_new_file_is_written_once(self, robots: Path) -> None:
        chosen = ["--disallow", "training", "--allow", "bingbot"]
        done = rep("agents", robots, *chosen)
        assert (done.status, robots.read_bytes()) == (0, FILE)
        assert "User-agent: GPTBot\n" in done.out
        written = rep("agents", robots, *chosen, "--write")
        assert (written.status, robots.read_bytes().decode()) == (0, done.out)
        again = rep("agents", robots, *chosen, "--write")
        assert (again.status, again.out) == (0, f"{robots}: already in this form\n")
        asserted = ["--assert-disallowed", "training", "--assert-allowed", "bingbot"]
        assert rep("agents", robots, *asserted).status == 0

    def test_standard_input_is_read_but_not_written(self) -> None:
        done = rep("agents", "-", "--disallow", "GPTBot", "--write")
        assert (done.status, done.out) == (2, "")

    def test_crawler_that_uses_the_group_of_another_is_noted(self, robots: Path) -> None:
        done = rep("agents", robots, "--disallow", "Googlebot")
        assert "note: Google-InspectionTool takes the group of Googlebot" in done.err

    def test_edit_that_is_not_proved_is_not_written(self, robots: Path) -> None:
        robots.write_bytes(b"User-agent: AI\nDisallow: /a\n")
        done = rep("agents", robots, "--disallow", "AI2Bot", "--write")
        assert (done.status, done.out) == (4, "")
        assert "change something for AI at /; edit them by hand" in done.err
        assert robots.read_bytes() == b"User-agent: AI\nDisallow: /a\n"

    @pytest.mark.parametrize(
        ("group", "code"),
        [
            ("User-agent: GPTBot, FooBot\nDisallow: /a\n", "names one crawler"),
            (
                "User-agent: GPTBot\nUser-agent: x\nUser-agent: GPTBot, FooBot\n",
                "names one crawler",
            ),
            ("User-agent: GPTBot\nUsr-agent: FooBot\nDisallow: /b\n", "similar to a known one"),
            ("User-agent: GPTBot\nDisallow: /a User-agent: FooBot\n", "several records"),
            ("User-agent: x\nCrawl-delay: 5\n\nUser-agent: GPTBot\nDisallow: /a\n", "next group"),
        ],
    )
    def test_group_with_an_error_about_others_is_not_changed(
        self, robots: Path, group: str, code: str
    ) -> None:
        """The error would be gone, and what the author meant for other crawlers with it."""
        robots.write_text(group)
        done = rep("agents", robots, "--disallow", "GPTBot", "--write")
        assert (done.status, done.out, robots.read_text()) == (1, "", group)
        assert "is not written: correct this first: line " in done.err
        assert code in done.err

    def test_new_group_is_not_for_a_crawler_that_is_meant_above(self, robots: Path) -> None:
        """Once its line is corrected, FooBot would be in the new group."""
        robots.write_text("User-agent: x\nDisallow: /a\n\nUsr-agent: FooBot\n")
        done = rep("agents", robots, "--disallow", "GPTBot", "--write")
        assert (done.status, done.out) == (1, "")
        assert "once they are corrected" in done.err
        assert "something for foobot at /: correct them first" in done.err.lower()

    @pytest.mark.parametrize(
        "group",
        [
            "User-agent: GPTBot\nDisallow: a\n",
            "User-agent: GPTBot\nCrawl-delay: 5\n\nUser-agent: x\nDisallow: /a\n",
            "User-agent: FooBot, BarBot\nDisallow: /a\n",
        ],
    )
    def test_other_errors_do_not_matter(self, robots: Path, group: str) -> None:
        robots.write_text(group)
        assert rep("agents", robots, "--disallow", "GPTBot", "--write").status == 0
        assert "BarBot" not in group or group in robots.read_text()
