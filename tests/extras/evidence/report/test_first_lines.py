"""The first line of a report is the worst finding of a crawl: a table of cases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence.spool import MANIFEST, SpoolFile
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.extras.evidence.trail_records import line
from scrapy_rep.extras.evidence.trail_writer import packed
from tests.commands.calling import rep
from tests.extras.evidence.audit.making import judged
from tests.extras.evidence.report.making import BEGAN, Made

A, B = "https://a.example", "https://b.example"
GRANT = {"policy": "ignore", "until": "2027-01-31", "why": "contract 12"}


def forged(run: Run, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Change records, with right digests, marks and manifest."""
    segments = []
    for one in run.segments:
        lines = [found.record or {} for found in one.lines()]
        one.path.unlink()
        file = SpoolFile(run.path / one.plain_name)
        for record in lines:
            if before.items() <= record.items():
                record.update(after)
            if record["t"] == "mark":
                record.update({"lines": file.records, "sha256": file.sha256})
            file.append(line(record).encode(), 1)
        file.close()
        segments.append({**file.facts, "name": packed(file.path).name})
    manifest = {**(run.manifest or {}), "segments": segments}
    (run.path / MANIFEST).write_text(json.dumps(manifest))


def _obeyed(root: Path) -> None:
    judged(root, [f"{A}/1", f"{A}/private/x"]).end()


def _forged(root: Path) -> None:
    run = judged(root, [f"{A}/1", f"{A}/2"]).end()
    forged(run, {"t": "policy"}, {"meaning": "allow"})


def _killed(root: Path) -> None:
    judged(root, [f"{A}/1", f"{A}/private/x"])


def _off(root: Path) -> None:
    made = Made(root, ROBOTSTXT_OBEY=False)
    for number in (2, 1):
        made.exempt(f"{A}/{number}", "off")
    made.end()


def _exempt(root: Path) -> None:
    crawl = judged(root, [f"{A}/1"])
    crawl.judge([f"{A}/private/x?token=1"], dont_obey_robotstxt=True)
    crawl.end()


def _override(made: Made) -> None:
    p = made.policy(B, source="override", event="override", meaning="allow", hops=None)
    made.decide(f"{B}/1", p, reason="OVERRIDDEN")


def _overridden(**overrides: Any) -> Callable[[Path], None]:
    def build(root: Path) -> None:
        made = Made(root, REP_OVERRIDES={"*.example.net": {"policy": "strict"}, **overrides})
        made.forbid(f"{A}/x", made.policy(A))
        _override(made)
        made.end()

    return build


def _errors(**settings: Any) -> Callable[[Path], None]:
    def build(root: Path) -> None:
        made = Made(root, **settings)
        p = made.policy(B, event="503", access_result="unreachable", meaning="allow")
        made.decide(f"{B}/1", p, reason="UNREACHABLE")
        made.end()

    return build


def _sent(outcome: str) -> Callable[[Path], None]:
    def build(root: Path) -> None:
        made = Made(root, REP_DRY_RUN=outcome == "would-drop")
        made.forbid(f"{A}/x", made.policy(A), outcome=outcome)
        made.end()

    return build


def _slow(excess: str) -> Callable[[Path], None]:
    def build(root: Path) -> None:
        made = Made(root, REP_CRAWL_DELAY_EXCESS=excess, REP_CRAWL_DELAY_MAX_SECONDS=1.0)
        p = made.policy(A, crawl_delay=400.0)
        for number in range(3):
            made.decide(f"{A}/{number}", p)
            if excess == "cap":
                made.send(A, number, number, 1.0)
        made.end()

    return build


_UNKNOWN = ": nothing is known of what their robots.txt says"
_ONE = "note: 1 request was sent that no robots.txt decided: 1 by "
_AGAINST = (
    "wrong: 1 request was judged by robots.txt; 1 was disallowed, and 1 of these was sent all the "
    f"same: 1 by {{}} (such as {A}/x)."
)
_BY_GRANT = "a grant in REP_OVERRIDES (contract 12, until 2027-01-31)"
_ENDED = {"b.*": {**GRANT, "until": "2027-01-14"}, "*": "ignore"}
_CASES: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "obeyed": (
        _obeyed,
        0,
        (
            "2 requests were judged by robots.txt; 1 was disallowed. None of these was sent: no "
            "request was sent against a robots.txt."
        ),
    ),
    "off": (
        _off,
        0,
        (
            "note: 2 requests were sent that no robots.txt decided: 2 by ROBOTSTXT_OBEY, which was "
            f"off (such as {A}/1){_UNKNOWN}."
        ),
    ),
    "exempt": (
        _exempt,
        0,
        (
            f"{_ONE}dont_obey_robotstxt, an exemption in the code of the crawl (such as "
            f"{A}/private/x?token=…): 1 of 1 would have been disallowed, by line 3 of the "
            f"robots.txt of {A}: Disallow: /private."
        ),
    ),
    "override": (
        _overridden(**{"b.*": {"policy": "ignore"}}),
        0,
        f"{_ONE}REP_OVERRIDES (such as {B}/1){_UNKNOWN}.",
    ),
    "grant": (_overridden(**{"b.*": GRANT}), 0, f"{_ONE}{_BY_GRANT} (such as {B}/1){_UNKNOWN}."),
    "grant that ended before": (
        _overridden(**_ENDED),
        0,
        f"{_ONE}REP_OVERRIDES (such as {B}/1){_UNKNOWN}.",
    ),
    "errors of a grant": (
        _errors(REP_OVERRIDES={"b.example": {**GRANT, "policy": "lenient"}}),
        0,
        f"{_ONE}the policy for errors ({_BY_GRANT}) (such as {B}/1).",
    ),
    "errors": (
        _errors(REP_POLICY="lenient"),
        0,
        f"{_ONE}the policy for errors (REP_POLICY) (such as {B}/1).",
    ),
    "dry run": (_sent("would-drop"), 5, _AGAINST.format("REP_DRY_RUN")),
    "slipped": (_sent("slipped"), 5, _AGAINST.format("a redirect in a browser")),
    "capped": (
        _slow("cap"),
        5,
        (
            "wrong: 1 origin set a delay; 1 of them got requests before it was over (such as "
            f"{A}, by REP_CRAWL_DELAY_MAX_SECONDS, which limits the delay)."
        ),
    ),
    "ignored": (
        _slow("ignore"),
        5,
        (
            f"wrong: 3 requests (such as {A}/0) were sent to 1 origin without the delay that the "
            "site set, because it is above REP_CRAWL_DELAY_MAX_SECONDS (REP_CRAWL_DELAY_EXCESS is "
            "'ignore')."
        ),
    ),
    "forged": (
        _forged,
        1,
        (
            "wrong: 2 decisions differ when made again, although every digest in the trail is "
            f"right: scrapy-rep {version('scrapy-rep')} decides differently today than scrapy-rep "
            f"{version('scrapy-rep')} did in the crawl. Please report it: "
            "https://github.com/scrapy-rep/scrapy-rep/issues. To see them: scrapy rep audit replay"
        ),
    ),
    "killed": (
        _killed,
        4,
        (
            "note: The trail is not complete: the trail has no end: the crawl was killed, or is "
            "still running; complete up to number 2."
        ),
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_first_line_is_the_worst_finding(name: str, tmp_path: Path) -> None:
    build, status, first = _CASES[name]
    build(tmp_path)
    done = rep("report", tmp_path)
    assert (done.out.splitlines()[0], done.status) == (first, status)
    is_clean = "no request was sent against a robots.txt" in done.out
    assert is_clean is (name == "obeyed")


def _other_name(root: Path) -> None:
    names = {"USER_AGENT": "Mozilla/5.0", "ROBOTSTXT_USER_AGENT": "FooBot"}
    judged(root, [f"{A}/1"], **names).end()


def _refused(root: Path) -> None:
    made = Made(root)
    made.decide(f"{A}/1", None, allowed=False, reason="DROPPED", why="a mail")
    made.end()


def _skipped(root: Path) -> None:
    made = Made(root)
    p = made.policy(A, crawl_delay=400.0)
    made.decide(f"{A}/1", p, allowed=False, reason="CRAWL_DELAY")
    made.end()


def _paced(*times: float, asked: float = 2.0, kept: float = 2.0) -> Callable[[Path], None]:
    def build(root: Path) -> None:
        made = Made(root)
        made.policy(A, crawl_delay=asked)
        for at in times:
            made.send(A, at, at, kept)
        made.end()

    return build


def _rested(probed_at: float) -> Callable[[Path], None]:
    def build(root: Path) -> None:
        made = Made(root)
        made.put("rest", at=BEGAN, until=BEGAN + 9.0, origin=A, status=429)
        made.put("probe", at=BEGAN + probed_at, origin=A)
        made.end()

    return build


def _no_file(root: Path) -> None:
    made = Made(root)
    made.decide(f"{A}/1", made.policy(A))
    p = made.policy(B, event="404", access_result="unavailable", meaning="allow")
    made.decide(f"{B}/1", p, reason="UNAVAILABLE")
    made.end()


def _changed(root: Path) -> None:
    made = Made(root)
    for text in ("User-agent: *\nDisallow: /x\n", "User-agent: *\nDisallow: /y\n"):
        made.now += 1
        digest = sha256(text.encode()).hexdigest()
        made.put("body", sha256=digest, octets=len(text), text=text)
        made.decide(f"{B}/1", made.policy(B, body=f"sha256:{digest}"), group="*")
    made.end()


def _same_host(root: Path) -> None:
    made = Made(root)
    made.policy(A, crawl_delay=2.0)
    made.policy(f"{A}:8443")
    for number in range(3):
        made.send(A, number * 4, number * 4, 2.0)
        made.send(f"{A}:8443", number * 4 + 2, number * 4 + 2, 2.0)
    made.end()


def _damaged(root: Path) -> None:
    _obeyed(root)
    (root / "latest" / MANIFEST).unlink()


_DOCUMENTED: dict[str, Callable[[Path], None]] = {
    "robots.txt files decided, and the crawl obeyed": _obeyed,
    "`dont_obey_robotstxt`, or another permission, and the trail has the robots.txt": _exempt,
    "`ROBOTSTXT_OBEY` was off, or the trail does not have the robots.txt": _off,
    "a crawl sent its requests with another name than the one that it obeyed": _other_name,
    "an operator dropped an origin": _refused,
    "a delay above `REP_CRAWL_DELAY_MAX_SECONDS`, with the excess `skip`": _skipped,
    "such a delay, with the excess `cap`, and one request": _paced(0, asked=400, kept=1),
    "such a delay, with the excess `cap`, and a second request": _slow("cap"),
    "such a delay, with the excess `ignore`, and a second request": _slow("ignore"),
    "some requests had no rules, for instance after a 404": _no_file,
    "a robots.txt changed": _changed,
    "a delay holds for other origins too, such as those of the same host": _same_host,
    "a request came too soon after another of the same crawl": _paced(0.0, 1.0),
    "an origin rested, and no request came too soon": _rested(9.5),
    "a request came during a rest": _rested(3.0),
    "a disallowed request was sent in a dry run": _sent("would-drop"),
    "a disallowed request was sent by a browser that was redirected": _sent("slipped"),
    "a trail is not complete": _killed,
    "a trail was changed or is damaged": _damaged,
    (
        "a decision differs when it is made again, and all digests are right: a bug of scrapy-rep, "
        "or another version"
    ): _forged,
}
_DOCS = Path(__file__).parents[4] / "docs" / "report.md"


def test_table_of_exit_statuses_is_true(tmp_path: Path) -> None:
    """Each row of docs/report.md: the case, the words, and the statuses."""
    _, _, after = _DOCS.read_text(encoding="utf-8").partition("\n## Exit statuses\n")
    table = after.partition("\n## ")[0]
    rows = re.findall(r"^\| ([^-].*) \| `(.*)` \| (.*) \|$", table, re.MULTILINE)
    assert [case for case, _, _ in rows] == [*_DOCUMENTED]
    for number, (case, words, statuses) in enumerate(rows):
        root = tmp_path / str(number)
        _DOCUMENTED[case](root)
        done = rep("report", root)
        assert re.search(".*".join(map(re.escape, words.split("…"))), done.out), (case, done.out)
        more = rep("report", root, "--allow-dry-run").status
        told = f"{done.status}; with `--allow-dry-run` {more}"
        assert statuses == (told if more != done.status else str(done.status)), case


def test_requests_that_a_setting_allowed_are_not_judged_by_a_robots_txt(tmp_path: Path) -> None:
    _overridden(**{"b.*": GRANT})(tmp_path)
    by = "1 by the rules of a robots.txt, 1 by a policy or setting, because there were no rules"
    told = f"note: 2 requests were checked ({by}); 1 was disallowed. None of these was sent."
    assert rep("report", tmp_path).out.splitlines()[1] == told


def test_report_names_both_grants_if_one_ended_during_a_crawl(tmp_path: Path) -> None:
    grants = {
        "b.example": {**GRANT, "until": "2027-01-15"},
        "*": {"policy": "ignore", "why": "our site"},
    }
    made = Made(tmp_path, REP_OVERRIDES=grants)
    for _ in range(2):
        _override(made)
        made.now += 86_400
    made.end()
    first, second = "(contract 12, until 2027-01-15)", "(our site)"
    told = f"2 by a grant in REP_OVERRIDES {first}; a grant in REP_OVERRIDES {second} "
    assert told in rep("report", tmp_path).out


def test_report_makes_each_decision_again(tmp_path: Path) -> None:
    judged(tmp_path, [f"{A}/1", f"{A}/2?x=1"], REP_AUDIT_QUERY="drop").end()
    out = rep("report", tmp_path).out
    assert "note: 1 of 2 decisions cannot be made again: redacted. The others " in out
    _obeyed(tmp_path)
    found = json.loads(rep("report", tmp_path, "--json").out)
    assert [one["replayed"] for one in found["runs"]] == [
        {"confirmed": 1, "redacted": 1},
        {"confirmed": 2},
    ]


def test_page_has_the_files_and_requests_of_each_site(tmp_path: Path) -> None:
    """For each site: the file, its time, the requests against it, and their permission."""
    pytest.importorskip("jinja2", reason="needs Jinja")
    made = Made(tmp_path, REP_OVERRIDES={"b.example": GRANT}, REP_REPORT_CONTACT="Archive")
    digests = [f"{number:064x}" for number in range(9)]
    for digest in digests:
        hop = {"uri": f"{A}/moved/r", "at": made.now, "status": 200, "source": "network"}
        p = made.policy(A, body=f"sha256:{digest}", fetched_at=made.now, hops=[hop])
        made.now += 60
    made.forbid(f"{A}/x", p)
    made.forbid(f"{A}/y", p, outcome="slipped", by="browser")
    again = {"event": "200", "access_result": "successful", "meaning": "rules", "hops": [hop]}
    made.put("policy", p=p, origin=A, source="network", body=f"sha256:{digests[8]}", **again)
    hop = {"uri": f"{B}/robots.txt", "at": made.now, "failure": "timeout", "source": "network"}
    made.policy(B, event="timeout", access_result="unreachable", meaning="disallow", hops=[hop])
    _override(made)
    made.end()
    output = tmp_path / "report.html"
    output.write_text("an old one, for all to read")
    assert rep("report", tmp_path, "-o", output).status == 1, "octets are missing"
    assert output.stat().st_mode & 0o777 == 0o600, "its URLs may be personal data"
    text = output.read_text(encoding="utf-8")
    sites = text[text.index('id="sites"') : text.index('id="runs"')]
    first, second = sites.split("<h3>")[1:]
    for words in (
        f"{A}</h3>",
        f"{A}/moved/r: 200 (successful)",
        f"SHA-256 {digests[8]}",
        "2027-01-15 08:08:00 UTC",
        "4 versions before these are not shown",
        f"1 request, such as {A}/y",
        "a redirect in a browser",
        "2 requests; 1 dropped",
    ):
        assert words in first, words
    assert digests[3] not in first
    for words in (
        f"{B}</h3>",
        f"{B}/robots.txt: timeout (unreachable)",
        f"1 request, such as {B}/1",
        "a grant in REP_OVERRIDES (contract 12, until 2027-01-31)",
    ):
        assert words in second, words
    assert "<title>Robots.txt report: a.example and b.example, 2027-01-15 (made)</title>" in text
    assert "Policies by host, host:port or origin" in text, (
        "plain words beside the names of settings"
    )
