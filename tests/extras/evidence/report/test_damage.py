"""Damaged or forged trails with right digests: a report names each record that it cannot count."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.html_page import write
from scrapy_rep.extras.evidence.replay import Replayer
from scrapy_rep.extras.evidence.reports import counting
from scrapy_rep.extras.evidence.reports.report_making import report_of
from scrapy_rep.extras.evidence.reports.report_page import page
from scrapy_rep.extras.evidence.reports.report_values import CHANGED, WHOLE, CrawlReport
from scrapy_rep.extras.evidence.reports.tallies import Tally
from scrapy_rep.extras.evidence.reports.verdict_words import BAD, GOOD, NOTE, verdict
from scrapy_rep.extras.evidence.trail_reading import Run
from tests.extras.evidence.report.making import BEGAN, Made

A = "https://a.example"
HUGE, NAN, ENDLESS = 10**400, float("nan"), float("inf")


def _decision(**facts: object) -> Callable[[Made], None]:
    def build(made: Made) -> None:
        made.decide(f"{A}/", made.policy(A), **facts)

    return build


def _record(kind: str, **facts: object) -> Callable[[Made], None]:
    return lambda made: made.put(kind, **facts)


def _hop(**facts: object) -> Callable[[Made], None]:
    hop = {"uri": A, "at": BEGAN, "source": "network", **facts}
    return lambda made: made.put("fetch", at=BEGAN, origin=A, hops=[hop])


def _everything_of(report: CrawlReport) -> None:
    """Make the page and the JSON of a report, which has no infinities."""
    json.dumps(report.as_dict(), allow_nan=False)
    page(report).encode()


DAMAGE = {
    "a time that no float holds": _record("drop", n=1, at=HUGE),
    "a time without end": _record("sent", at=ENDLESS, left_by=1, origin=A, kept_seconds=1),
    "a time that is no number": _record("sent", at=NAN, left_by=1, origin=A, kept_seconds=1),
    "a delay without end": lambda made: made.policy(A, crawl_delay=ENDLESS),
    "a decision before all time": _decision(at=-5),
    "a decision at no time": _decision(at="noon"),
    "a decision of text": _decision(allowed="false", outcome="dropped"),
    "an unknown outcome": _decision(allowed=False, outcome="banana"),
    "a gap below nothing": _record(
        "gap", from_n=1, to_n=1, allowed=-1, from_at=1.0, to_at=1.0, error=""
    ),
    "a status of text": _hop(status="fine"),
    "a hop of text": _record("fetch", at=BEGAN, origin=A, hops=["x"]),
    "settings of another shape": _record("run", v=1, run="run-1", at=1.0, settings=[1]),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_report_names_records_that_it_cannot_count(name: str, tmp_path: Path) -> None:
    made = Made(tmp_path)
    DAMAGE[name](made)
    report = report_of([made.end()])
    _everything_of(report)
    assert report.state == CHANGED
    assert report.runs[0].problems
    assert verdict(report)[0][0] == BAD


def test_delay_may_have_300_digits(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.policy(A, crawl_delay=float("9" * 308))
    for at in (0, 300):
        made.send(A, at, at, 300.0)
    report = report_of([made.end()])
    _everything_of(report)
    assert report.state == "whole"
    assert report.paces.rows[0].word == "not-kept"


def _with_a_ban(root: Path) -> Made:
    made = Made(root)
    made.forbid(f"{A}/x", made.policy(A))
    return made


def test_incomplete_trail_proves_no_good_conduct(tmp_path: Path) -> None:
    made = _with_a_ban(tmp_path)
    made.writer.close("").result(20)
    for file in made.folder.glob("*.json*"):
        if file.name == "manifest.json":
            file.unlink()
    report = report_of([Run(made.folder)])
    assert report.state != WHOLE
    assert GOOD not in {kind for kind, _ in verdict(report)}
    text = page(report)
    for claim in ("no request was sent against", "all records were written", "decided on every"):
        assert claim not in text, claim


@pytest.mark.parametrize("settings", [{}, {"ROBOTSTXT_OBEY": False}])
def test_unjudged_requests_prove_no_good_conduct(settings: dict[str, bool], tmp_path: Path) -> None:
    made = _with_a_ban(tmp_path)
    if not settings:
        made.exempt(f"{A}/secret")
    other = Made(tmp_path, "run-2", **settings)
    report = report_of([made.end(), other.end()])
    assert report.state == WHOLE
    told = " ".join(sentence for _, sentence in verdict(report))
    assert "None of these was sent." in told
    assert "no request was sent against" not in told


def test_failed_page_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write(tmp_path / "report.html", "\ud800")
    assert not [*tmp_path.iterdir()]


def test_many_words_need_bounded_memory(tmp_path: Path) -> None:
    made = Made(tmp_path)
    hops = [
        {"uri": A, "at": BEGAN + n, "source": "network", "failure": f"f{n}" * 100}
        for n in range(3000)
    ]
    made.policy(A, hops=hops, meaning="m" * 9999)
    for number in range(300):
        made.policy(A, source=f"{number}" + "s" * 9999)
    for number in range(1500):
        made.decide(f"{A}/", None, reason=f"{number}" + "r" * 999, by=f"{number}")
        made.exempt(f"{A}/", f"{number}" + "w" * 999)
    report = report_of([made.end()])
    assert sum(report.fetches.failures.values()) == 3000
    assert sum(report.fetches.policies.values()) == 301
    assert len(report.fetches.failures) == len(report.fetches.policies) == 201
    assert report.totals.judged == sum(one.count for one in report.decided) == 1500
    assert sum(report.totals.exempt.values()) == 1500
    assert (len(report.decided), len(report.totals.exempt)) == (1001, 201)
    assert max(len(one.reason) for one in report.decided) == 200
    assert len(page(report)) < 300_000


def test_distant_numbers_need_bounded_memory(tmp_path: Path) -> None:
    """Each name of a run used to take 16 MB."""
    made = Made(tmp_path)
    for number in range(2000):
        if number % 50 == 0:
            made.put("run", v=1, run=f"{number}" + "n" * 9999, at=BEGAN)
        made.put("policy", p=(1 << 27) - 1 - (number << 12), origin=A, event="200", hops=[])
    trail = made.end()
    tracemalloc.start()
    report_of([trail])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # of these, 67 MB stand ready for a manifest


@pytest.mark.at_length
def test_origins_without_a_file_need_bounded_memory(tmp_path: Path) -> None:
    """Requests that no robots.txt decided are judged afterwards, by the files of their origins."""
    made = Made(tmp_path, segment_octets=1 << 20)
    made.exempt(f"{A}/")
    for number in range(200_000):
        made.policy(f"https://h{number}.example", event="404", meaning="allow")
    trail = made.end()
    tracemalloc.start()
    assert [verdict for _, verdict in Replayer(trail).afterwards()] == [None]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 350e6


def test_report_keeps_the_most_important_origins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "Tally", partial(Tally, limit=20))
    made = Made(tmp_path)
    for number in range(100):
        origin = f"https://h{number}.example"
        p = made.policy(origin, crawl_delay=5.0)
        made.decide(origin, p, reason="OVERRIDDEN")
        fast = number == 0
        for at in range(0, 200, 1 if fast else 10):
            made.send(origin, at, at, 5.0)
    report = report_of([made.end()])
    assert report.totals.judged == 100
    assert report.origins.missing + sum(row.judged for row in report.origins.rows) == 100
    assert report.paces.missing
    assert report.paces.rows[0].word == "not-kept", "the origin that matters most was dropped"
    told = " ".join(sentence for _, sentence in verdict(report))
    assert "At least" in told
    text = page(report)
    assert "at least 20" in text
    assert "were dropped" in text


def test_dropped_origins_prove_no_kept_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "Tally", partial(Tally, limit=20))
    made = Made(tmp_path)
    for number in range(50):
        origin = f"https://h{number}.example"
        made.decide(origin, made.policy(origin, crawl_delay=5.0))
        for at in (0, 10):
            made.send(origin, at, at, 5.0)
    told = [*verdict(report_of([made.end()]))]
    assert [kind for kind, words in told if "or more set a delay" in words] == [NOTE]
