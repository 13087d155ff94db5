"""Audit trails as inputs: they say what the store of the same crawls says."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.captures import Bad, Capture, row_of
from scrapy_rep.extras.survey.facts import facts
from scrapy_rep.extras.survey.inputs.tasks import tasks_of
from tests.extras.evidence.audit.crawled import audited
from tests.extras.survey import inputs
from tests.extras.survey.files import SMALL
from tests.faults.sites import Plan, Sites
from tests.faults.table import FAULTS

_FEW = (
    *["204", "404", "503", "refused", "429 with Retry-After", "304 to the validators"],
    *["five redirects", "six redirects", "redirect to itself", "redirect in a circle"],
    *["redirect to another origin's robots.txt", "redirect to another origin's 404"],
    *["redirect to where nobody listens", "redirect to a file", "redirect to no URL"],
)
_SETTINGS: dict[str, Any] = {
    "REP_FETCH_TIMEOUT_SECONDS": 6,
    "REP_REDIRECT_GUARD": "public",
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "RETRY_ENABLED": False,
}


def _captures(path: Path) -> list[Capture | Bad]:
    return [capture for task in tasks_of(path) for capture in task()]


def _bad(path: Path) -> Counter[str]:
    return Counter(one.reason for one in _captures(path) if isinstance(one, Bad))


def _good(path: Path, ports: set[int]) -> list[Capture]:
    """The captures of sites with these ports; a store also has the targets of their redirects."""
    found = _captures(path)
    assert not [one for one in found if isinstance(one, Bad)]
    return [one for one in found if isinstance(one, Capture) and one.port in ports]


def _rows(found: list[Capture]) -> list[dict[str, Any]]:
    """The 49 facts of each capture."""
    rows = [row_of(one, facts(one.body or b"") if one.is_file else None) for one in found]
    return sorted(rows, key=lambda row: (row["host"], row["port"]))


def _differences(some: list[Capture], others: list[Capture]) -> list[str]:
    rows = zip(_rows(some), _rows(others), strict=True)
    return [
        f"{one['port']}, {name}: {one[name]}, {other[name]}"
        for one, other in rows
        for name in one
        if one[name] != other[name]
    ]


def _plans(names: tuple[str, ...]) -> dict[str, Plan]:
    plans = {}
    for name in names:
        plans[name] = FAULTS[name].plan(f"{name} (second)")
        other = FAULTS[name].other
        if other is not None:
            plans[f"{name} (second)"] = other
    return plans


@pytest.mark.parametrize(
    "names", [_FEW, pytest.param((*FAULTS,), marks=(pytest.mark.slow, pytest.mark.at_length))]
)
@pytest.mark.long
def test_trail_and_store_of_the_same_crawls_agree(names: tuple[str, ...], tmp_path: Path) -> None:
    """Two crawls; the second has most from the store, and looks again at what failed."""
    store, root = tmp_path / "robots.sqlite", tmp_path / "audit"
    settings = {**_SETTINGS, "REP_STORE": "sqlite", "REP_STORE_PATH": str(store)}
    with Sites(_plans(names)) as sites:
        ports = {sites.ports[name] for name in names}
        for _ in range(2):
            audited([sites.url(name, "/free") for name in names], root, settings=settings)
            told, kept = _good(root, ports), _good(store, ports)
            assert len(told) >= len(names) - 1, "what our own guard refuses is no answer"
            latest = _good(root / "latest", ports)
            assert _differences(told, kept) == _differences(latest, kept) == []
            assert Aggregate.of(told).to_dict() == Aggregate.of(kept).to_dict()


def _trail(folder: Path, *held: dict[str, Any], name: str = "1-00001.jsonl") -> Path:
    """A run with these records."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(map(records.line, held)))
    return folder


def _policy(host: str, at: float, body: bytes | None = None, **more: Any) -> dict[str, Any]:
    said = {"event": "503", "access_result": "unreachable"}
    if body is not None:
        digest = sha256(body).hexdigest()
        said = {"event": "200", "access_result": "successful", "body": f"sha256:{digest}"}
    held = {
        "t": "policy",
        "p": 1,
        "origin": f"https://{host}",
        "source": "network",
        "fetched_at": at,
    }
    return {**held, **said, **more}


def _body(body: bytes) -> dict[str, Any]:
    return dict(json.loads(records.body(body, sha256(body).hexdigest())))


_OLD, _NEW = b"User-agent: a\n", b"User-agent: b\n\xff"


def test_last_answer_of_an_origin_counts(tmp_path: Path) -> None:
    """Over runs too; not what failed since, nor what no site said."""
    _trail(
        tmp_path / "1",
        *[_body(_OLD), _policy("a.example", 1.0, _OLD), _policy("b.example", 9.0, _OLD)],
        *[_policy("c.example", 1.0), _policy("own.example", 1.0, _OLD, source="override")],
        *[_policy("late.example", 1.0, source="gave-up"), _policy("x.example", 1.0, event="guard")],
    )
    _trail(
        tmp_path / "2",
        *[_body(_NEW), _policy("a.example", 2.0, _NEW), _policy("a.example", 3.0)],
        *[_policy("b.example", 8.0, _NEW), _policy("c.example", 5.0, event="dns")],
    )
    found = {one.host: one for one in _captures(tmp_path) if isinstance(one, Capture)}
    assert {host: one.body for host, one in found.items()} == {
        "a.example": _NEW,
        "b.example": _OLD,
        "c.example": None,
    }
    assert (found["c.example"].failure, found["c.example"].date) == ("dns", "1970-01-01T00:00:05Z")


@pytest.mark.parametrize(
    ("hops", "stale", "expected"),
    [
        ([("a", 200)], {}, (0, False)),
        ([("a", 301), ("b", 503), ("a", 301), ("b", 503), ("b", 200)], {}, (1, True)),
        ([("a", 301), ("b", 301), ("a", 301), ("b", 200)], {}, (3, True)),
        ([("a", 200), ("a", 304)], {}, (0, False)),
        ([("a", 200), ("a", 301), ("b", 503)], {"is_stale": True}, (0, False)),
        ([], {}, (0, False)),
    ],
)
def test_redirects_are_counted_from_requests(
    hops: list[tuple[str, int]], stale: dict[str, Any], expected: object, tmp_path: Path
) -> None:
    told = [
        {
            "uri": f"https://{host}.example/robots.txt",
            "status": status,
            "at": float(number),
            "source": "network",
        }
        for number, (host, status) in enumerate(hops)
    ]
    policy = _policy("a.example", 0.5, _OLD, hops=told, **stale)
    (found,) = _captures(_trail(tmp_path / "x", _body(_OLD), policy))
    assert isinstance(found, Capture)
    assert (found.hops, found.cross_host) == expected


def test_damage_is_counted(tmp_path: Path) -> None:
    """A record that cannot be read, octets that are missing or others, a file that is cut."""
    run = _trail(
        tmp_path / "run",
        *[_policy("a.example", 1.0, b"missing"), _policy("b.example", 1.0, _OLD)],
        *[{**_body(_OLD), "text": "others"}, {**_policy("x", 1.0), "origin": "http://["}],
        *[{"t": "policy", "source": "store"}, {"t": "body"}, {"t": "decision", "n": "policy"}],
        *[_policy("c.example", 1.0, hops=3), _body(_NEW), _policy("d.example", 1.0, _NEW)],
    )
    with (run / "1-00001.jsonl").open("ab") as file:
        file.write(b'{"t":"policy", torn')
    packed = gzip.compress(records.line(_policy("e.example", 1.0)).encode())
    (run / "1-00002.jsonl.gz").write_bytes(packed[:-10])
    found = _captures(run)
    assert [one.host for one in found if isinstance(one, Capture)] == ["d.example"]
    # Two policies without their octets, five invalid records, and a truncated file.
    assert _bad(run) == {"damaged": 8}


def test_folder_of_hosts_is_not_a_trail(tmp_path: Path) -> None:
    path = inputs.folder(SMALL.items(), tmp_path)
    (path / "folder").mkdir()
    (one,) = tasks_of(path)
    assert Bad("no-file") in one()


@pytest.mark.parametrize("name", ["fetched_at", "confirmed_at"])
def test_time_beyond_a_float_is_damage(name: str, tmp_path: Path) -> None:
    record = {**_policy("a.example", 1.0, _OLD), "is_stale": True, name: 10**400}
    assert _bad(_trail(tmp_path / "run", _body(_OLD), record)) == {"damaged": 1}
