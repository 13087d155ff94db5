"""An unchanged trail is complete; a change of one octet is found."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.spool import MANIFEST
from scrapy_rep.extras.evidence.trail_check import TrailCheck, check
from scrapy_rep.extras.evidence.trail_reading import Run
from tests.commands.calling import rep
from tests.extras.evidence.audit.making import judged
from tests.extras.evidence.report.making import Made

URLS = [f"https://{host}.example/{path}" for host in "ab" for path in ("x", "private/y", "z?q=1")]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    crawl = judged(tmp_path)
    crawl.know("b.example", b"User-agent: *\nDisallow: /\n\xff")
    crawl.judge(URLS)
    crawl.judge(URLS[:1], dont_obey_robotstxt=True)
    return crawl.end()


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The only file of a killed trail; no mark covers its last lines."""
    (path,) = judged(tmp_path, URLS[:3]).folder.glob("*.jsonl")
    return path


def again(run: Run) -> TrailCheck:
    return check(Run(run.path))


def changed(run: Run, change: Callable[[bytes], bytes]) -> TrailCheck:
    """The check of a trail after a change in its only segment."""
    (path,) = run.path.glob("*.jsonl.gz")
    before = gzip.decompress(path.read_bytes())
    after = change(before)
    assert after != before
    path.write_bytes(gzip.compress(after))
    return again(run)


def test_unchanged_trail_is_complete(run: Run) -> None:
    found = check(run)
    assert (found.problems, found.missing, found.unmarked, found.last_n) == ([], [], 0, 7)
    assert dict(found.counts) == {"allowed": 2, "disallowed": 4, "exempt": 1}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b"Disallow: /private", b"Disallow: /privatf", "the digest of the octets is not 8d5c"),
        (b"https://a.example/private/y", b"https://a.example/private/x", "changed: their digest"),
        (b'"line":3', b'"line":4', "changed: their digest"),
        (b'"allowed":false', b'"allowed":true', "changed: their digest"),
        (b'"sha256":"', b'"sha256":"0', "their digest is not that"),
        (b'"n":2', b'"n":3', "the numbers 2 to 2 are missing"),
        (b'"p":1,"at"', b'"p":9,"at"', "policy 1 is missing"),
        (b'"t":"end"', b'"t":"fin"', "unknown kind of record"),
    ],
)
def test_change_is_named(run: Run, before: bytes, after: bytes, said: str) -> None:
    found = changed(run, lambda octets: octets.replace(before, after, 1))
    assert any(said in problem for problem in found.problems + found.missing), found.problems
    assert found.problems


def test_change_of_any_bit_is_found(run: Run) -> None:
    (path,) = run.path.glob("*.jsonl.gz")
    octets = gzip.decompress(path.read_bytes())
    draw = random.Random(7)
    for place in draw.sample(range(len(octets)), 150):
        flipped = bytearray(octets)
        flipped[place] ^= 1 << draw.randrange(7)
        path.write_bytes(gzip.compress(bytes(flipped)))
        assert again(run).problems, octets[max(place - 20, 0) : place + 20]


def test_cut_file_is_found(run: Run) -> None:
    (path,) = run.path.glob("*.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-40])
    assert any("cannot be read to its end" in problem for problem in again(run).problems)


def test_removed_or_added_file_is_found(run: Run) -> None:
    (path,) = run.path.glob("*.jsonl.gz")
    copy = path.with_name(path.name.replace("00001", "00002"))
    copy.write_bytes(path.read_bytes())
    assert again(run).problems
    copy.unlink()
    assert not again(run).problems
    path.unlink()
    assert any("but missing" in problem for problem in again(run).problems)


def test_manifest_has_the_digests_of_the_lines(run: Run) -> None:
    """They are of the unpacked lines, as by the command in docs/audit.md."""
    for told in json.loads((run.path / MANIFEST).read_bytes())["segments"]:
        lines = gzip.decompress((run.path / told["name"]).read_bytes())
        assert hashlib.sha256(lines).hexdigest() == told["sha256"]


def test_changed_or_missing_manifest_is_found(run: Run) -> None:
    path = run.path / MANIFEST
    held = json.loads(path.read_bytes())
    held["segments"][0]["records"] += 1
    path.write_text(json.dumps(held))
    assert any("in the manifest" in problem for problem in again(run).problems)
    path.unlink()
    assert any("manifest.json is missing" in problem for problem in again(run).problems)


def test_killed_trail_is_complete_up_to_a_number(killed: Path) -> None:
    whole = check(Run(killed.parent))
    assert not whole.problems
    assert "complete up to number 3" in " ".join(whole.missing)
    killed.write_bytes(killed.read_bytes()[:-7])
    torn = check(Run(killed.parent))
    assert not torn.problems
    assert "complete up to number 2" in " ".join(torn.missing)
    assert any("torn" in lack for lack in torn.missing)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"allowed":false', b'"allowed":true'),
        (b'"outcome":"passed"', b'"outcome":"dropped"'),
        (b'"outcome":"passed"', b'"outcome":"banana"'),
        (b',"rule":"Disallow: /private"', b""),
        (b'"line":3,', b""),
    ],
)
def test_all_readers_find_a_contradiction_in_a_decision(
    before: bytes, after: bytes, killed: Path
) -> None:
    octets = killed.read_bytes()
    assert before in octets
    killed.write_bytes(octets.replace(before, after, 1))
    found = check(Run(killed.parent))
    assert any("invalid record of kind decision" in problem for problem in found.problems)
    assert rep("audit", "verify", killed.parent).status == 1
    made = rep("report", killed.parent, "--json")
    assert made.status == 1
    assert json.loads(made.out)["totals"]["judged"] == 2
    for action in (["replay"], ["export"]):
        done = rep("audit", *action, killed.parent)
        assert done.status == 4, done
        assert "damaged" in done.out + done.err


def test_other_order_of_records_is_found(killed: Path) -> None:
    """Also in the last lines of a killed trail, which no mark covers."""
    *lines, last, end = killed.read_bytes().splitlines(keepends=True)
    killed.write_bytes(b"".join([*lines, end, last]))
    problem = "the number 2 comes after the number 3"
    assert any(problem in told for told in check(Run(killed.parent)).problems)
    assert rep("report", killed.parent).status == 1


def test_request_cannot_leave_before_its_turn(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.policy("https://a.example", crawl_delay=5.0)
    made.send("https://a.example", 10.0, 2.0, 5.0)
    found = check(made.end())
    assert any("left_by is before at" in problem for problem in found.problems)


@pytest.mark.parametrize("octets", [b"", b"[" * 5000, b"{}\n", b'{"t":7}\n', b"\xff\n", b"null\n"])
def test_check_of_other_files_does_not_raise(tmp_path: Path, octets: bytes) -> None:
    (tmp_path / "1-00001.jsonl").write_bytes(octets)
    found = check(Run(tmp_path))
    assert found.problems or found.missing


def _written(folder: Path, *segments: list[dict[str, object]]) -> TrailCheck:
    """The check of a trail of these records: segments with a head, without marks."""
    for number, held in enumerate(segments, start=1):
        head = {"t": "run", "v": 1, "run": "r", "segment": number}
        lines = "".join(json.dumps(one) + "\n" for one in [head, *held])
        (folder / f"1-{number:05}.jsonl").write_text(lines)
    return check(Run(folder))


def _allowed(n: int) -> dict[str, object]:
    why = {"allowed": True, "reason": "NO_RULE_MATCHES", "outcome": "passed"}
    return {"t": "decision", "n": n, "at": 1.0, "url": "https://a.example/", "p": 1, **why}


def test_segment_needs_the_policies_of_its_decisions(tmp_path: Path) -> None:
    policy = {"t": "policy", "p": 1, "origin": "https://a.example", "event": "200"}
    found = _written(tmp_path, [{**policy}, _allowed(1)], [_allowed(2)])
    assert found.problems == ["1-00002.jsonl, line 2: policy 1 is missing in this segment"]


@pytest.mark.parametrize("told", [0, 2])
def test_wrong_total_in_the_end_is_found(told: int, tmp_path: Path) -> None:
    held = {"n": 1, "at": 1.0, "url": "https://a.example/", "why": "scheme"}
    exempt: dict[str, object] = {"t": "exempt", **held}
    found = _written(tmp_path, [exempt, {"t": "end", "exempt": told}])
    assert f"the end counts {told} of kind exempt, but the trail has 1" in found.problems


def test_removed_last_segment_is_found(tmp_path: Path) -> None:
    """The end in the manifest counts records that are missing, so this was no kill."""
    crawl = judged(tmp_path, URLS[:3] * 9, segment_octets=2000)
    run = crawl.end()
    assert len(run.segments) > 1
    assert not check(run).problems
    held = json.loads((run.path / MANIFEST).read_bytes())
    last = held["segments"].pop()
    (run.path / last["name"]).unlink()
    (run.path / MANIFEST).write_text(json.dumps(held))
    found = again(run)
    assert any("the manifest has an end" in problem for problem in found.problems)
    assert rep("audit", "verify", run.path).status == 1


def test_plain_file_next_to_its_packed_one_must_be_equal(run: Run) -> None:
    """A kill may leave the same records twice, but not other records."""
    (path,) = run.path.glob("*.jsonl.gz")
    stray = path.with_suffix("")
    octets = gzip.decompress(path.read_bytes())
    stray.write_bytes(octets)
    assert not again(run).problems
    stray.write_bytes(octets.replace(b"/x", b"/y"))
    assert again(run).problems == [f"{stray.name}: next to {stray.name}.gz, with other records"]
    assert rep("audit", "verify", run.path).status == 1
