"""A crawl against a real server, and the answer to a complaint with forged lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.decisions.occasions import AGAIN, CAME_BACK, PASSED
from tests.commands.calling import rep
from tests.crawling import crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.extras.accesslog import WITHOUT_SCRAPY
from tests.extras.accesslog.web_servers import WebServer, needs_nginx, request
from tests.extras.evidence.audit.making import Judged
from tests.processes import REPOSITORY

AGENT = "ExampleBot/1.0 (+https://bot.example)"
SITE = "https://a.example"
WITHOUT_ROOM = """
import resource, sys
from scrapy_rep.commands.subcommands import main
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file can have an octet
sys.argv[0] = "scrapy-rep"
main()
"""
AT = re.compile(r"(?<=\[)\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000")


def shifted(log: Path, seconds: float) -> None:
    """Have the clock of a log run ahead."""

    def later(found: re.Match[str]) -> str:
        at = datetime.strptime(found[0], "%d/%b/%Y:%H:%M:%S %z") + timedelta(seconds=seconds)
        return f"{at:%d/%b/%Y:%H:%M:%S %z}"

    log.write_text(AT.sub(later, log.read_text()))


@needs_nginx
def test_every_line_of_ours_is_found_and_forged_lines_are_not_ours(tmp_path: Path) -> None:
    with WebServer.nginx(tmp_path) as server:
        urls = [server.url(f"/page/{number}?q={number % 3}") for number in range(60)]
        urls += [server.url("/private/1"), server.url("/page/1?q=1")]
        settings = {**ADDON, "USER_AGENT": AGENT, "REP_AUDIT_DIR": str(tmp_path / "audit")}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert result.exit_code == 0, result.log
        forged = [f"/page/{number}?q=0".encode() for number in range(50)]
        forged += [b"/private/%d" % number for number in range(50)]
        agent = AGENT.encode()
        server.send((request(target, agent) for target in forged), source="127.0.0.2")
        site = server.url()
    shifted(server.log, 90)
    owner = rep("log", server.log, "--robots", _robots(tmp_path), "--json").rows
    assert [row["against"] for row in owner] == [50]  # those are forged
    done = rep(
        "log", server.log, "--trail", tmp_path / "audit" / "latest", "--site", site, "--json"
    )
    assert done.status == 0, done.err
    by_address: dict[str, list[str]] = {"127.0.0.1": [], "127.0.0.2": []}
    for row in done.rows:
        by_address[row["address"]].append(row["outcome"])
    told = Counter(by_address["127.0.0.2"] + by_address["127.0.0.1"])
    assert told == {"ours": 62, "not ours": 83, "cannot be told": 17}  # targets of both
    assert by_address["127.0.0.2"].count("not ours") == 83
    assert len(by_address["127.0.0.1"]) == 1 + 61  # robots.txt, and the pages
    assert "our crawl sent 62, 0 of them against" in done.err
    assert "83 are not ours" in done.err
    ahead = re.search(r"The clock of the log is (\d+) s ahead of ours", done.err)
    assert ahead is not None
    assert 88 <= int(ahead[1]) <= 91


def _robots(folder: Path) -> Path:
    path = folder / "robots.txt"
    path.write_text("User-agent: *\nDisallow: /private\n")
    return path


def judged(root: Path, **settings: Any) -> Judged:
    """A crawl with a decision for each of some pages, three of them sent."""
    crawl = Judged(root, **settings)
    crawl.know("a.example")
    crawl.know("b.example")
    crawl.judge([f"{SITE}/1", f"{SITE}/2?secret=x", f"{SITE}/private", "https://b.example/1"])
    return crawl


def logged(folder: Path, *targets: str, ahead: float = 0, agent: str = "TestBot/1.0") -> Path:
    now = datetime.now().astimezone() + timedelta(seconds=ahead)
    path = folder / "access.log"
    lines = (
        f'192.0.2.1 - - [{now:%d/%b/%Y:%H:%M:%S %z}] "GET {target} HTTP/1.1" 200 1 "-" "{agent}"\n'
        for target in targets
    )
    path.write_text("".join(lines))
    return path


def answered(
    folder: Path, log: Path, *more: object, is_terminal: bool = False, **settings: Any
) -> Any:
    call = ("log", log, "--trail", folder / "latest", "--site", SITE, *more)
    return rep(*call, settings=settings, is_terminal=is_terminal)


class TestOutcomes:
    def outcomes(self, folder: Path, *targets: str, **facts: Any) -> list[str]:
        done = answered(folder, logged(folder, *targets, **facts), "--json")
        return [row["outcome"] for row in done.rows]

    def test_each_request_explains_one_line(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        assert self.outcomes(tmp_path, "/1", "/1", "/2?secret=x", "/private") == [
            "ours",
            "cannot be told",
            "ours",
            "not ours",
        ]

    def test_paths_are_compared_in_their_normal_form(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        assert self.outcomes(tmp_path, "/%31", f"{SITE}/2?secret=x") == ["ours", "ours"]

    @pytest.mark.parametrize("logged_as", ["/a+b/(c)", "/a%2520b/%2528c)"])
    def test_servers_may_decode_or_encode_targets(self, tmp_path: Path, logged_as: str) -> None:
        crawl = judged(tmp_path)
        crawl.judge([f"{SITE}/a%20b/%28c)"])
        crawl.end()
        assert self.outcomes(tmp_path, logged_as) == ["ours"]

    def test_port_of_a_server_behind_a_proxy_denies_nothing(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        site = ("--site", f"{SITE}:8080")
        done = answered(tmp_path, logged(tmp_path, "/1", "/x"), *site, "--json")
        assert [row["outcome"] for row in done.rows] == ["cannot be told", "not ours"]

    def test_line_without_a_target_is_not_denied(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        log = tmp_path / "log.jsonl"
        log.write_text(json.dumps({"when": time.time(), "ua": "TestBot/1.0"}))
        done = answered(tmp_path, log, "--fields", "time=when,agent=ua", "--json")
        assert [row["outcome"] for row in done.rows] == ["cannot be told"]

    def test_request_with_a_name_of_its_own_is_ours(self, tmp_path: Path) -> None:
        crawl = judged(tmp_path)
        request = Request(f"{SITE}/own", headers={"User-Agent": "OwnBot/2.0"})
        with suppress(StopIteration):
            crawl.middleware.process_request(request).send(None)
        crawl.end()
        log = logged(tmp_path, "/own", agent="OwnBot/2.0")
        done = answered(tmp_path, log, "--json")
        assert [row["outcome"] for row in done.rows] == ["ours"]
        assert "that name testbot or ownbot, our crawl sent 1" in done.err.lower()

    def test_lines_of_other_names_claim_nothing(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        assert self.outcomes(tmp_path, "/1", agent="OtherBot/1") == []

    def test_line_of_another_time_is_beyond_the_trail(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        assert self.outcomes(tmp_path, "/x", ahead=-4000) == ["beyond"]

    @pytest.mark.parametrize("query", ["drop", "hash"])
    def test_trail_without_queries_explains_lines_too(self, tmp_path: Path, query: str) -> None:
        judged(tmp_path, REP_AUDIT_QUERY=query).end()
        assert self.outcomes(tmp_path, "/2?secret=x", "/2") == ["ours", "cannot be told"]

    @pytest.mark.parametrize("query", ["drop", "hash", "keep"])
    def test_parameters_of_paths_are_compared_as_the_trail_has_them(
        self, tmp_path: Path, query: str
    ) -> None:
        crawl = judged(tmp_path, REP_AUDIT_QUERY=query)
        crawl.judge([f"{SITE}/a;jsessionid=1A/b;v=2%3Bw=3?q"])
        crawl.end()
        assert self.outcomes(tmp_path, "/a;jsessionid=1A/b;v=2%3Bw=3?q") == ["ours"]

    def test_what_the_trail_cannot_decide_is_not_denied(self, tmp_path: Path) -> None:
        crawl = judged(tmp_path)
        crawl.know("www.a.example")
        crawl.judge(["https://www.a.example/www", f"{SITE}/x/../dots"])
        crawl.end()
        log = logged(tmp_path, "/1", "/2?secret=x", "/dots", "/robots.txt", "/www", "/other")
        log.write_text(log.read_text() + logged(tmp_path / "..", "/1", ahead=590).read_text())
        done = answered(tmp_path, log, "--json")
        assert [row["outcome"] for row in done.rows] == [
            *["ours"] * 3,
            *["cannot be told"] * 2,
            "not ours",
            "cannot be told",
        ]
        assert "for 3, the trail cannot tell" in done.err

    def test_clock_is_not_moved_to_explain_another_day(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        assert self.outcomes(tmp_path, "/1", "/2?secret=x", ahead=-86_400) == ["beyond"] * 2

    def test_small_difference_of_clocks_is_preferred(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        log = logged(tmp_path, "/1", "/2?secret=x")
        text = "".join(
            logged(tmp_path, "/1", "/2?secret=x", ahead=-3600 * hour).read_text()
            for hour in (5, 3, 0)
        )
        log.write_text(text)
        rows = answered(tmp_path, log, "--json").rows
        assert [row["outcome"] for row in rows] == [*["beyond"] * 4, *["ours"] * 2]

    def test_difference_of_clocks_is_that_of_most_lines(self, tmp_path: Path) -> None:
        crawl = judged(tmp_path)
        crawl.judge([f"{SITE}/{number}" for number in (3, 4, 5)])
        crawl.end()
        ahead = {"/3": 300, "/4": 301, "/5": 302, "/1": 500, "/2?secret=x": 500}
        texts = [logged(tmp_path, *one, ahead=by).read_text() for *one, by in ahead.items()]
        log = tmp_path / "access.log"
        log.write_text("".join(texts))
        found = re.search(r"The clock of the log is (\d+) s ahead", answered(tmp_path, log).out)
        assert found is not None
        assert 299 <= int(found[1]) <= 302

    def test_line_at_the_time_of_the_request_is_preferred(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        log = logged(tmp_path, "/1", ahead=-300)
        early = log.read_text()
        log.write_text(early + logged(tmp_path, "/1", "/2?secret=x").read_text())
        rows = answered(tmp_path, log, "--json").rows
        assert [row["outcome"] for row in rows] == ["cannot be told", "ours", "ours"]

    def test_targets_of_other_sites_do_not_matter(self, tmp_path: Path) -> None:
        crawl = judged(tmp_path)
        crawl.judge(["https://b.example/other"])
        crawl.end()
        assert self.outcomes(tmp_path, "/other") == ["not ours"]

    def test_fetch_of_robots_txt_is_never_denied(self, tmp_path: Path) -> None:
        crawl = Judged(tmp_path)
        crawl.judge([f"{SITE}/1"], dont_obey_robotstxt=True)
        crawl.end()
        assert self.outcomes(tmp_path, "/robots.txt", "/x") == ["cannot be told", "not ours"]

    def test_damage_of_runs_at_other_times_does_not_matter(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() - 90_000)
        judged(tmp_path)  # without an end
        monkeypatch.undo()
        judged(tmp_path).end()
        done = rep("log", logged(tmp_path, "/1", "/x"), "--trail", tmp_path, "--site", SITE)
        assert done.status == 0, done.out
        assert "our audit trail (1 run, " in done.out

    def test_runs_of_a_folder_are_used_together(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        crawl = Judged(tmp_path)
        crawl.know("a.example")
        crawl.judge([f"{SITE}/second"])
        crawl.end()
        log = logged(tmp_path, "/1", "/second", "/third")
        done = rep("log", log, "--trail", tmp_path, "--site", SITE, "--json")
        assert [row["outcome"] for row in done.rows] == ["ours", "ours", "not ours"]
        assert "our audit trail (2 runs, " in done.err
        assert [row["outcome"] for row in answered(tmp_path, log, "--json").rows][1] == "ours"

    def test_line_is_compared_with_the_run_of_its_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = time.time
        for hours in range(9, 0, -1):
            monkeypatch.setattr(time, "time", lambda hours=hours: now() - hours * 3600)
            judged(tmp_path).end()
        monkeypatch.undo()
        texts = [
            logged(tmp_path, "/1", "/2?secret=x", ahead=-hours * 3600 + 90).read_text()
            for hours in (6, 5, 4, 3, 2, 1)
        ]
        log = tmp_path / "access.log"
        log.write_text("".join(texts))
        done = rep("log", log, "--trail", tmp_path, "--site", SITE, "--json")
        assert {row["outcome"] for row in done.rows} == {"ours"}
        ahead = re.search(r"The clock of the log is (-?\d+) s ahead", done.err)
        assert ahead is not None
        assert 85 <= int(ahead[1]) <= 92

    def test_requests_against_the_rules_are_told(self, tmp_path: Path) -> None:
        crawl = judged(tmp_path, REP_DRY_RUN=True)
        crawl.judge([f"{SITE}/private/2"], dont_obey_robotstxt=True)
        crawl.end()
        log = logged(tmp_path, "/1", "/private", "/private/2")
        done = answered(tmp_path, log, "--json")
        assert done.status == 1
        assert [row["outcome"] for row in done.rows] == ["ours", "against", "against"]
        assert "line 3: Disallow: /private" in done.rows[1]["why"]
        assert "line 3" in done.rows[2]["why"]
        assert "2 of them against the robots.txt that it had, and 0 without" in done.err

    def test_exempt_request_without_a_known_file_is_not_called_allowed(
        self, tmp_path: Path
    ) -> None:
        crawl = judged(tmp_path, REP_AUDIT_QUERY="drop")
        crawl.judge([f"{SITE}/private/2?q"], dont_obey_robotstxt=True)
        crawl.end()
        done = answered(tmp_path, logged(tmp_path, "/private/2?q"), "--json")
        assert [row["outcome"] for row in done.rows] == ["ours, rules unknown"]
        assert "sent 1, 0 of them against the robots.txt that it had, and 1 without" in done.err

    @pytest.mark.parametrize("by", [AGAIN, CAME_BACK])
    def test_request_that_is_decided_again_explains_one_line(self, tmp_path: Path, by: str) -> None:
        crawl = judged(tmp_path)
        verdict = crawl.know("a.example").verdict(f"{SITE}/1", ("testbot",))
        crawl.trail.decided(f"{SITE}/1", verdict, by, PASSED)
        crawl.end()
        assert self.outcomes(tmp_path, "/1", "/1") == ["ours", "cannot be told"]

    def test_request_that_was_dropped_later_is_neither_ours_nor_denied(
        self, tmp_path: Path
    ) -> None:
        crawl = judged(tmp_path)
        crawl.trail.dropped_later(f"{SITE}/1", None)
        crawl.end()
        assert self.outcomes(tmp_path, "/1", "/2?secret=x") == ["cannot be told", "ours"]

    def test_trail_without_an_end_settles_nothing(self, tmp_path: Path) -> None:
        crawl = judged(tmp_path)
        log = logged(tmp_path, "/1")
        done = answered(tmp_path, log)
        assert done.status == 4
        assert "the trail has no end" in done.out
        assert self.outcomes(tmp_path, "/x") == ["cannot be told"]
        crawl.end()
        assert answered(tmp_path, log).status == 0


class TestForms:
    def test_unreadable_line_is_told(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        log = logged(tmp_path, "/1")
        log.write_text(log.read_text() + "nonsense\n")
        assert "1 unreadable line; the first: " in answered(tmp_path, log).out

    def test_table_fits_a_narrow_terminal(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        log = logged(tmp_path, "/1", "/category/" + "shoes/" * 40 + "item-1", "/2?secret=x")
        log.write_text(
            log.read_text().replace("192.0.2.1", "2001:db8:1111:2222:3333:4444:5555:6666")
        )
        done = answered(tmp_path, log, is_terminal=True)
        _, _, *lines = done.out.splitlines()
        assert max(map(len, lines)) <= 80
        (path,) = [one for one in lines if "/category/shoes/" in one]
        assert path.startswith("not ours ")
        assert path.endswith("/item-1")
        assert "2001:db8:1111:2222:3333:4444:5555:6666: decision 1 at " in " ".join(
            done.out.split()
        )

    def test_long_answers_are_shown_in_part(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        done = answered(tmp_path, logged(tmp_path, *["/x"] * 1001))
        assert done.out.count("not ours  ") == 1000
        assert "note: At most 1,000 rows are shown; --csv has all." in done.out


class TestFullDisks:
    @pytest.mark.parametrize(("free_octets", "count"), [(0, 1), (1 << 14, 2000)])
    def test_full_disk_under_the_lines_is_told(
        self,
        tmp_path: Path,
        small_disk: Path,
        monkeypatch: pytest.MonkeyPatch,
        free_octets: int,
        count: int,
    ) -> None:
        judged(tmp_path).end()
        log = logged(tmp_path, "/1", *["/2?secret=x"] * count)
        monkeypatch.setattr("tempfile.tempdir", str(small_disk))
        (small_disk / "full").write_bytes(bytes((1 << 16) - free_octets))
        done = answered(tmp_path, log)
        assert (done.status, done.out) == (74, "")
        assert done.err.splitlines()[0].endswith("cannot write: [Errno 28] No space left on device")
        assert len(done.err.splitlines()) == 1

    def test_full_disk_without_room_for_any_file_is_told(self, tmp_path: Path) -> None:
        judged(tmp_path).end()
        log = logged(tmp_path, "/1", "/x")
        call = [sys.executable, "-c", WITHOUT_ROOM, "log", log, "--trail", tmp_path / "latest"]
        command = [*map(str, call), "--site", SITE]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (74, "")
        assert re.fullmatch("scrapy-rep log: cannot write: .*\n", done.stderr), done.stderr


class TestExcerpts:
    @pytest.fixture
    def excerpt(self, tmp_path: Path) -> Path:
        judged(tmp_path).end()
        assert rep("identity", "keygen", tmp_path / "bot.pem").status == 0
        path = tmp_path / "excerpt.jsonl"
        settings: dict[str, Any] = {
            "REP_SIGN_KEY": str(tmp_path / "bot.pem"),
            "REP_SIGN_AGENT": "https://bot.example",
        }
        done = answered(tmp_path, logged(tmp_path, "/1", "/x"), "--sign", path, **settings)
        assert done.status == 0, done.err
        return path

    def test_excerpt_has_only_the_records_of_the_site(self, excerpt: Path) -> None:
        head, *found, end = [json.loads(line) for line in excerpt.read_text().splitlines()]
        assert "1 are not ours" in head["sentence"]
        assert [record["t"] for record in found] == ["run", "policy", *["decision"] * 3]
        assert found[1]["body"].startswith("sha256:")
        assert end["jwk"]["crv"] == "Ed25519"
        assert "b.example" not in excerpt.read_text()
        assert excerpt.stat().st_mode & 0o077 == 0

    def test_excerpt_verifies_without_scrapy(self, excerpt: Path) -> None:
        command = [sys.executable, "-c", WITHOUT_SCRAPY, "log", "--verify", str(excerpt)]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "The excerpt verifies, with 5 records. Its key is " in done.stdout
        assert ", of https://bot.example\nOf 2 requests to a.example" in done.stdout

    def test_long_excerpt_verifies(self, tmp_path: Path) -> None:
        crawl = judged(tmp_path)
        crawl.judge([f"{SITE}/{number}{'x' * 1_000_000}" for number in range(17)])
        crawl.end()
        assert rep("identity", "keygen", tmp_path / "bot.pem").status == 0
        settings: dict[str, Any] = {
            "REP_SIGN_KEY": str(tmp_path / "bot.pem"),
            "REP_SIGN_AGENT": "https://b.example",
        }
        path = tmp_path / "excerpt.jsonl"
        answered(tmp_path, logged(tmp_path, "/1"), "--sign", path, **settings)
        assert path.stat().st_size > 1 << 24
        assert rep("log", "--verify", path).status == 0

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b'"allowed":false', b'"allowed":true'),
            (b'"t":"policy"', b'"t":"policx"'),
            (b'"crv":"Ed25519","kty"', b'"crv":"Ed25519","ktx"'),
            (b'"signature":"', b'"signature":"AA'),
            (b"{", b"["),
        ],
    )
    def test_changed_excerpt_does_not_verify(self, excerpt: Path, old: bytes, new: bytes) -> None:
        octets = excerpt.read_bytes()
        assert old in octets
        excerpt.write_bytes(octets.replace(old, new, 1))
        done = rep("log", "--verify", excerpt)
        assert done.status == 1
        assert "does not verify" in done.err
