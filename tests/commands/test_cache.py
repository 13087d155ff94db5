"""``scrapy rep cache`` over a SQLite file, and over a store that can only do what crawls need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.knowledge import Knowledge
from scrapy_rep.protocol.origin import Origin
from tests.cache.samples import NOW, ORIGIN, OTHER, file_entry, outage_entry
from tests.cache.test_contract import PlainStore
from tests.commands.calling import rep

_ENTRIES = (
    file_entry(),
    Entry(OTHER, Knowledge(file_entry(OTHER).known.copy, outage_entry(OTHER).known.outage)),
    file_entry(Origin("http", "bin.example", 80), body=b"\xff"),
)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "robots.sqlite"
    store = SqliteStore(path, 1 << 20)
    for entry in _ENTRIES:
        store.commit(entry, None).result()
    store.close()
    return {"REP_STORE_PATH": str(path)}


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW + 120)


def test_list(settings: dict[str, Any]) -> None:
    done = rep("cache", "list", settings=settings)
    assert done.status == 0
    assert done.out == (
        "origin               state      answer  octets  fetched\n"
        "http://bin.example   fresh      200     1       2 minutes ago\n"
        "http://example.com   stale due  503     33      2 minutes ago\n"
        "https://example.com  fresh      200     33      2 minutes ago\n"
    )


def test_show(settings: dict[str, Any]) -> None:
    done = rep("cache", "show", "example.com", "http://example.com", settings=settings)
    assert done.status == 0
    assert "state: fresh: the copy holds" in done.out
    assert "fresh until: 2027-01-16 08:00:00 UTC (in 23 hours)" in done.out
    assert "file: 33 octets, 0 sitemaps, 0 findings" in done.out
    assert "means: rules (stale)" in done.out
    assert "outage: 503, 1 in a row" in done.out


def test_show_the_file(settings: dict[str, Any]) -> None:
    done = rep("cache", "show", "example.com", "--body", settings=settings)
    assert done.out == "User-agent: *\nDisallow: /private\n"


def test_purge(settings: dict[str, Any]) -> None:
    done = rep("cache", "purge", "example.com", settings=settings)
    assert (done.status, done.out) == (0, "purged https://example.com\n")
    assert rep("cache", "show", "example.com", settings=settings).status == 1
    assert rep("cache", "purge", "example.com", settings=settings).status == 1
    assert rep("cache", "purge", "--all", settings=settings).out.count("purged") == 2
    assert rep("cache", "list", settings=settings).status == 1


def test_export(settings: dict[str, Any]) -> None:
    done = rep("cache", "export", settings=settings)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["origin"] for row in rows] == ["http://bin.example", str(OTHER), str(ORIGIN)]
    assert rows[0]["copy"]["body_base64"] == "/w=="
    assert rows[1]["outage"]["event"] == "503"
    assert rows[2]["copy"]["body"] == "User-agent: *\nDisallow: /private\n"
    assert rows[2]["meaning"] == "rules"
    assert rep("cache", "export", "example.com", settings=settings).out.count("\n") == 1


def test_a_store_of_the_user_s_that_can_only_do_what_crawls_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PlainStore, "peek", lambda _, origin: file_entry(origin))
    settings = {"REP_STORE": "tests.cache.test_contract.PlainStore"}
    assert "state: fresh" in rep("cache", "show", "example.com", settings=settings).out
    for action in ("list", "export"):
        done = rep("cache", action, settings=settings)
        assert done.status == 2
        assert "PlainStore can't list or forget its entries" in done.err
    assert rep("cache", "purge", "example.com", settings=settings).status == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show"], "show what? Name origins, or give --all"),
        (["purge"], "purge what?"),
        (["purge", "h", "--all"], "not both"),
        (["burn"], "invalid choice: 'burn'"),
        (["list", "a b"], "names no origin"),
    ],
)
def test_wrong_usage(settings: dict[str, Any], arguments: list[str], words: str) -> None:
    done = rep("cache", *arguments, settings=settings)
    assert done.status == 2
    assert words in done.err


def test_no_store_yet(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite"
    done = rep("cache", "list", settings={"REP_STORE_PATH": str(path)})
    assert done.status == 2
    assert "nothing is kept yet" in done.err
    assert not path.exists()
