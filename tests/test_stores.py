"""6: which store a crawl uses, and what a store that fails does to it: nothing, but a warning."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from scrapy_rep.cache.base import Busy, Claim, Found, Lease, Leased, StoreError, done
from scrapy_rep.cache.entry import Entry
from scrapy_rep.fetch import chosen_store, keeper
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.settings import RepSettings
from tests.cache.samples import file_entry
from tests.cache.test_contract import PlainStore
from tests.crawling import LOOPS, REPOSITORY, Crawl, Loop, crawl
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

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        if "claim" in self.fails:
            return self._failed()
        return super().claim(origin, seconds=seconds, fresh_seconds=fresh_seconds)

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
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


class PeekRaises(PlainStore):
    def peek(self, origin: Origin) -> Entry | None:
        raise ValueError("out of order")


class PeekGivesText(PlainStore):
    def peek(self, origin: Origin) -> Entry | None:
        return "nothing"  # type: ignore[return-value]


class ClaimRaises(PlainStore):
    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        raise ConnectionError("out of order")


def _claiming(answer: Callable[[Origin], Any]) -> type[PlainStore]:
    """A store that answers claims so, whatever it has."""

    class Claiming(PlainStore):
        def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
            answered: Future[Claim] = answer(origin)
            return answered

    return Claiming


ClaimGivesNoFuture = _claiming(lambda _: None)
ClaimGivesText = _claiming(lambda _: done("lease"))
ClaimGivesNoEntry = _claiming(lambda _: done(Found("entry")))  # type: ignore[arg-type]
ClaimGivesNoLease = _claiming(lambda _: done(Leased("lease")))  # type: ignore[arg-type]
ClaimGivesNoTime = _claiming(lambda _: done(Busy(float("nan"))))
# Gives what ran out as if it held, whatever it is told.
ClaimInsists = _claiming(
    lambda origin: done(Found(file_entry(origin, at=time.time() - 90_000, body=b"")))
)


class CommitRaises(PlainStore):
    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        raise ConnectionError("out of order")


class CloseRaises(PlainStore):
    def close(self) -> None:
        raise ConnectionError("out of order")


class ClaimHangs(PlainStore):
    def __init__(self) -> None:
        super().__init__()
        keeper._ANSWER_SECONDS = 0.5

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        return Future()


class CommitHangs(ClaimHangs):
    claim = PlainStore.claim

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        return Future()


class RecoveringStore(PlainStore):
    """Fails once; by the time that it is tried again, another process holds the lease."""

    def __init__(self, stats: StatsCollector) -> None:
        super().__init__()
        keeper._TRY_AGAIN_SECONDS = (0.0, 2.0)
        self.stats = stats
        self.claim_count = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RecoveringStore:
        assert crawler.stats is not None
        return cls(crawler.stats)

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        self.claim_count += 1
        if self.claim_count == 1:
            raise StoreError("once")
        if self.claim_count == 2:
            self.theirs = Lease(origin, "theirs", time.time() + 14)
            self.leases[origin] = self.theirs
        return super().claim(origin, seconds=seconds, fresh_seconds=fresh_seconds)

    def close(self) -> None:
        # A crawl that tried the store by its own claim waits until their lease ends, as it should.
        has_ended = time.time() >= self.theirs.until
        is_theirs = self.leases.get(self.theirs.origin) == self.theirs
        self.stats.set_value("test/is_theirs", is_theirs or has_ended)


class ClaimOfBefore(PlainStore):
    """As the interface was until version 0.1.0."""

    def claim(self, origin: Origin, now: float, seconds: float) -> Any:  # type: ignore[override]
        raise AssertionError("not to be called")


class RenewOfBefore(PlainStore):
    def renew(self, lease: Lease, now: float, seconds: float) -> Any:  # type: ignore[override]
        raise AssertionError("not to be called")


class NoRelease(PlainStore):
    release = None  # type: ignore[assignment]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "store"),
    [
        *(
            ("asyncio", name)
            for name in (
                "PeekRaises",
                "PeekGivesText",
                "ClaimRaises",
                "ClaimGivesNoFuture",
                "ClaimGivesText",
                "ClaimGivesNoEntry",
                "ClaimGivesNoLease",
                "ClaimGivesNoTime",
                "ClaimInsists",
                "CommitRaises",
            )
        ),
        *((loop, name) for name in ("ClaimHangs", "CommitHangs") for loop in LOOPS),
    ],
)
def test_a_class_that_keeps_to_nothing(loop: Loop, store: str) -> None:
    """No failure of a store is an answer, be it of a kind that nobody thought of."""
    with Site({"/robots.txt": _RULES}) as site:
        result = run(loop, site, REP_STORE=f"{_ME}.{store}")
        assert_obeyed(site, result)
    assert_went_on_from_memory(result)


def test_a_class_that_cannot_be_closed() -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run("asyncio", site, REP_STORE=f"{_ME}.CloseRaises")
        assert_obeyed(site, result)
    assert result.log.count("cannot be closed") == 1
    assert "ERROR:" not in result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_trying_a_store_again_takes_nobody_s_lease(loop: Loop) -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run(loop, site, REP_STORE=f"{_ME}.RecoveringStore")
        assert_obeyed(site, result)
    assert result.stats["rep/store/failed"] == result.stats["rep/store/back"] == 1
    assert result.stats["test/is_theirs"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_class_of_the_user_s(loop: Loop) -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run(loop, site, REP_STORE="tests.cache.test_contract.PlainStore")
        assert_obeyed(site, result)
    assert "rep/store/failed" not in result.stats


@pytest.mark.parametrize("name", [f"{_ME}.NoStore", f"{_ME}.Nothing", "no.such.module", "ridis"])
def test_a_class_that_cannot_be_had_stops_the_crawl(name: str) -> None:
    with Site() as site:
        result = run("asyncio", site, REP_STORE=name)
        assert site.paths() == []
    assert "REP_STORE = " in result.error
    assert result.exit_code != 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ClaimOfBefore", "it lacks the method claim(origin: Origin, *, seconds: float"),
        ("RenewOfBefore", "it lacks the method renew(lease: Lease, *, seconds: float)"),
        ("NoRelease", "it lacks the method release(lease: Lease)"),
    ],
)
def test_a_class_of_an_older_interface_stops_the_crawl(name: str, words: str) -> None:
    with Site() as site:
        result = run("asyncio", site, REP_STORE=f"{_ME}.{name}")
        assert site.paths() == []
    assert words in result.error
    assert "fresh_seconds: float" in result.error or name != "ClaimOfBefore"
    assert result.exit_code != 0


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "sqlite"),
        ({"REP_REDIS_URL": "redis://h"}, "redis"),
        ({"REP_STORE": "memory", "REP_REDIS_URL": "redis://h"}, "memory"),
        ({"REP_STORE": "sqlite"}, "sqlite"),
        ({"REP_STORE": "redis", "REP_REDIS_URL": "redis://h"}, "redis"),
        ({"REP_STORE": "tests.cache.test_contract.PlainStore"}, "own"),
    ],
)
def test_which_store_it_is(settings: dict[str, Any], kind: str) -> None:
    assert chosen_store.kind_of(RepSettings.of(Settings(settings))) == kind


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
            assert plain.execute("select count(*) from files_3").fetchone() == (2,)

    @pytest.mark.parametrize("loop", LOOPS)
    def test_where_nothing_can_be_written(self, loop: Loop) -> None:
        with Site({"/robots.txt": _RULES}) as site:
            for store in ("auto", "sqlite"):
                before = len(site.paths())
                result = run(loop, site, REP_STORE=store, REP_STORE_PATH="/proc/self/a.sqlite")
                assert len(site.paths()) - before == 5
                assert_went_on_from_memory(result)
                assert "REP_STORE_PATH" in result.log

    @pytest.mark.slow
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

    @pytest.mark.slow
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
                plain.execute("update files_3 set record = cast('?' || substr(record, 2) as blob)")
                plain.commit()
            before = len(site.paths())
            result = run("asyncio", site, **settings)
            assert len(site.paths()) - before == 5
            assert "/private" not in site.paths()
        assert "rep/store/failed" not in result.stats


class TestPlaces:
    """Where the file is by default."""

    @pytest.mark.parametrize("loop", LOOPS)
    @pytest.mark.parametrize("store", ["auto", "sqlite"])
    def test_a_project_s_folder_that_cannot_be_made(
        self, loop: Loop, store: str, tmp_path: Path
    ) -> None:
        """As in a container whose code is root's; root itself can't make this one either."""
        (tmp_path / "scrapy.cfg").write_text("[datadir]\ndefault = /proc/self/no-such-folder\n")
        environment = {
            "SCRAPY_SETTINGS_MODULE": "tests.crawls.settings",
            "XDG_CONFIG_HOME": str(tmp_path),
        }
        with Site({"/robots.txt": _RULES}) as site:
            result = crawl(
                URLS_SPIDER,
                loop=loop,
                settings={**ADDON, "REP_STORE": store},
                environment=environment,
                urls=[site.url(path) for path in ("/a", "/private")],
            )
            assert site.paths() == ["/robots.txt", "/a"], result.log
        assert_went_on_from_memory(result)
        assert "REP_STORE_PATH" in result.log

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
    @pytest.mark.parametrize("has_project", [True, False])
    def test_somebody_who_may_write_nowhere(self, has_project: bool) -> None:
        code = (
            "import os, pwd, sys\n"
            "from scrapy_rep.cache.base import StoreError\n"
            "from scrapy_rep.fetch.chosen_store import default_path\n"
            "os.environ.pop('XDG_CACHE_HOME', None)\n"
            "os.environ.pop('HOME', None) if len(sys.argv) == 2 else None\n"
            "os.setgroups([]); os.setgid(65533); os.setuid(65533); os.chdir(sys.argv[1])\n"
            "try: print(default_path())\n"
            "except StoreError as error: print('StoreError', error)\n"
        )
        with tempfile.TemporaryDirectory(dir="/tmp") as name:
            folder = Path(name)
            folder.chmod(0o755)
            if has_project:
                (folder / "scrapy.cfg").write_text("[settings]\ndefault = no.settings\n")
            done = subprocess.run(
                [sys.executable, "-c", code, name, *["with a home"] * has_project],
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                capture_output=True,
                text=True,
                check=False,
            )
        reason = "Permission denied" if has_project else "home"
        assert done.stdout.startswith("StoreError"), done
        assert reason in done.stdout

    @pytest.mark.parametrize(
        ("platform", "environment", "expected"),
        [
            ("linux", {}, "home/.cache/scrapy-rep"),
            ("linux", {"XDG_CACHE_HOME": "{}/c"}, "c/scrapy-rep"),
            ("linux", {"XDG_CACHE_HOME": "c"}, "home/.cache/scrapy-rep"),  # as the XDG says
            ("darwin", {}, "home/Library/Caches/scrapy-rep"),
            ("win32", {}, "home/AppData/Local/scrapy-rep/scrapy-rep/Cache"),
            ("win32", {"LOCALAPPDATA": "{}/l"}, "l/scrapy-rep/scrapy-rep/Cache"),
            ("a project", {}, ".scrapy"),
        ],
    )
    def test_each_system_has_its_place(
        self, platform: str, environment: dict[str, str], expected: str, tmp_path: Path
    ) -> None:
        if platform == "a project":
            (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = no.settings\n")
        code = (
            "import sys\n"
            "from scrapy_rep.fetch import chosen_store\n"
            f"sys.platform = {platform!r}\n"
            "print(chosen_store.default_path().resolve())"
        )
        unset = ("XDG_CACHE_HOME", "LOCALAPPDATA")
        usual = {name: value for name, value in os.environ.items() if name not in unset}
        own = {name: value.format(tmp_path) for name, value in environment.items()}
        home = {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**usual, **home, **own},
            capture_output=True,
            text=True,
            check=True,
        )
        assert Path(done.stdout.strip()) == tmp_path / expected / "rep" / "robots.sqlite"
