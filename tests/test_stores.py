"""6: which store a crawl uses, and what a store that fails does to it: nothing, but a warning."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.base import Lease, StoreError
from scrapy_rep.cache.entry import Entry
from scrapy_rep.protocol.origin import Origin
from tests.cache.test_contract import PlainStore
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Answer, Site

_RULES = Answer(body="User-agent: *\nDisallow: /private\n")
_WARNING = "The store of robots.txt answers"
_ME = "tests.test_stores"


class FailingStore(PlainStore):
    """A store that fails in everything that its subclass names."""

    fails: tuple[str, ...] = ()

    def peek(self, origin: Origin) -> Entry | None:
        if "peek" in self.fails:
            raise StoreError("peek")
        return super().peek(origin)

    def claim(self, origin: Origin, now: float, seconds: float) -> Future[Lease | None]:
        return self._failed() if "claim" in self.fails else super().claim(origin, now, seconds)

    def commit(self, entry: Entry, lease: Lease | None) -> Future[None]:
        return self._failed() if "commit" in self.fails else super().commit(entry, lease)

    def release(self, lease: Lease) -> Future[None]:
        return self._failed() if "release" in self.fails else super().release(lease)

    def _failed(self) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(StoreError("out of order"))
        return future


class PeekFails(FailingStore):
    fails = ("peek",)


class ClaimFails(FailingStore):
    fails = ("claim",)


class CommitFails(FailingStore):
    fails = ("commit",)


class AllFail(FailingStore):
    fails = ("peek", "claim", "commit", "release")


class NoStore:
    """What the user's class should not be."""

    def __init__(self) -> None:
        raise RuntimeError("no")


def run(loop: Loop, site: Site, **settings: Any) -> Crawl:
    urls = [site.url(path) for path in ("/a", "/b", "/private")]
    urls += [site.url(path, "localhost") for path in ("/a", "/private")]
    return crawl(URLS_SPIDER, loop=loop, settings={**ADDON, **settings}, urls=urls)


def assert_obeyed(site: Site, result: Crawl) -> None:
    paths = site.paths()
    assert sorted(path for path in paths if path != "/robots.txt") == ["/a", "/a", "/b"], result.log
    assert paths.count("/robots.txt") == 2
    assert result.exit_code == 0, result.error


def assert_went_on_from_memory(result: Crawl) -> None:
    assert result.log.count(_WARNING) == 1, result.log
    assert len(re.findall(r"\[scrapy_rep\S*\] WARNING", result.log)) == 1
    assert "ERROR:" not in result.log
    assert result.stats["rep/store/failed"] == 1


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("store", ["PeekFails", "ClaimFails", "CommitFails", "AllFail"])
def test_a_store_that_fails(loop: Loop, store: str) -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run(loop, site, REP_STORE=f"{_ME}.{store}")
        assert_obeyed(site, result)
    assert_went_on_from_memory(result)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_class_of_the_user_s(loop: Loop) -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run(loop, site, REP_STORE="tests.cache.test_contract.PlainStore")
        assert_obeyed(site, result)
    assert "rep/store/failed" not in result.stats


@pytest.mark.parametrize("name", [f"{_ME}.NoStore", f"{_ME}.Nothing", "no.such.module", "redis"])
def test_a_class_that_cannot_be_had_stops_the_crawl(name: str) -> None:
    with Site() as site:
        result = run("asyncio", site, REP_STORE=name)
        assert site.paths() == []
    assert "REP_STORE = " in result.error
    assert result.exit_code != 0


class TestSqlite:
    """The file, at its worst."""

    @pytest.mark.parametrize("loop", LOOPS)
    def test_the_second_crawl_asks_for_nothing(self, loop: Loop, tmp_path: Path) -> None:
        settings = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "new" / "a.sqlite")}
        with Site({"/robots.txt": _RULES}) as site:
            assert_obeyed(site, run(loop, site, **settings))
            result = run(loop, site, **settings)
            assert site.paths().count("/robots.txt") == 2
            assert "/private" not in site.paths()
        assert result.stats["rep/store/hit"] == 2
        assert "robotstxt/request_count" not in result.stats

    @pytest.mark.parametrize("loop", LOOPS)
    def test_damaged(self, loop: Loop, tmp_path: Path) -> None:
        path = tmp_path / "a.sqlite"
        path.write_bytes(b"this is no database" * 500)
        with Site({"/robots.txt": _RULES}) as site:
            result = run(loop, site, REP_STORE="sqlite", REP_STORE_PATH=str(path))
            assert_obeyed(site, result)
        (aside,) = tmp_path.glob("a.sqlite.damaged-*")
        assert aside.read_bytes() == b"this is no database" * 500
        assert len(re.findall(r"\[scrapy_rep\S*\] WARNING", result.log)) == 1
        with closing(sqlite3.connect(path)) as plain:
            assert plain.execute("select count(*) from entries_1").fetchone() == (2,)

    @pytest.mark.parametrize("loop", LOOPS)
    def test_where_nothing_can_be_written(self, loop: Loop) -> None:
        with Site({"/robots.txt": _RULES}) as site:
            for store in ("auto", "sqlite"):
                before = len(site.paths())
                result = run(loop, site, REP_STORE=store, REP_STORE_PATH="/proc/self/a.sqlite")
                assert len(site.paths()) - before == 5
                assert_went_on_from_memory(result)
                assert "REP_STORE_PATH" in result.log

    def test_locked_by_somebody_who_does_not_let_go(self, tmp_path: Path) -> None:
        path = tmp_path / "a.sqlite"
        with Site({"/robots.txt": _RULES}) as site:
            run("asyncio", site, REP_STORE="sqlite", REP_STORE_PATH=str(path))
        with (
            Site({"/robots.txt": _RULES}) as site,
            closing(sqlite3.connect(path, isolation_level=None)) as other,
        ):
            other.execute("begin immediate")
            result = run("asyncio", site, REP_STORE="sqlite", REP_STORE_PATH=str(path))
            assert_obeyed(site, result)
        assert_went_on_from_memory(result)
        assert "locked" in result.log

    def test_a_lock_holds_the_crawl_up_once_and_not_once_per_origin(self, tmp_path: Path) -> None:
        path = tmp_path / "a.sqlite"
        hosts = [f"http://h{number}.example" for number in range(12)]
        with Site() as proxy, closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("pragma journal_mode = wal")
            meta = {"proxy": proxy.url("")}
            settings = {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
            settings |= {"REP_FETCH_META": meta}
            crawl(URLS_SPIDER, settings=settings, urls=["data:,"])  # makes the tables
            other.execute("begin immediate")
            began = time.monotonic()
            result = crawl(
                URLS_SPIDER,
                settings=settings,
                urls=[f"{host}/a" for host in hosts],
                meta=meta,
                timeout_seconds=120,
            )
            elapsed = time.monotonic() - began
        assert_went_on_from_memory(result)
        assert [item["status"] for item in result.items] == [200] * len(hosts)
        assert elapsed < 20

    def test_spoilt_records_are_misses(self, tmp_path: Path) -> None:
        path = tmp_path / "a.sqlite"
        settings = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
        with Site({"/robots.txt": _RULES}) as site:
            run("asyncio", site, **settings)
            with closing(sqlite3.connect(path)) as plain:
                plain.execute(
                    "update entries_1 set record = cast('?' || substr(record, 2) as blob)"
                )
                plain.commit()
            before = len(site.paths())
            result = run("asyncio", site, **settings)
            assert len(site.paths()) - before == 5
            assert "/private" not in site.paths()
        assert "rep/store/failed" not in result.stats


class TestPlaces:
    """Where the file is by default."""

    def test_in_a_project_s_data_folder(self, tmp_path: Path) -> None:
        (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = no.settings\n")
        self._check(tmp_path, {}, tmp_path / ".scrapy" / "rep" / "robots.sqlite")

    def test_in_the_user_s_cache_folder(self, tmp_path: Path) -> None:
        environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        self._check(
            tmp_path, environment, tmp_path / "cache" / "scrapy-rep" / "rep" / "robots.sqlite"
        )

    def _check(self, folder: Path, environment: dict[str, str], expected: Path) -> None:
        code = "from scrapy_rep.stores import default_path; print(default_path().resolve())"
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert Path(done.stdout.strip()) == expected.resolve()
