"""The numbers of made trails, exactly."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.reports import counting, tallies
from scrapy_rep.extras.evidence.reports.report_making import report_of, trails_at
from scrapy_rep.extras.evidence.reports.report_values import (
    CrawlReport,
    Decided,
    Exemption,
    OriginRests,
    Paced,
    Priced,
    Ruled,
    Withheld,
)
from scrapy_rep.extras.evidence.reports.tallies import Gaps, Moment, Tally, Timeline
from scrapy_rep.extras.evidence.reports.verdict_words import NOTE, verdict
from scrapy_rep.settings import SETTINGS
from tests.commands.calling import rep
from tests.extras.evidence.report.making import BEGAN, Made

A, B, SLOW = "https://a.example", "https://b.example", "https://slow.example"


def _hop(origin: str, path: str, at: float, **facts: object) -> dict[str, object]:
    return {"uri": f"{origin}{path}", "at": BEGAN + at, "source": "network", **facts}


def _small(root: Path) -> CrawlReport:
    made = Made(root)
    moved = [
        _hop(A, "/robots.txt", 0.0, status=301, location="/r", seconds=0.5, octets=0),
        _hop(A, "/r", 0.5, status=200, seconds=0.1, octets=70),
    ]
    a = made.policy(A, hops=moved, fetched_at=BEGAN + 1)
    down = _hop(B, "/robots.txt", 0.0, failure="timeout", seconds=10.0)
    b = made.policy(
        B, event="timeout", access_result="unreachable", meaning="disallow", hops=[down]
    )
    made.now += 10
    made.decide(f"{A}/2", a)
    made.decide(f"{A}/1", a, by="redirect")
    made.forbid(f"{A}/x/2", a)
    made.forbid(f"{A}/x/1", a, by="queue-filter")
    made.decide(f"{B}/y", b, allowed=False, reason="UNREACHABLE")
    made.now += 2
    made.exempt(f"{A}/secret")
    made.exempt("data:,x", "scheme")
    made.withhold(f"{A}/page2")
    made.withhold(f"{A}/page1")
    made.put("fetch", at=made.now, origin=B, hops=[_hop(B, "/robots.txt", 11.0, failure="reset")])
    return report_of([made.end()])


def test_decisions_are_counted(tmp_path: Path) -> None:
    found = _small(tmp_path)
    totals = found.totals
    assert (totals.judged, totals.allowed, totals.disallowed) == (5, 2, 3)
    assert (totals.held_back, totals.went_on, totals.redirected) == (3, 0, 1)
    assert totals.exempt == {"dont_obey": 1, "scheme": 1}
    assert (totals.withheld, totals.lost, totals.stale, totals.dropped_later) == (2, 0, 0, 0)
    assert found.decided == (
        Decided("dropped", False, "RULE", "queue-filter", 1),
        Decided("dropped", False, "RULE", "request", 1),
        Decided("dropped", False, "UNREACHABLE", "request", 1),
        Decided("passed", True, "NO_RULE_MATCHES", "redirect", 1),
        Decided("passed", True, "NO_RULE_MATCHES", "request", 1),
    )
    assert found.times.seconds == 1
    assert found.times.moments == (
        Moment(BEGAN + 10, 2, 3, 0, 0, 0),
        Moment(BEGAN + 12, 0, 0, 0, 2, 0),
    )


def test_origins_rules_and_exemptions_are_counted(tmp_path: Path) -> None:
    found = _small(tmp_path)
    assert found.rules.rows == (Ruled(A, 2, "Disallow: /x", "*", False, 2, f"{A}/x/1"),)
    assert found.exemptions.rows == (
        Exemption("dont_obey", A, 1, f"{A}/secret"),
        Exemption("scheme", "data:", 1, "data:,x"),
    )
    first, second = found.origins.rows
    assert (first.origin, first.judged, first.held_back, first.exempt) == (A, 4, 2, 1)
    assert (first.requests, first.age_seconds) == (2, 9.0)
    (file,) = second.files
    assert (second.origin, file.event, file.access_result) == (B, "timeout", "unreachable")
    assert second.requests == 2
    assert found.withheld.rows == (
        Withheld("request", "nofollow", "nofollow by meta 1", "withheld", 2, f"{A}/page1"),
    )


def test_fetches_are_counted(tmp_path: Path) -> None:
    found = _small(tmp_path).fetches
    assert (found.requests, found.in_vain, found.octets) == (4, 1, 70)
    assert found.statuses == {"200": 1, "301": 1}
    assert found.failures == {"timeout": 1, "reset": 1}
    assert found.redirects == {"0": 1, "1": 1}
    assert found.policies == {"network": 2}
    assert found.milliseconds["least"] == 100
    assert found.milliseconds["most"] == 10_000


def test_fetch_is_counted_once(tmp_path: Path) -> None:
    """A renewed policy repeats the way to its copy, and so does a later segment."""
    made = Made(tmp_path)
    first, renewed = (
        _hop(A, "/robots.txt", 1.0, status=200),
        _hop(A, "/robots.txt", 50.0, status=304),
    )
    old = _hop(A, "/robots.txt", -500.0, status=200)
    known = {"uri": f"{B}/robots.txt", "at": BEGAN + 1, "status": 200, "source": "store"}
    made.policy(A, hops=[old, first])
    made.policy(A, hops=[old, first, renewed])
    made.put("policy", p=1, origin=A, source="network", event="200", meaning="rules", hops=[first])
    made.policy(B, source="store", hops=[_hop(B, "/robots.txt", 2.0, status=200)])
    made.policy(
        SLOW,
        hops=[_hop(SLOW, "/robots.txt", 3.0, status=302, location=f"{B}/robots.txt"), known],
    )
    found = report_of([made.end()]).fetches
    assert found.statuses == {"200": 1, "304": 1, "302": 1}
    assert found.requests == 3
    assert found.policies == {"network": 3, "store": 1}


def test_exemptions_by_settings_are_counted(tmp_path: Path) -> None:
    made = Made(tmp_path, REP_CRAWL_DELAY_EXCESS="ignore")
    made.decide(f"{B}/1", made.policy(B, source="override", hops=None), reason="OVERRIDDEN")
    slow = made.policy(SLOW, crawl_delay=SETTINGS["REP_CRAWL_DELAY_MAX_SECONDS"].default + 1)
    made.decide(f"{SLOW}/1", slow)
    made.forbid(f"{SLOW}/x", slow, by="browser", outcome="slipped")
    found = report_of([made.end()])
    assert {(one.why, one.origin): one.count for one in found.exemptions.rows} == {
        ("overridden", B): 1,
        ("delay-ignored", SLOW): 2,
        ("slipped", SLOW): 1,
    }
    assert found.totals.went_on == 1


def test_paces_are_compared_with_delays(tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.policy(A, crawl_delay=2.0)
    for at, left_by in ((0.0, 0.1), (4.2, 4.3), (2.1, 2.15)):  # in the order of their answers
        made.send(A, at, left_by, 2.0)
    made.policy(B, crawl_delay=5.0)
    for at in (0.0, 1.0, 7.0):
        made.send(B, at, at, 1.0)
    made.policy(SLOW, crawl_delay=9.0)
    found = report_of([made.end()])
    assert found.paces.rows == (
        Paced(B, 5.0, 1.0, 3, 1.0, 1, 0, "not-kept", "its Crawl-delay, capped"),
        Paced(A, 2.0, 2.0, 3, 2.0, 0, 0, "kept", "its Crawl-delay"),
        Paced(SLOW, 9.0, None, 0, None, 0, 0, "no-visit", "its Crawl-delay"),
    )
    assert any("1 of them got requests before" in words for _, words in verdict(found))


def test_gaps_between_workers_are_counted_separately(tmp_path: Path) -> None:
    """Each worker kept the delay; together they did not, if their clocks agree."""
    runs = []
    for name, times in (("one", (0.0, 4.0)), ("two", (1.0, 6.0)), ("three", (20.0, 21.0))):
        made = Made(tmp_path, name)
        made.policy(A, crawl_delay=2.0)
        for at in times:
            made.now = BEGAN + at
            made.send(A, at, at, 2.0)
        runs.append(made.end())
    assert [report_of([run]).paces.rows[0].word for run in runs] == [
        *("kept", "kept"),
        "not-kept",
    ]
    found = report_of(runs[:2])
    (row,) = found.paces.rows
    assert (row.visits, row.least_seconds, row.too_soon, row.crossed) == (4, 1.0, 0, 1)
    assert row.word == "crossed"
    (told,) = (told for told in verdict(found) if "clocks" in told[1])
    assert told[0] == NOTE
    (row,) = report_of(trails_at([tmp_path])).paces.rows
    assert (row.visits, row.too_soon, row.crossed, row.word) == (6, 1, 1, "not-kept")


def test_each_bot_has_the_delay_of_its_group(tmp_path: Path) -> None:
    """Each of two crawls keeps, or breaks, the delay of its own group, in whatever order."""
    runs = {}
    for name, asked, kept in (("slow", 4.0, 4.0), ("quick", 1.0, 1.0), ("rude", 4.0, 2.0)):
        made = Made(tmp_path, name)
        made.policy(A, crawl_delay=asked)
        for number in range(4):
            made.now = BEGAN + number * kept
            made.send(A, number * kept, number * kept, kept)
        runs[name] = made.end()
    for pair, word in ((("slow", "quick"), "crossed"), (("rude", "quick"), "not-kept")):
        for names in (pair, pair[::-1]):
            (row,) = report_of([runs[name] for name in names]).paces.rows
            assert (row.word, row.too_soon > 0) == (word, word == "not-kept")
            assert row.asked_seconds == 1.0, "the shortest, as are the others"


@pytest.mark.parametrize(("at", "too_soon"), [(2.5, 0), (3.5, 1)])
def test_longer_delay_holds_for_later_requests(tmp_path: Path, at: float, too_soon: int) -> None:
    """A request that is on its way when the policy comes, from the store, kept the delay before."""
    made = Made(tmp_path)
    made.policy(A, crawl_delay=0.5, at=BEGAN)
    made.send(A, 1.0, 2.0, 0.5)
    made.now = BEGAN + 3.0
    made.policy(A, crawl_delay=5.0, at=made.now, source="store")
    made.send(A, at, 4.0, 0.5)
    made.send(A, 9.1, 9.2, 5.0)
    (row,) = report_of([made.end()]).paces.rows
    assert (row.asked_seconds, row.visits, row.too_soon) == (5.0, 3, too_soon)


def test_violation_is_not_dropped_to_bound_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among more origins than a report can hold, one got a request too soon."""
    monkeypatch.setattr(counting, "Tally", partial(Tally, limit=20))
    made = Made(tmp_path)
    for number in range(40):
        origin = f"https://h{number}.example"
        made.send(origin, 0.0, 0.0, 2.0)
        made.put("rest", at=BEGAN, until=BEGAN + 5.0, origin=origin, status=429)
        if number == 1:
            made.send(origin, 1.0, 1.0, 2.0)
            made.put("probe", at=BEGAN + 2.0, origin=origin)
        else:
            made.put("rest", at=BEGAN + 6.0, until=BEGAN + 9.0, origin=origin, status=429)
    found = report_of([made.end()])
    assert [row.origin for row in found.paces.rows if row.too_soon] == ["https://h1.example"]
    assert [row.origin for row in found.rests.rows if row.too_soon] == ["https://h1.example"]


def test_fetches_of_both_workers_count_once(tmp_path: Path) -> None:
    """The requests of both count, and what one renews of the other's copy counts once."""
    one, two = Made(tmp_path, "one"), Made(tmp_path, "two", began=BEGAN + 0.01)
    first, second, third = (_hop(A, "/robots.txt", at, status=200) for at in (0.06, 0.05, 9.0))
    one.policy(A, hops=[first])
    two.policy(A, hops=[second])
    two.now += 10
    two.policy(A, hops=[first, third])
    found = report_of([one.end(), two.end()])
    assert found.fetches.requests == found.origins.rows[0].requests == 3


@pytest.mark.parametrize("is_redacted", [False, True])
def test_copy_of_a_run_is_refused(tmp_path: Path, *, is_redacted: bool) -> None:
    """Counted twice, each request would come too soon after itself."""
    made = Made(tmp_path)
    made.policy(A, crawl_delay=2.0)
    made.send(A, 0.0, 0.0, 2.0)
    run, copy = made.end().path, tmp_path / "copy"
    if is_redacted:
        assert rep("audit", "redact", run, "-o", copy).status == 0
    else:
        shutil.copytree(run, copy)
    for paths in ([tmp_path], [run, copy]):
        done = rep("report", *paths)
        assert done.status == 2
        assert all(str(path) in done.err for path in (run, copy))
    assert rep("report", copy).status == 0


def test_rests_between_workers_are_counted_separately(tmp_path: Path) -> None:
    """One worker hears of the rest of A, another sends a request to A before it is over."""
    one, two = Made(tmp_path, "one"), Made(tmp_path, "two")
    one.put("rest", at=BEGAN, until=BEGAN + 2.0, origin=B, status=503)
    for at, until in ((0.0, 3.0), (1.0, 4.0), (5.0, 15.0)):  # the second makes the first longer
        held = {"status": 429, "asked_seconds": until - at}
        if at == 5.0:
            one.put("probe", at=BEGAN + 4.5, origin=A)
        one.put("rest", at=BEGAN + at, until=BEGAN + until, origin=A, **held)
    two.put("probe", at=BEGAN + 2.0, origin=B)
    two.put("probe", at=BEGAN + 6.0, origin=A)
    found = report_of([one.end(), two.end()])
    assert found.rests.rows == (
        OriginRests(A, 2, 10.0, 10.0, 2, 0, 1, causes=["429"], began_at=BEGAN),
        OriginRests(B, 1, 2.0, None, 1, 0, 0, causes=["503"], began_at=BEGAN),
    )
    told = (
        "2 origins rested (1 after 429, 1 after 503); 1 request of one crawl was sent in the rest "
    )
    assert (NOTE, f"{told}of another, if their clocks agree.") in [*verdict(found)]


def test_pages_with_402_are_counted(tmp_path: Path) -> None:
    made = Made(tmp_path)
    terms = {"price": "USD 0.01", "licence": f"{A}/rsl.xml"}
    for url, more in ((f"{B}/x", {}), (f"{A}/b", terms), (f"{A}/a", terms)):
        made.put("payment", at=BEGAN, url=url, **more)
    found = report_of([made.end()])
    assert found.payments.rows == (
        Priced(A, "USD 0.01", f"{A}/rsl.xml", 2, f"{A}/a"),
        Priced(B, "", "", 1, f"{B}/x"),
    )
    told = "3 pages answered 402 (Payment Required). Nothing was paid."
    assert (NOTE, told) in [*verdict(found)]


def test_several_runs_add_up(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        made = Made(tmp_path, name)
        p = made.policy(A)
        made.decide(f"{A}/1", p)
        made.forbid(f"{A}/x", p)
        made.end()
    (tmp_path / "latest").symlink_to("two")
    found = report_of(trails_at([tmp_path, tmp_path / "two", tmp_path / "latest"]))
    assert [run.run for run in found.runs] == ["one", "three", "two"]
    assert (found.totals.judged, found.totals.held_back) == (6, 3)
    assert found.rules.rows[0].count == 3
    assert found.origins.rows[0].requests == 1, "one instant: the same request in three trails"
    assert any("several crawls" in limit for limit in found.limits)


class TestStates:
    def test_whole_trail_is_reported_as_whole(self, tmp_path: Path) -> None:
        found = _small(tmp_path)
        assert found.state == "whole"
        (run,) = found.runs
        assert (run.ended, run.last_n, run.problems, run.missing) == ("finished", 9, (), ())
        assert (run.spider, run.tokens, run.user_agent) == ("made", ("MadeBot",), "MadeBot/1.0")
        assert len(run.manifest_sha256) == 64
        assert json.loads(json.dumps(found.as_dict()))["totals"]["judged"] == 5

    def test_gap_in_a_trail_is_reported(self, tmp_path: Path) -> None:
        made = Made(tmp_path)
        made.decide(f"{A}/1", made.policy(A))
        made.writer.lose(2, "disallowed", BEGAN + 1)
        made.n = 2
        made.now += 10
        made.decide(f"{A}/3", 1)
        found = report_of([made.end()])
        assert (found.totals.lost, found.totals.judged, found.state) == (1, 2, "incomplete")
        (gap,) = found.gaps.rows
        assert (gap.from_n, gap.to_n, gap.count) == (2, 2, 1)


class TestMemory:
    def test_tally_keeps_the_heaviest_rows(self) -> None:
        tally = Tally(Exemption, 100)
        for number in range(1000):
            for _ in range(1001 if number % 100 == 0 else 1):
                tally.of("scheme", str(number)).add("")
        assert len(tally.held) <= 100
        assert {str(number) for number in range(0, 1000, 100)} <= {key[1] for key in tally.held}
        assert tally.key_count == 100
        held = sum(one.count for one in tally.held.values())
        assert held + tally.dropped_records == 1000 + 10_000

    def test_timeline_has_at_most_120_moments(self) -> None:
        line = Timeline()
        for number in range(100_000):
            line.at(BEGAN + number * 37.0)[number % 5] += 1
        times = line.times()
        assert len(times.moments) <= 121
        assert sum(one.allowed + one.stale + one.exempt for one in times.moments) == 60_000
        assert times.seconds == 43_200
        assert all(one.at % times.seconds == 0 for one in times.moments)
        for instant in (-1.0, 1e12, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="not an instant"):
                line.at(instant)
        line.at(0.0)[0] += 1
        line.at(9e10)[0] += 1
        assert len(line.times().moments) <= 121

    def test_late_visits_are_put_in_order(self) -> None:
        gaps = Gaps()
        late = list(range(tallies._BUFFERED))
        for at in [*late[1:], late[0], *range(len(late), 40)]:
            gaps.add(float(at), float(at), 1.0, 1.0)
        gaps.finish()
        assert (gaps.least, gaps.too_soon) == (1.0, 0)


def test_exit_status_is_that_of_the_worst_finding(tmp_path: Path) -> None:
    """A broken delay has a status of its own; a damaged trail comes first."""
    fast, rude, slow = (Made(tmp_path, name) for name in ("fast", "rude", "slow"))
    fast.policy(A, crawl_delay=2.0)
    slow.policy(A, crawl_delay=2.0)
    for at in (0.0, 1.0):
        fast.send(A, at, at, 2.0)
        slow.send(A, 10 * at + 30, 10 * at + 30, 2.0)
    rude.put("rest", at=BEGAN, until=BEGAN + 9.0, origin=B, status=429)
    rude.put("probe", at=BEGAN + 3.0, origin=B)
    slow.writer.lose(1, "allowed", slow.now)
    slow.n += 1
    slow.end()
    assert rep("report", slow.folder).status == 4
    for made in (fast, rude):
        done = rep("report", made.end().path)
        assert (done.status, "too soon" in done.out or "before it was" in done.out) == (5, True)
    assert rep("report", tmp_path).status == 5
    (rude.folder / "manifest.json").unlink()
    assert rep("report", tmp_path).status == 1
