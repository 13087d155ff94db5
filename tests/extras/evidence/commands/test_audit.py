"""``scrapy rep audit`` over trails that tests make."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence.replay import Replayer
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.protocol.access.events import Failure, Meaning
from tests.commands.calling import rep
from tests.extras import skip_refused
from tests.extras.evidence.audit.making import Judged, judged

SECRET = "token=s3cr3t"
URL = f"https://user:passw0rd@a.example/private/x?{SECRET}#{SECRET}"
URLS = [URL, "https://a.example/y", "https://gone.example/z", "https://down.example/z", "data:,x"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return made(tmp_path)


def made(root: Path, **settings: Any) -> Run:
    crawl = Judged(root, **settings)
    crawl.know("a.example")
    crawl.know("gone.example", b"", 404, Meaning.ALLOW)
    crawl.know("down.example", b"", Failure.TIMEOUT, Meaning.DISALLOW)
    crawl.judge(URLS)
    crawl.judge(["https://a.example/private/open"], dont_obey_robotstxt=True)
    return crawl.end()


def test_list_has_a_row_for_each_run(run: Run, tmp_path: Path) -> None:
    done = rep("audit", "list", tmp_path)
    assert done.status == 0
    head, line = done.out.splitlines()
    assert head.split() == ["run", "spider", "began", "allowed", "disallowed", "exempt", "state"]
    assert line.split()[:2] == [run.path.name, "test"]
    assert line.split()[-5:] == ["2", "2", "2", "ended:", "finished"]
    assert rep("audit", "list", settings={"REP_AUDIT_DIR": str(tmp_path)}).out == done.out
    assert json.loads(rep("audit", "list", tmp_path, "--json").out)["allowed"] == 2
    assert rep("audit", "list", tmp_path / "none").status == 2
    (tmp_path / "empty").mkdir()
    assert rep("audit", "list", tmp_path / "empty").status == 1


def test_explain_shows_line_hops_and_policy(tmp_path: Path) -> None:
    made(tmp_path)
    done = rep("audit", "explain", tmp_path / "latest", f"https://a.example/private/x?{SECRET}")
    assert done.status == 0
    assert "disallowed by line 3 (group *): Disallow: /private; dropped" in done.out
    assert "      2 | User-agent: *\n" in done.out
    assert "  >     3 | Disallow: /private\n" in done.out
    assert "from https://a.example/robots.txt (200 at 2001-09-09 01:46:40 UTC)" in done.out
    assert rep("audit", "explain", tmp_path / "latest", URL).out == done.out
    exempt = rep("audit", "explain", tmp_path / "latest", "https://a.example/private/open")
    assert "exempt (dont_obey): robots.txt was not consulted" in exempt.out
    assert rep("audit", "explain", tmp_path / "latest", "https://a.example/none").status == 1
    found = json.loads(rep("audit", "explain", tmp_path / "latest", URL, "--json").out)
    assert (found["line"], found["policy"]["event"]) == (3, "200")


def test_verify_finds_changes_and_gaps(run: Run) -> None:
    done = rep("audit", "verify", run.path)
    assert done.status == 0
    assert f"{run.name} is complete: " in done.out
    assert " exempt, 0 dropped, 0 withheld\n" in done.out
    assert run.manifest_sha256 in done.out
    (path,) = run.path.glob("*.jsonl.gz")
    octets = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(octets.replace(b'"allowed":false', b'"allowed":true', 1)))
    done = rep("audit", "verify", run.path)
    assert done.status == 1
    assert "was changed or damaged" in done.out
    assert json.loads(rep("audit", "verify", run.path, "--json").out)["problems"]
    shutil.move(path, path.with_suffix(""))
    path.with_suffix("").write_bytes(octets[: octets.rindex(b'{"t":"end"')])
    (run.path / "manifest.json").unlink()
    done = rep("audit", "verify", run.path)
    assert (done.status, "is not complete" in done.out) == (4, True)


class TestReplay:
    def test_unchanged_trail_is_confirmed(self, run: Run) -> None:
        done = rep("audit", "replay", run.path)
        assert (done.status, done.out) == (0, f"{run.name}: 4 confirmed\n")

    def test_forged_decision_differs(self, run: Run) -> None:
        (path,) = run.path.glob("*.jsonl.gz")
        octets = gzip.decompress(path.read_bytes())
        forged = re.sub(
            rb'"allowed":false(,"reason":"RULE","line":3,"rule":")Disallow(.*)dropped',
            rb'"allowed":true\1Allow\2passed',
            octets,
        )
        assert forged != octets
        path.write_bytes(gzip.compress(forged))
        done = rep("audit", "replay", run.path)
        assert done.status == 1
        assert "in the trail: allowed, RULE, line 3" in done.out
        assert "now: disallowed by line 3" in done.out
        assert "1 differs" in done.out
        lines = rep("audit", "replay", run.path, "--json").rows
        assert lines[0]["now"] == {"allowed": False, "reason": "RULE", "line": 3}
        assert lines[1]["counts"] == {"confirmed": 3, "differs": 1}

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (b'"rule":"Disallow:', b'"rule":"Allow:'),
            (b'"reason":"RULE"', b'"reason":"NO_RULE_MATCHES"'),
            (b'"line":3', b'"line":4'),
            (b'"group":"*"', b'"group":"a"'),
        ],
    )
    def test_changed_grounds_differ(self, before: bytes, after: bytes, tmp_path: Path) -> None:
        """Also in the last lines of a killed trail, which no mark covers."""
        (path,) = judged(tmp_path, [URL]).folder.glob("*.jsonl")
        octets = path.read_bytes()
        assert before in octets
        path.write_bytes(octets.replace(before, after))
        done = rep("audit", "replay", path.parent)
        assert (done.status, "1 differs" in done.out) == (1, True)

    def test_another_policy_or_agent_is_judged(self, run: Run) -> None:
        strict = rep("audit", "replay", run.path, "--policy", "lenient")
        assert strict.status == 1
        assert "https://down.example/z (number 4)" in strict.out
        other = rep("audit", "replay", run.path, "--agent", "OtherBot")
        assert (other.status, other.out) == (0, f"{run.name}: 4 confirmed\n")
        assert rep("audit", "replay", run.path, "--policy", "kind").status == 2

    def test_missing_octets_are_not_settled(self, run: Run) -> None:
        (path,) = run.path.glob("*.jsonl.gz")
        octets = gzip.decompress(path.read_bytes())
        path.write_bytes(gzip.compress(octets.replace(b'"t":"body"', b'"t":"boby"')))
        done = rep("audit", "replay", run.path)
        assert done.status == 4
        assert "2 not replayable: the octets of its file are missing" in done.out


class TestManyOrigins:
    """Each segment repeats only the policies of its decisions."""

    ORIGINS, ROUNDS = 30, 3

    def made(self, root: Path) -> Run:
        crawl = Judged(root, segment_octets=1 << 12)
        hosts = [f"h{number}.example" for number in range(self.ORIGINS)]
        for host in hosts:
            crawl.know(host)
        for _ in range(self.ROUNDS):
            for host in hosts:
                crawl.judge([f"https://{host}/private/x"])
        return crawl.end()

    def test_each_decision_has_its_own_policy(self, tmp_path: Path) -> None:
        run = self.made(tmp_path)
        assert len(run.segments) > self.ROUNDS
        assert rep("audit", "replay", run.path).out == f"{run.name}: 90 confirmed\n"
        said = rep("audit", "explain", run.path, "https://h7.example/private/x").out
        assert said.count("line 3 (group *): Disallow: /private") == self.ROUNDS
        assert said.count("robots.txt of https://h7.example: 200") == self.ROUNDS
        rows = rep("audit", "export", run.path).rows
        assert len(rows) == self.ORIGINS * self.ROUNDS
        assert all(row["url"].startswith(row["origin"]) for row in rows)

    @pytest.mark.parametrize("is_first_line_damaged", [False, True])
    @pytest.mark.parametrize("is_packed", [False, True])
    def test_policy_of_another_segment_is_not_used(
        self, is_packed: bool, is_first_line_damaged: bool, tmp_path: Path
    ) -> None:
        """Two segments have a policy of one number, and that of the second one is damaged."""
        url = "https://h.example/private/x"
        for number in (1, 2):
            crawl = Judged(tmp_path / str(number))
            if number == 1:
                crawl.know("h.example", b"", 404, Meaning.ALLOW)
            else:
                crawl.know("h.example")
            crawl.judge([url])
            (path,) = crawl.end().path.glob("*.jsonl.gz")
            octets = gzip.decompress(path.read_bytes())
            if number == 2:
                octets = octets.replace(b'"t":"policy"', b'"t":"policy')
            if number == 2 and is_first_line_damaged:
                octets = octets.replace(b'"t":"run"', b'"t":"run')
            name = f"{number}-{number:05}.jsonl"
            (tmp_path / "run").mkdir(exist_ok=True)
            (tmp_path / "run" / name).write_bytes(octets)
            if is_packed:
                (tmp_path / "run" / f"{name}.gz").write_bytes(gzip.compress(octets))
        run = Run(tmp_path / "run")
        words = [outcome.word for record, outcome, _ in Replayer(run).outcomes() if record]
        assert words == ["confirmed", "not replayable: its policy is missing"]
        rows = rep("audit", "export", run.path).rows
        assert [row.get("event") for row in rows] == ["404", None]
        said = rep("audit", "explain", run.path, url).out
        assert said.count("robots.txt of https://h.example: 404") == 1


class TestSecrets:
    """Trails have no userinfo or fragments, and queries only by the setting."""

    @staticmethod
    def written(path: Path) -> bytes:
        found = b""
        for one in path.iterdir():
            if one.name == "key":
                continue  # random octets: any of them may be a "#"
            octets = one.read_bytes()
            found += gzip.decompress(octets) if one.suffix == ".gz" else octets
        return found

    @pytest.mark.parametrize("query", ["keep", "hash", "drop"])
    def test_trail_has_no_secrets(self, tmp_path: Path, query: str) -> None:
        secrets = {
            "REP_REDIS_URL": "redis://:passw0rd@localhost",
            "REP_STORE": "memory",
            "REP_FETCH_META": {"proxy": "http://u:passw0rd@proxy.example"},
        }
        skip_refused(secrets)
        run = made(tmp_path, REP_AUDIT_QUERY=query, **secrets)
        octets = self.written(run.path)
        assert b"passw0rd" not in octets
        assert b"#" not in octets.replace(b"# who may", b"")
        assert (SECRET.encode() in octets) == (query == "keep")
        assert not check(run).problems
        out = rep("audit", "explain", run.path, URL)
        assert out.status == 0
        assert "passw0rd" not in out.out
        if query == "hash":
            assert (run.path / "key").stat().st_mode & 0o777 == 0o600

    def test_key_that_is_a_pipe_is_an_error(self, tmp_path: Path) -> None:
        run = made(tmp_path, REP_AUDIT_QUERY="hash")
        (run.path / "key").unlink()
        os.mkfifo(run.path / "key")
        done = rep("audit", "explain", run.path, URL)
        assert done.status == 2
        assert "its key cannot be read: [Errno 22] not a regular file" in done.err

    @pytest.mark.parametrize("query", ["hash", "drop"])
    def test_redacted_trail_has_no_secrets(self, run: Run, tmp_path: Path, query: str) -> None:
        target = tmp_path / "new"
        done = rep("audit", "redact", run.path, "--query", query, "-o", target)
        assert done.status == 0
        octets = self.written(target)
        assert SECRET.encode() not in octets
        new = Run(target)
        assert check(new).problems == []
        manifest = new.manifest
        assert manifest is not None
        assert manifest["redacted_from"]["manifest_sha256"] == run.manifest_sha256
        assert rep("audit", "verify", target).status == 0
        again = rep("audit", "replay", target)
        assert (again.status, "3 confirmed; 1 redacted" in again.out) == (4, True)
        explained = rep("audit", "explain", target, URL)
        assert (explained.status, "line 3" in explained.out) == (
            (0, True) if query == "drop" else (1, False)
        )
        assert rep("audit", "redact", run.path, "-o", target).status == 2, "it is there already"


def test_export_writes_each_decision(run: Run, tmp_path: Path) -> None:
    rows = rep("audit", "export", run.path).rows
    assert [row["n"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert (rows[0]["line"], rows[0]["origin"]) == (3, "https://a.example")
    path = tmp_path / "decisions.csv"
    assert rep("audit", "export", run.path, "--format", "csv", "-o", path).status == 0
    with path.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [row["url"] for row in table] == [row["url"] for row in rows]
    assert table[0]["rule"] == "Disallow: /private"
    assert path.stat().st_mode & 0o777 == 0o600, "like the trail"
    path.chmod(0o644)
    assert rep("audit", "export", run.path, "-o", path).status == 0
    assert path.stat().st_mode & 0o777 == 0o644, "the user's choice"


def test_session_in_a_path_is_dropped(tmp_path: Path) -> None:
    """From the beginning, or by `redact`; decisions on such URLs cannot be made again."""
    url = "https://a.example/x;jsessionid=s3cr3t"
    judged(tmp_path / "kept", [url]).end()
    run = judged(tmp_path / "dropped", [url], REP_AUDIT_QUERY="drop").end()
    rep("audit", "redact", next((tmp_path / "kept").glob("2*")), "-o", tmp_path / "redacted")
    for folder in (run.path, tmp_path / "redacted"):
        exported = rep("audit", "export", folder).out
        assert "s3cr3t" not in exported
        assert '/x;jsessionid="' in exported
        assert "1 redacted" in rep("audit", "replay", folder).out
    assert rep("audit", "explain", run.path, url).status == 0


def test_verify_compares_the_digest_of_the_manifest(tmp_path: Path) -> None:
    run = judged(tmp_path, ["https://a.example/x"]).end()
    kept = run.manifest_sha256
    assert rep("audit", "verify", run.path, "--manifest", kept.upper()).status == 0
    done = rep("audit", "verify", run.path, "--manifest", "0" * 64)
    assert done.status == 1
    assert f"wrong: the SHA-256 of manifest.json is {kept}, not {'0' * 64}" in done.out
    assert rep("audit", "verify", run.path, "--manifest", "4711").status == 2
    assert rep("audit", "replay", run.path, "--manifest", kept).status == 2
