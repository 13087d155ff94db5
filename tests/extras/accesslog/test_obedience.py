"""A crawler is judged by the files that it could know, under the name that it claims."""

from __future__ import annotations

import math
import subprocess
from functools import partial
from pathlib import Path

import pytest

from scrapy_rep.commands.running import CommandError
from scrapy_rep.extras.accesslog import file_versions
from scrapy_rep.extras.accesslog.file_versions import FileVersion, index_at, named_versions
from scrapy_rep.extras.accesslog.log_lines import LogLine
from scrapy_rep.extras.accesslog.obedience import (
    AGAINST,
    COUNTS,
    FETCHES,
    MOST_CRAWLERS,
    REDIRECTED,
    REFUSED,
    REQUESTS,
    UNJUDGED,
    CrawlerTally,
    Obedience,
)

OPEN, SHUT = b"User-agent: *\nDisallow:\n", b"User-agent: *\nDisallow: /private\n"
BOT = "FooBot/1.0"
MINUTE, HOUR, DAY = 60, 3600, 86_400


def versions(*bodies: tuple[float, bytes]) -> list[FileVersion]:
    return [FileVersion(since, f"file of {since}", partial(bytes, body)) for since, body in bodies]


def line(at: float, target: str = "/private", status: int = 200, agent: str = BOT) -> LogLine:
    return LogLine(at, "192.0.2.1", target, status, agent, "")


def tallied(files: list[FileVersion], *lines: LogLine) -> CrawlerTally:
    judge = Obedience(files, {})
    for one in lines:
        judge.take(one)
    (tally,) = judge.tallies()
    return tally


def against(files: list[FileVersion], *lines: LogLine) -> int:
    return tallied(files, *lines).counts[AGAINST]


class TestWhatACrawlerCouldKnow:
    CHANGED = versions((0, OPEN), (10 * DAY, SHUT))

    def test_new_rule_counts_after_a_day(self) -> None:
        assert against(self.CHANGED, line(11 * DAY + MINUTE - 1)) == 0
        assert against(self.CHANGED, line(11 * DAY + MINUTE)) == 1

    @pytest.mark.parametrize("status", [200, 304])
    def test_new_rule_counts_from_the_next_fetch_on(self, status: int) -> None:
        fetch = line(10 * DAY + HOUR, "/robots.txt", status)
        assert against(self.CHANGED, fetch, line(10 * DAY + HOUR + MINUTE)) == 1
        assert against(self.CHANGED, fetch, line(10 * DAY + HOUR - 1)) == 0

    @pytest.mark.parametrize("seconds", [0, 1, 59])
    def test_request_may_be_sent_a_minute_before_its_line(self, seconds: int) -> None:
        fetch = line(10 * DAY + HOUR, "/robots.txt")
        assert against(self.CHANGED, fetch, line(10 * DAY + HOUR + seconds)) == 0

    def test_fetch_may_get_the_file_of_a_minute_before_its_line(self) -> None:
        fetch = line(10 * DAY + 59, "/robots.txt")
        assert against(self.CHANGED, fetch, line(10 * DAY + HOUR)) == 0

    def test_fetch_of_another_crawler_does_not_count(self) -> None:
        judge = Obedience(self.CHANGED, {})
        judge.take(line(10 * DAY + HOUR, "/robots.txt", agent="BarBot/1.0"))
        assert judge.take(line(10 * DAY + 2 * HOUR)) is None

    @pytest.mark.parametrize("status", [301, 429, 500, 503])
    def test_failed_fetch_teaches_nothing(self, status: int) -> None:
        fetch = line(10 * DAY + HOUR, "/robots.txt", status)
        assert against(self.CHANGED, fetch, line(10 * DAY + 2 * HOUR)) == 0
        fetch = line(20 * DAY, "/robots.txt", status)
        assert against(self.CHANGED, fetch, line(20 * DAY + HOUR)) == 1

    @pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("POST", 200), ("GET", 206)])
    def test_fetch_without_the_whole_file_teaches_nothing(self, method: str, status: int) -> None:
        fetch = line(10 * DAY + HOUR, "/robots.txt", status)._replace(method=method)
        assert against(self.CHANGED, fetch, line(10 * DAY + 2 * HOUR)) == 0

    @pytest.mark.parametrize("status", [401, 403, 404, 410])
    def test_missing_file_permits_everything_for_a_day(self, status: int) -> None:
        fetch = line(20 * DAY, "/robots.txt", status)
        assert against(self.CHANGED, fetch, line(21 * DAY + MINUTE)) == 0
        assert against(self.CHANGED, fetch, line(21 * DAY + MINUTE + 1)) == 1

    def test_doubt_about_a_missing_file_permits_everything(self) -> None:
        missing, found = line(20 * DAY, "/robots.txt", 404), line(20 * DAY + HOUR, "/robots.txt")
        assert against(self.CHANGED, missing, found, line(20 * DAY + HOUR + MINUTE - 1)) == 0
        assert against(self.CHANGED, missing, found, line(20 * DAY + HOUR + MINUTE)) == 1
        missing = missing._replace(at=found.at + HOUR)
        assert against(self.CHANGED, found, missing, line(missing.at)) == 0

    def test_fetches_may_be_slightly_out_of_order(self) -> None:
        found, missing = line(20 * DAY, "/robots.txt"), line(20 * DAY - 9, "/robots.txt", 404)
        assert against(self.CHANGED, found, missing, line(20 * DAY + HOUR)) == 1

    def test_rule_that_was_removed_does_not_count(self) -> None:
        removed = versions((0, SHUT), (10 * DAY, OPEN))
        assert against(removed, line(10 * DAY - 1)) == 1
        assert against(removed, line(10 * DAY + 1)) == 0

    def test_request_before_the_first_file_is_not_judged(self) -> None:
        tally = tallied(versions((10 * DAY, SHUT)), line(10 * DAY + HOUR))
        assert {name: tally.counts[name] for name in COUNTS if tally.counts[name]} == {
            REQUESTS: 1,
            UNJUDGED: 1,
        }

    def test_lines_may_be_slightly_out_of_order(self) -> None:
        lines = [line(at, "/open") for at in (10, 13, 11, 30, 29.5)]
        assert tallied(versions((-math.inf, SHUT)), *lines).smallest_gap == 0.5
        lines = [line(at, "/open") for at in (10, 20, 12, 21)]
        assert tallied(versions((-math.inf, SHUT)), *lines).smallest_gap == 1


class TestWhatCounts:
    FILES = versions((-math.inf, SHUT + b"\nUser-agent: MJ12bot\nDisallow: /x\n"))

    def test_robots_txt_itself_is_always_allowed(self) -> None:
        shut = versions((-math.inf, b"User-agent: *\nDisallow: /\n"))
        tally = tallied(shut, line(0, "/robots.txt"), line(1, "/%72obots.txt"))
        assert (tally.counts[AGAINST], tally.counts[FETCHES]) == (0, 2)
        assert against(shut, line(0, "/robots.txt?x")) == 1

    @pytest.mark.parametrize(
        ("status", "answer"),
        [(200, AGAINST), (304, AGAINST), (404, AGAINST), (302, REDIRECTED), (403, REFUSED)],
    )
    def test_redirected_and_refused_requests_are_apart(self, status: int, answer: str) -> None:
        tally = tallied(self.FILES, line(0, status=status))
        assert tally.counts[answer] == 1
        assert tally.example is not None
        assert (tally.example.answer, tally.example.verdict.line) == (answer, 2)

    def test_first_request_that_was_served_is_the_example(self) -> None:
        tally = tallied(self.FILES, line(0, status=403), line(1, "/private/1"), line(2))
        assert tally.example is not None
        assert tally.example.line.target == "/private/1"

    @pytest.mark.parametrize(
        "target", ["//private", "/a/../private", "/%70rivate", "http://example.com/private"]
    )
    def test_paths_are_compared_in_normal_form(self, target: str) -> None:
        expected = 0 if target == "//private" else 1
        assert against(self.FILES, line(0, target)) == expected

    @pytest.mark.parametrize("target", ["", "*", "example.com:443", "x?u=http://y/private"])
    def test_request_without_a_path_is_not_judged(self, target: str) -> None:
        shut = versions((-math.inf, b"User-agent: *\nDisallow: /\n"))
        assert tallied(shut, line(0, target)).counts[UNJUDGED] == 1

    def test_each_crawler_takes_its_own_group(self) -> None:
        judge = Obedience(self.FILES, {})
        for agent in ("MJ12bot/v1.4", "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://x/)"):
            assert judge.take(line(0, "/private", agent=agent)) is None
            assert judge.take(line(0, "/x", agent=agent)) is not None
        (tally,) = judge.tallies()
        assert (tally.claim.name, tally.counts[REQUESTS]) == ("MJ12bot", 4)

    def test_header_with_two_names_may_obey_either(self) -> None:
        agent = "FooBot/1.0 (compatible; MJ12bot/1; +http://x/)"
        judge = Obedience(versions((-math.inf, b"User-agent: MJ12bot\nDisallow: /\n\n" + SHUT)), {})
        assert judge.take(line(0, "/x", agent=agent)) is None
        assert judge.take(line(0, "/private", agent=agent)) is not None

        judge = Obedience(versions((-math.inf, b"User-agent: FooBot\nDisallow: /\n\n" + SHUT)), {})
        assert judge.take(line(0, "/x", agent=agent)) is None
        assert judge.take(line(0, "/private", agent=agent)) is not None

    def test_worst_crawler_comes_first(self) -> None:
        judge = Obedience(self.FILES, {})
        for agent, targets in (("a", "/x"), ("b", "/x /x"), ("c", "/x"), ("z", "/private")):
            for target in targets.split():
                judge.take(line(0, target, agent=f"{agent}bot/1"))
        assert [one.claim.name for one in judge.tallies()] == ["zbot", "bbot", "abot", "cbot"]

    def test_too_much_work_is_no_verdict(self) -> None:
        rules = "".join(f"Disallow: /*a*b*c*{number}*d\n" for number in range(20_000))
        shut = versions((-math.inf, f"User-agent: *\n{rules}".encode()))
        tally = tallied(shut, line(0, "/" + "abc" * 20_000))
        assert (tally.counts[UNJUDGED], tally.counts[AGAINST]) == (1, 0)

    def test_file_that_a_further_crawler_lacks_does_not_count(self) -> None:
        judge = Obedience(self.FILES, {})
        for number in range(MOST_CRAWLERS):
            judge.take(line(number, agent=f"bot.{number}/1"))
        judge.take(line(0, "/robots.txt", 404, agent="further/1"))
        assert judge.take(line(1, agent="further/1")) is None

    def test_fetch_of_another_further_crawler_does_not_count(self) -> None:
        judge = Obedience(versions((0, OPEN), (10 * DAY, SHUT)), {})
        for number in range(MOST_CRAWLERS):
            judge.take(line(number, agent=f"bot.{number}/1"))
        judge.take(line(10 * DAY + HOUR, "/robots.txt", agent="further/1"))
        assert judge.take(line(10 * DAY + 2 * HOUR, agent="other/1")) is None

    def test_further_crawlers_are_counted_as_one(self) -> None:
        judge = Obedience(self.FILES, {})
        for number in range(MOST_CRAWLERS + 5):
            judge.take(line(number, agent=f"bot.{number}/1"))
        judge.take(line(0, agent="GPTBot/1.2"))
        tallies = {one.claim.name: one.counts[AGAINST] for one in judge.tallies()}
        assert tallies["(others)"] == 5
        assert len(tallies) == MOST_CRAWLERS + 2


@pytest.mark.parametrize(
    "agent",
    [
        "",
        "Mozilla/5.0 (X11; Linux) Gecko/1 Firefox/130.0",
        "Mozilla/5.0 (iPhone) AppleWebKit/605 (KHTML, like Gecko) GSA/277.0 Safari/604.1",
        "Mozilla/5.0 (Android) (KHTML, like Gecko) Chrome/120 Safari/537 DuckDuckGo/5",
    ],
)
def test_browsers_are_left_out(agent: str) -> None:
    judge = Obedience(TestWhatCounts.FILES, {})
    assert judge.take(line(0, agent=agent)) is None
    assert (judge.tallies(), judge.unnamed_count) == ([], 1)


class TestVersions:
    def test_file_of_a_date_counts_from_the_end_of_that_day_on(self, tmp_path: Path) -> None:
        for date, body in (("2026-09-01", OPEN), ("2026-10-01", SHUT)):
            (tmp_path / f"{date}.txt").write_bytes(body)
        day = 1_790_812_800
        for path, count in ((str(tmp_path), 0), (f"2026-10-01T00:00={tmp_path}/2026-10-01.txt", 1)):
            files = named_versions([path])
            fetch = line(day + HOUR, "/robots.txt")
            assert against(files, fetch, line(day + 2 * HOUR)) == count
            fetch = line(day + DAY + MINUTE, "/robots.txt")
            assert against(files, fetch, line(day + DAY + HOUR)) == 1

    def test_two_files_for_the_same_time_are_refused(self, tmp_path: Path) -> None:
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_bytes(OPEN)
        with pytest.raises(CommandError, match="are for the same time"):
            named_versions([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])

    def test_file_of_a_day_and_one_of_a_time_of_that_day_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_bytes(OPEN)
        dated = [f"{date}={tmp_path}/a.txt" for date in ("2026-10-01", "2026-10-01T12:00")]
        with pytest.raises(CommandError, match="are for the same time"):
            named_versions(dated)
        assert len(named_versions([dated[0], f"2026-10-02={tmp_path}/a.txt"])) == 2

    def test_arguments_name_versions(self, tmp_path: Path) -> None:
        (tmp_path / "old.txt").write_bytes(OPEN)
        folder = tmp_path / "copies"
        folder.mkdir()
        for name in ("robots-2026-10-03.txt", "robots.txt.2026-10-02T08:30", "README"):
            (folder / name).write_bytes(SHUT)
        old = str(tmp_path / "old.txt")
        found = sorted(named_versions([old, f"2026-10-01={old}", str(folder)]))
        day = 1_790_812_800
        assert [one.since for one in found] == [
            -math.inf,
            day,
            day + DAY + 8.5 * HOUR,
            day + 2 * DAY,
        ]
        assert [one.read() for one in found] == [OPEN, OPEN, SHUT, SHUT]
        assert index_at(found, day - 1) == 0
        assert index_at(found[1:], day - 1) == -1


class TestVersionsInGit:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        """A file with two commits of the same second."""
        git(tmp_path, "init", "-qb", "main")
        file = tmp_path / "robots.txt"
        for body in (OPEN, SHUT):
            commit(file, body)
        return file

    def bodies(self, path: Path) -> list[tuple[float, bytes]]:
        found = sorted(file_versions.git_versions(path), key=lambda one: one.since)
        return [(one.since, one.read()) for one in found]

    def test_commits_of_git_are_versions(self, file: Path) -> None:
        git(file.parent, "rm", "-q", "robots.txt")
        git(file.parent, "commit", "-qm", "x", at=AT + 1)
        for path in (file.parent, file):
            assert self.bodies(path) == [(AT, OPEN), (AT, SHUT), (AT + 1, b"")]

    def test_change_on_a_branch_counts_from_the_merge_on(self, file: Path) -> None:
        git(file.parent, "checkout", "-qb", "next")
        commit(file, OPEN, at=AT + 5)
        git(file.parent, "checkout", "-q", "main")
        git(file.parent, "merge", "-q", "--no-ff", "next", at=AT + 9)
        assert self.bodies(file) == [(AT, OPEN), (AT, SHUT), (AT + 9, OPEN)]

    def test_clock_of_a_commit_that_was_wrong_is_a_doubt(self, file: Path) -> None:
        commit(file, OPEN, at=AT - HOUR)
        commit(file, SHUT, at=AT + 9 * DAY)
        fetches = [line(at, "/robots.txt") for at in (AT - 2 * HOUR, AT + 2 * HOUR)]
        found = [*file_versions.git_versions(file)]
        assert against(found, *fetches, line(AT + 3 * HOUR)) == 0
        assert against(found, line(AT + 11 * DAY)) == 1

    @pytest.mark.parametrize("setting", ["log.follow=true", "log.showRoot=false"])
    def test_settings_of_git_hide_no_version(self, file: Path, setting: str) -> None:
        git(file.parent, "mv", "robots.txt", "old.txt")
        git(file.parent, "commit", "-qm", "x", at=AT + 1)
        git(file.parent, "mv", "old.txt", "robots.txt")
        git(file.parent, "commit", "-qm", "x", at=AT + 2)
        commit(file, OPEN, at=AT + 3)
        git(file.parent, "config", *setting.split("="))
        found = [(AT, OPEN), (AT, SHUT), (AT + 1, b""), (AT + 2, SHUT), (AT + 3, OPEN)]
        assert self.bodies(file) == found

    def test_missing_object_is_not_an_empty_file(self, file: Path) -> None:
        digest = git(file.parent, "rev-parse", "HEAD:robots.txt")
        (file.parent / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
        with pytest.raises(CommandError, match="git cat-file failed: "):
            self.bodies(file)

    def test_shallow_clone_is_refused(self, file: Path) -> None:
        clone = file.parent / "clone"
        git(file.parent, "clone", "-q", "--depth=1", f"file://{file.parent}", str(clone))
        with pytest.raises(CommandError, match="shallow clone lacks versions"):
            self.bodies(clone)

    def test_link_is_not_a_file(self, file: Path) -> None:
        file.unlink()
        file.symlink_to("public/robots.txt")
        git(file.parent, "commit", "-qam", "x")
        with pytest.raises(CommandError, match="not a regular file"):
            self.bodies(file)

    def test_file_without_a_commit_is_an_error(self, file: Path) -> None:
        with pytest.raises(CommandError, match="git knows no version of this file"):
            self.bodies(file.with_name("other.txt"))

    def test_failing_git_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(CommandError, match=r"git rev-parse failed: .*not a git repository"):
            self.bodies(tmp_path)
        with pytest.raises(CommandError, match="git rev-parse failed: "):
            self.bodies(tmp_path / "none" / "robots.txt")
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(CommandError, match="git: No such file"):
            self.bodies(tmp_path)


AT = 1_600_000_000


def git(folder: Path, *arguments: str, at: int = AT) -> str:
    when = {"GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"}
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    command = ["git", "-C", str(folder), *who, *arguments]
    environment = {"PATH": "/usr/bin:/bin", **when}
    done = subprocess.run(command, check=True, capture_output=True, env=environment, text=True)
    return done.stdout.strip()


def commit(file: Path, body: bytes, at: int = AT) -> None:
    file.write_bytes(body)
    git(file.parent, "add", file.name)
    git(file.parent, "commit", "-qm", "x", at=at)
