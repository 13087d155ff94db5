"""``scrapy rep collect --warc``: the survey of the archive is that of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.extras.survey.inputs.tasks import tasks_of
from scrapy_rep.extras.survey.inputs.warc_input import captures_of_stream
from tests.commands.calling import rep, rep_process
from tests.extras.evidence.warc.archived import fastwarc_reads, files_in, records_in, warcio_checks
from tests.extras.survey.inputs import record
from tests.faults.sites import Plan, Sites
from tests.faults.table import FAULTS

pytest.importorskip("warcio", reason="needs warcio")


def every() -> dict[str, Plan]:
    """One site for each fault of the table."""
    plans: dict[str, Plan] = {}
    for name, fault in FAULTS.items():
        plans[name] = fault.plan(f"{name} (second)")
        if fault.other is not None:
            plans[f"{name} (second)"] = fault.other
    return plans


def captures(*paths: Path) -> tuple[dict[tuple[str, str, int | None], Capture], Counter[str]]:
    """The captures by origin, and the reasons of other records."""
    found = [one for path in paths for task in tasks_of(path) for one in task()]
    bad = Counter(one.reason for one in found if isinstance(one, Bad))
    kept = [one for one in found if isinstance(one, Capture)]
    by_origin = {(one.scheme, one.host, one.port): one for one in kept}
    assert len(by_origin) == len(kept), "each origin once"
    return by_origin, bad


def collected(
    plans: Mapping[str, Plan], asked: Iterable[str], folder: Path, *options: str
) -> tuple[Path, Path, set[int]]:
    """A store, the folder of an archive, and the ports of those asked, after a run."""
    store, warc = folder / "store.sqlite", folder / "warc"
    with Sites(plans) as sites:
        (folder / "list.txt").write_text("\n".join(sites.url(name) for name in asked))
        ports = {sites.ports[name] for name in asked}
        done = rep_process(
            *["rep", "collect", folder / "list.txt", "--warc", warc, "--per-address", "0"],
            *["-s", f"REP_STORE_PATH={store}", "-s", "REP_QUICK_RETRY_SECONDS=0.01"],
            *["-s", "REP_FETCH_TIMEOUT_SECONDS=3", *options],
        )
        assert done.status == 0, done.err
    assert rep("audit", "verify", warc / "latest").status == 0
    return store, (warc / "latest").resolve(), ports


def assert_same(store: Path, archive: Path, ports: Container[int]) -> int:
    """The number of origins, which are the same in both; our own failures are in neither."""
    ours, bad = captures(*files_in(archive))
    theirs, bad_of_theirs = captures(store)
    # The store keeps a file also for other origins that served it at the end of a redirect.
    theirs = {origin: one for origin, one in theirs.items() if origin[2] in ports}
    assert ours.keys() == theirs.keys()
    for origin, one in ours.items():
        other = theirs[origin]
        body = one.body if one.is_file else other.body  # of an error, only the archive has it
        assert replace(one, body=body) == other
    assert bad == bad_of_theirs == Counter()
    return len(theirs)


@pytest.mark.slow
def test_archive_and_store_agree_after_each_fault(tmp_path: Path) -> None:
    """Our own failures are in neither of the two."""
    guarded = "-s", "REP_REDIRECT_GUARD=public"
    store, archive, ports = collected(every(), FAULTS, tmp_path, *guarded)
    assert assert_same(store, archive, ports) > 50
    assert warcio_checks(archive) == ""
    assert fastwarc_reads(archive) in (None, [one.id for one in records_in(archive)])


def told(**fields: str) -> list[Capture | Bad]:
    """The captures of a record in which some fields were changed."""
    usual = {
        "rep-origin": "http://a.example",
        "rep-file": "/robots.txt",
        "rep-outcome": "200",
        "rep-outcome-hops": "0",
        "rep-outcome-uri": "http://a.example/robots.txt",
        "rep-body-octets": "3",
    }
    written = {**usual, **{name.replace("_", "-"): value for name, value in fields.items()}}
    block = "".join(f"{name}: {value}\r\n" for name, value in written.items()).encode()
    answer = record("response", b"HTTP/1.1 200 OK\r\n\r\n#xyz", more="WARC-Record-ID: <x>\r\n")
    metadata = record("metadata", block, more="WARC-Concurrent-To: <x>\r\n")
    return [*captures_of_stream(BytesIO(answer + metadata))]


def test_changed_records_do_not_raise() -> None:
    (usual,) = told()
    assert usual == Capture("a.example", "http", 80, "", 200, "", 0, False, body=b"#xy")
    nine = "9" * 5000
    for name, value in [("rep_outcome_hops", nine), ("rep_body_octets", nine), ("rep_hop", nine)]:
        (found,) = told(**{name: value})
        assert isinstance(found, Capture)
    assert told(rep_outcome=nine) == told(rep_outcome="x") == [Bad("no-origin")]
    assert told(rep_origin="//") == told(rep_origin="http://[") == [Bad("no-origin")]
    assert told(rep_file="/x") == []
    (down,) = told(rep_outcome="503")
    assert isinstance(down, Capture)
    assert (down.status, down.body) == (503, None)
