"""``scrapy rep log``: its table, its formats, its options and its exit statuses."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import file_entry, usual_key
from tests.commands.calling import rep, rep_process, stored
from tests.extras.accesslog import WITHOUT_SCRAPY
from tests.extras.accesslog.counted_logs import BEGIN, DAY, Sent

ROBOTS_TXT = "User-agent: *\nCrawl-delay: 10\nDisallow: /private\n"
LINES = (
    Sent(BEGIN, "GPTBot", "/robots.txt", 200),
    Sent(BEGIN + 1, "GPTBot", "/private/1", 403),
    Sent(BEGIN + 3, "GPTBot", "/private/2", 200),
    Sent(BEGIN + 9, "Googlebot", "/", 200),
    Sent(BEGIN + 9, "Quote", "/private/<b>\u202e", 301),
    Sent(BEGIN + 9, "", "/private", 200),
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("robots.txt").write_text(ROBOTS_TXT)
    Path("access.log").write_text("".join(f"{one.line}\n" for one in LINES) + "nonsense\x1b[8m\n")
    return tmp_path


CALL = ("log", "access.log", "--robots", "robots.txt")


@pytest.mark.usefixtures("here")
class TestForms:
    def test_table_shows_each_crawler_with_the_rule(self) -> None:
        done = rep(*CALL)
        assert done.status == 1
        first, head, *rows = done.out.splitlines()
        assert first.startswith("1 request went against the robots.txt of that time; 5 requests of")
        assert head.split()[:4] == ["crawler", "requests", "robots.txt", "against"]
        cells = ["GPTBot", "3", "1", "1", "0", "1", "0", "2", "(10)", "ai-training"]
        assert rows[0].split() == cells
        why = "/private/2 (200): line 3 of robots.txt (group *): Disallow: /private"
        assert rows[1] == f"    2026-10-01 00:00:03 {why}"
        assert "note: User-Agents can be forged" in done.out
        assert "note: Left out: 1 request without a crawler's name, 0 to other hosts." in done.out
        assert "1 unreadable line; the first: access.log, line 7: nonsense\\x1b[8m" in done.out

    def test_table_fits_a_screen(self) -> None:
        agent = "VeryLong" * 9 + "bot/1.0"
        Path("access.log").write_text("".join(f"{one.line}\n" for one in LINES * 999))
        with Path("access.log").open("a") as file:
            file.write(LINES[2].line.rpartition(' "')[0] + f' "{agent}"\n')
        done = rep(*CALL, is_terminal=True, environment={"NO_COLOR": "1"})
        _, head, *rows = done.out.splitlines()
        assert max(map(len, [head, *rows[:8]])) <= 80
        assert "refused" in head
        assert "    Disallow: /private" in rows

    def test_full_disk_is_told(self) -> None:
        for options in (("--json",), ("--csv",), ()):
            with Path("/dev/full").open("w") as full:
                command = [sys.executable, "-c", WITHOUT_SCRAPY, *CALL, *options]
                done = subprocess.run(
                    command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
                )
            assert done.returncode == 74
            assert "No space left on device" in done.stderr
            assert "Traceback" not in done.stderr

    def test_table_without_crawlers_has_a_head(self) -> None:
        Path("access.log").write_text(LINES[-1].line)
        (head,) = rep(*CALL, "--csv").out.splitlines()
        assert head.split(",")[:5] == ["crawler", "operator", "purpose", "identity", "requests"]

    def test_octets_that_are_no_text_are_escaped_in_files(self) -> None:
        octets = LINES[2].line.encode().replace(b"/private/2", b"/private/\xff")
        Path("access.log").write_bytes(octets)
        assert rep(*CALL, "--csv", "-o", "log.csv").status == 1
        assert b"/private/\\udcff" in Path("log.csv").read_bytes()
        assert b",None," not in Path("log.csv").read_bytes()

    def test_json_and_csv_have_the_same_rows(self) -> None:
        rows = rep(*CALL, "--json").rows
        assert [row["crawler"] for row in rows] == ["GPTBot", "Googlebot", "Quote"]
        assert (rows[0]["operator"], rows[0]["rule_line"]) == ("OpenAI", 3)
        assert (rows[1]["smallest_gap_seconds"], rows[1]["rule"]) == (None, None)
        table = list(csv.DictReader(io.StringIO(rep(*CALL, "--csv").out)))
        assert [row["crawler"] for row in table] == ["GPTBot", "Googlebot", "Quote"]
        assert table[0].keys() == rows[0].keys()
        assert rep(*CALL, "--json", "-o", "rows.jsonl").out == ""
        assert [json.loads(row) for row in Path("rows.jsonl").read_text().splitlines()] == rows

    def test_page_is_escaped_and_has_no_scripts(self) -> None:
        pytest.importorskip("jinja2")
        Path("access.log").rename("a\u202d.log")
        call = ("log", "a\u202d.log", *CALL[2:])
        assert rep(*call, "-o", "log.html").status == 1
        page = Path("log.html").read_text(encoding="utf-8")
        assert "<h1>Requests in a\\u202d.log</h1>" in page
        assert "&lt;b&gt;" in page
        assert "<b>" not in page
        assert "\u202e" not in page
        assert "\u202d" not in page
        assert "<script" not in page

    def test_page_needs_jinja(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("scrapy_rep.extras.evidence.html_page.find_spec", lambda _: None)
        done = rep(*CALL, "-o", "log.html")
        assert done.status == 2
        assert "a page needs Jinja" in done.err

    def test_lines_of_a_crawler_come_with_their_rules(self) -> None:
        done = rep(*CALL, "--lines", "gptbot")
        assert done.status == 1
        assert done.out.splitlines() == [
            LINES[1].line,
            "  refused: line 3 of robots.txt (group *): Disallow: /private",
            LINES[2].line,
            "  against: line 3 of robots.txt (group *): Disallow: /private",
        ]
        rows = rep(*CALL, "--lines", "GPTBot", "--json").rows
        assert [(row["answer"], row["text"]) for row in rows][1] == ("against", LINES[2].line)
        done = rep(*CALL, "--lines", "NoBot")
        assert done.out == ""
        assert "1 unreadable line; the first: " in done.err
        assert "nobot: no crawler was counted by this name" in done.err

    def test_crawler_with_blanks_in_its_name_has_a_row(self) -> None:
        sogou = LINES[2].line.rpartition(' "')[0] + ' "Sogou web spider/4.0(+http://x/)"'
        Path("access.log").write_text(sogou)
        (row,) = rep(*CALL, "--json").rows
        assert (row["crawler"], row["against"], row["crawl_delay_seconds"]) == (
            "Sogou web spider",
            1,
            10,
        )

    def test_standard_input_and_gzip_are_read(self) -> None:
        octets = Path("access.log").read_bytes()
        done = rep("log", "-", "--robots", "robots.txt", "--json", stdin=octets)
        assert done.rows == rep(*CALL, "--json").rows

    def test_log_is_read_without_scrapy(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_SCRAPY, *CALL],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, "")

    def test_works_as_a_command_of_scrapy(self) -> None:
        folder = Path.cwd()
        done = rep_process(
            "rep", "log", folder / "access.log", "--robots", folder / "robots.txt", "--json"
        )
        assert done.status == 1
        assert done.rows[0]["crawler"] == "GPTBot"

    def test_progress_is_shown_on_a_terminal(self) -> None:
        assert rep(*CALL, is_terminal=True).status == 1


@pytest.mark.usefixtures("here")
class TestOptions:
    def test_no_disobedience_is_status_0(self) -> None:
        Path("robots.txt").write_text("User-agent: *\nDisallow: /never\n")
        assert rep(*CALL).status == 0

    def test_old_version_is_used_for_old_lines(self) -> None:
        Path("old.txt").write_text("User-agent: *\nDisallow:\n")
        files = ("--robots", "old.txt", "--robots", "2026-09-30T23:59=robots.txt")
        later = Sent(BEGIN + 60, "GPTBot", "/private/2", 200).line
        for lines, status in (([LINES[0].line, later], 1), ([later], 0)):  # fetched, or not
            Path("access.log").write_text("\n".join(lines))
            assert rep("log", "access.log", *files).status == status

    def test_addresses_tell_who_is_genuine(self) -> None:
        text = Path("access.log").read_text()
        Path("access.log").write_text(text.replace("192.0.2.1", "66.249.66.1"))
        for file, status in (("66.249.66.0/24", "genuine"), ("66.249.67.0/24", "claimed")):
            Path("gptbot.json").write_text(json.dumps({"prefixes": [{"ipv4Prefix": file}]}))
            done = rep(*CALL, "--verify-ips", "GPTBot=gptbot.json", "--json")
            assert [row["identity"] for row in done.rows] == [status, None, None]

    def test_crawler_without_requests_is_told_if_its_addresses_are_given(self) -> None:
        Path("bot.json").write_text(json.dumps({"prefixes": [{"ipv4Prefix": "66.249.66.0/24"}]}))
        given = ("--verify-ips", "GPTBot=bot.json", "--verify-ips", "GTPBot=bot.json")
        done = rep(*CALL, *given)
        assert "gtpbot: no crawler was counted by this name" in done.out
        assert "gptbot: " not in done.out

    def test_lines_tell_genuine_requests_from_claimed_ones(self) -> None:
        texts = [LINES[2].line.replace("192.0.2.1", f"66.249.{one}.1") for one in (66, 67)]
        Path("access.log").write_text("\n".join(texts))
        Path("bot.json").write_text(json.dumps({"prefixes": [{"ipv4Prefix": "66.249.66.0/24"}]}))
        call = (*CALL, "--verify-ips", "GPTBot=bot.json", "--lines", "GPTBot")
        shown = rep(*call).out.splitlines()[1::2]
        assert [words.partition(":")[0] for words in shown] == [
            "  against (genuine)",
            "  against (claimed)",
        ]
        assert [row["identity"] for row in rep(*call, "--json").rows] == ["genuine", "claimed"]

    def test_versions_of_the_store_are_used(self, here: Path) -> None:
        origin = Origin("https", "example.com", 443)
        entries = [
            file_entry(usual_key(origin), at=BEGIN + days * DAY, body=body)
            for days, body in ((-9, ROBOTS_TXT.encode()), (1, ROBOTS_TXT.encode()), (30, b""))
        ]
        settings = stored(here, *entries, versions=5, REP_STORE_VERSIONS=5)
        call = ("log", "access.log", "--site", "https://example.com")
        done = rep(*call, settings=settings)
        assert "line 3 of https://example.com/robots.txt" in done.out, done.err
        assert done.status == 1
        done = rep("log", "access.log", "--site", "none.example", settings=settings)
        assert done.status == 3
        assert "nothing is stored for https://none.example" in done.err

    def test_change_between_two_looks_of_the_store_is_a_doubt(self, here: Path) -> None:
        origin = Origin("https", "example.com", 443)
        entries = [
            file_entry(usual_key(origin), at=BEGIN + days * DAY, body=body)
            for days, body in ((-9, ROBOTS_TXT.encode()), (5, b""))
        ]
        settings = stored(here, *entries, versions=5, REP_STORE_VERSIONS=5)
        done = rep("log", "access.log", "--site", "https://example.com", settings=settings)
        assert (done.status, done.err) == (0, "")

    def test_other_hosts_are_left_out(self) -> None:
        with Path("access.log").open("w") as file:
            file.writelines(
                f"{host} {LINES[2].line}\n" for host in ("example.com:80", "other.example:80")
            )
        done = rep(*CALL, "--site", "http://example.com")
        assert "1 request went against" in done.out
        assert "1 to other hosts" in done.out

    def test_fields_of_json_lines_are_named(self) -> None:
        row: dict[str, Any] = {"when": BEGIN, "path": "/private", "code": 200, "ua": "FooBot/1"}
        Path("log.jsonl").write_text(json.dumps(row))
        fields = "time=when,target=path,status=code,agent=ua"
        done = rep("log", "log.jsonl", "--robots", "robots.txt", "--fields", fields, "--json")
        assert done.rows[0]["against"] == 1

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ("", "give an access log"),
            ("access.log", "give --robots, --robots-git, or --site"),
            ("none.log --robots robots.txt", "none.log: No such file"),
            ("access.log --robots none.txt", "none.txt: No such file"),
            ("access.log --robots 2026-13-01=robots.txt", "robots.txt: "),
            ("access.log --robots empty", "no file has a name with a date"),
            ("access.log --robots-git robots.txt", "git rev-parse failed: "),
            ("access.log --robots robots.txt --fields when=x", "give NAME=PLACE"),
            ("access.log --robots robots.txt --verify-ips x.json", "give CRAWLER=FILE"),
            ("access.log --robots robots.txt --verify-ips x=robots.txt", "no list of prefixes"),
            ("access.log --robots robots.txt --lines x --csv", "--lines writes text or --json"),
            ("- - --robots robots.txt", "can be read only once"),
            ("access.log --trail audit", "--trail needs --site"),
            ("access.log --robots robots.txt --sign excerpt", "--sign needs --trail"),
            ("access.log --trail none --site http://h", "none: "),
        ],
    )
    def test_wrong_usage_of_log_is_explained(self, arguments: str, words: str) -> None:
        Path("empty").mkdir()
        done = rep("log", *arguments.split())
        assert done.status == 2
        assert words in done.err

    def test_damaged_log_is_not_settled(self) -> None:
        Path("access.log").write_bytes(b"\x1f\x8b\x08" + bytes(7) + b"xxxx")
        done = rep(*CALL)
        assert done.status == 4
        assert "access.log cannot be read to its end" in done.out
