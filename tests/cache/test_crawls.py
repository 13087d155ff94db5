"""The choice of the store of a crawl, and crawls with a store that fails."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_rep import crawl as crawls
from scrapy_rep.cache.base import Lease, StoreError
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.fetch import chosen_store
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.settings import RepSettings
from tests.cache.samples import body_of, file_entry, outage_entry, usual_key
from tests.cache.spiders import LEASE_SECONDS
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.extras import skip_refused
from tests.redis_server import a_loop, redis_store
from tests.servers.handle import Answer, Sequence, Site, redirect

_OLD = "User-agent: *\nDisallow: /old\n"
_NEW = "User-agent: *\nDisallow: /new\n"
_WARNINGS = re.compile(r"\[scrapy_rep\.fetch\.keeper\] WARNING: (.*)")
_RULES = Answer(body="User-agent: *\nDisallow: /private\n")
_WARNING = "The store of robots.txt answers"
_ME = "tests.cache.test_crawls"


class OddStore(MemoryStore):
    """A store with methods that fail as the setting TEST_METHODS says."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OddStore:
        store = cls()
        for method, manner in crawler.settings.getdict("TEST_METHODS").items():
            setattr(store, method, {"raises": _raises, "fails": _fails, "hangs": _hangs}[manner])
        return store


def _raises(*_: Any, **__: Any) -> None:
    raise ConnectionError("out of order")


def _fails(*_: Any, **__: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(StoreError("out of order"))
    return future


def _hangs(*_: Any, **__: Any) -> Future[Any]:
    return Future()


class CarelessStore(MemoryStore):
    """A store with commits that return nothing and check no lease."""

    def commit(self, entry: Entry, lease: Lease | None) -> Future[Any]:
        super().commit(entry, None)
        nothing: Future[Any] = self.release(lease or Lease(entry.origin, "", 0))
        return nothing


class StoreOfOrigins(CarelessStore):
    """A store that returns entries with plain origins, which allow everything."""

    def peek(self, origin: Origin) -> Entry | None:
        plain = Origin(origin.scheme, origin.host, origin.port)
        return file_entry(plain, at=time.time(), body=b"")


class WrongClaim(MemoryStore):
    """A store with a claim that takes other arguments."""

    def claim(self, origin: Origin, now: float, seconds: float) -> Any:  # type: ignore[override]
        raise AssertionError("not to be called")


class NoRelease(MemoryStore):
    release = None  # type: ignore[assignment]


class NoStore:
    """A class that cannot be built."""

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


_ALL_FAIL = {"peek": "raises", "claim": "fails", "commit": "fails", "release": "fails"}


@pytest.mark.parametrize(
    ("loop", "methods"),
    [
        *((loop, _ALL_FAIL) for loop in LOOPS),
        pytest.param("asyncio", {"claim": "hangs"}, marks=pytest.mark.slow),
        pytest.param("select", {"commit": "hangs"}, marks=pytest.mark.at_length),
    ],
)
def test_failed_store_is_replaced_by_memory(loop: Loop, methods: dict[str, str]) -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run(loop, site, REP_STORE=f"{_ME}.OddStore", TEST_METHODS=methods)
        assert_obeyed(site, result)
    assert_went_on_from_memory(result)


def test_class_without_a_working_close_is_reported() -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run("asyncio", site, REP_STORE=f"{_ME}.OddStore", TEST_METHODS={"close": "raises"})
        assert_obeyed(site, result)
    assert result.log.count("cannot be closed") == 1
    assert "ERROR:" not in result.log


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no.such.module", "No module named 'no'"),
        (f"{_ME}.Nothing", "give 'auto', 'memory', 'sqlite'"),
        (f"{_ME}.NoStore", "cannot be used: RuntimeError('no')"),
        (f"{_ME}.WrongClaim", "it lacks the method claim(origin: Origin, *, seconds: float"),
        (f"{_ME}.WrongClaim", "fresh_seconds: float"),
        (f"{_ME}.NoRelease", "it lacks the method release(lease: Lease)"),
    ],
)
def test_unusable_class_is_refused(name: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^REP_STORE = ") as refused:
        chosen_store.opener_of(crawls.Crawl.of(get_crawler(settings_dict={"REP_STORE": name})))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "sqlite"),
        ({"REP_REDIS_URL": "redis://h"}, "redis"),
        ({"REP_STORE": "memory", "REP_REDIS_URL": "redis://h"}, "memory"),
        ({"REP_STORE": "sqlite"}, "sqlite"),
        ({"REP_STORE": "redis", "REP_REDIS_URL": "redis://h"}, "redis"),
        ({"REP_STORE": "scrapy_rep.cache.memory.MemoryStore"}, "own"),
    ],
)
def test_settings_choose_the_store(settings: dict[str, Any], kind: str) -> None:
    skip_refused(settings)
    assert chosen_store.kind_of(RepSettings.of(Settings(settings))) == kind


@pytest.mark.parametrize(
    ("event", "settings"),
    [
        ("local", {"DOWNLOADER_MIDDLEWARES": {"tests.faults.middlewares.Refuse": 850}}),
        ("guard", {"REP_REDIRECT_GUARD": "public"}),
    ],
)
def test_own_failure_is_not_shared(event: str, settings: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": redirect("//localhost/elsewhere")}) as site:
        result = crawl(
            URLS_SPIDER,
            settings={**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path), **settings},
            urls=[site.url("/a")],
        )
        assert "/a" not in site.paths()
    assert result.stats[f"rep/event/{event}"] == 1
    with closing(sqlite3.connect(path)) as plain:
        assert plain.execute("select key from files_3").fetchall() == []


@pytest.mark.slow
def test_locked_store_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    hosts = [f"http://h{number}.example" for number in range(5)]
    with Site({"*": Answer()}) as proxy:
        SqliteStore(path, 1 << 30).close()
        meta = {"proxy": proxy.url("")}
        result = crawl(
            "tests.cache.spiders:LockingSpider",
            settings={**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)},
            environment={"http_proxy": proxy.url("")},
            urls=[f"{host}/a" for host in hosts],
            path=str(path),
            meta=meta,
        )
        asked = [path for path in proxy.paths() if path.endswith("/robots.txt")]
    assert len(result.items) == len(hosts), result.log
    assert sorted(asked) == [f"{host}/robots.txt" for host in hosts]
    failed, back = _WARNINGS.findall(result.log)
    assert "failed" in failed
    assert "locked" in failed
    assert "is in use again" in back
    assert result.stats["rep/store/failed"] == 1
    assert result.stats["rep/store/back"] == 1
    assert "ERROR" not in result.log
    with closing(SqliteStore(path, 1 << 30)) as store:
        assert [str(key.origin) for key in store.keys()] == hosts  # noqa: SIM118


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "loop"), [("sqlite", "select"), ("redis", "asyncio")])
def test_stopped_process_does_not_overwrite_its_successor(
    kind: str, loop: Loop, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path, pid_path = tmp_path / "robots.sqlite", tmp_path / "pid"
    first = Answer(body=_OLD, delay_seconds=2 * LEASE_SECONDS)
    settings = {**ADDON, "REP_STORE": kind, "REP_STORE_PATH": str(path)}
    if kind == "redis":
        settings |= {
            "REP_REDIS_URL": request.getfixturevalue("redis_server").url,
            "REP_STORE_PATH": ":memory:",
        }
    with (
        Site({"/robots.txt": Sequence([first, Answer(body=_NEW)])}) as site,
        ThreadPoolExecutor(1) as pool,
    ):
        stopped = pool.submit(
            crawl,
            "tests.cache.spiders:StoppedSpider",
            loop=loop,
            settings=settings,
            url=site.url("/old"),
            pid_path=str(pid_path),
        )
        patience = time.monotonic() + 30
        while not site.paths():
            assert time.monotonic() < patience
            time.sleep(0.05)
        pid = int(pid_path.read_text())
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(1.2 * LEASE_SECONDS)
            successor = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=[site.url("/new")])
        finally:
            os.kill(pid, signal.SIGCONT)
        result = stopped.result(60)
        assert site.paths().count("/robots.txt") == 2
        body = body_of(_stored(settings, usual_key(Origin.of(site.url()))))
    assert successor.stats["rep/verdict/disallowed"] == 1
    assert body == _NEW.encode()
    assert result.stats["rep/store/lease_lost"] == 1, result.log
    # The answer of the successor is newer, so this crawl uses it too.
    assert [item["url"] for item in result.items] == [site.url("/old")]


def _stored(settings: dict[str, Any], key: Key) -> Entry | None:
    """The stored entry, as another process sees it."""
    with ExitStack() as undo:
        if settings["REP_STORE"] == "redis":
            loop = undo.enter_context(a_loop())
            shared = redis_store(settings["REP_REDIS_URL"], None, loop)
            undo.callback(lambda: shared.close().result())
            return shared.look(key).result()
        store = undo.enter_context(closing(SqliteStore(Path(settings["REP_STORE_PATH"]), 1 << 30)))
        return store.peek(key)


@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("scrapy_rep.cache.memory.MemoryStore", 0),
        ("tests.cache.test_crawls.CarelessStore", 0),
        ("tests.cache.test_crawls.StoreOfOrigins", 1),
    ],
)
def test_users_store_works(name: str, warnings: int) -> None:
    urls = [(path, host) for path in ("/a", "/old") for host in ("127.0.0.1", "localhost")]
    with Site({"/robots.txt": Answer(body=_OLD)}) as site:
        result = crawl(
            URLS_SPIDER,
            settings={**ADDON, "REP_STORE": name},
            urls=[site.url(path, host) for path, host in urls],
        )
        assert sorted(site.paths()) == ["/a", "/a", "/robots.txt", "/robots.txt"], result.log
    told = _WARNINGS.findall(result.log)
    assert len(told) == warnings
    assert all("returns entries with a plain origin" in words for words in told)
    assert result.exit_code == 0, result.error
    assert "rep/store/failed" not in result.stats


@pytest.mark.parametrize("kept", [outage_entry, partial(file_entry, body=b"")])
def test_entry_of_a_wrong_clock_is_fetched_again(
    kept: Callable[..., Entry], tmp_path: Path
) -> None:
    """It would have held for 20 hours, in this crawl and in all others."""
    path = tmp_path / "robots.sqlite"
    settings = {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
    with Site({"/robots.txt": Answer(body=_OLD)}) as site:
        key = usual_key(Origin.of(site.url()))
        store = SqliteStore(path, 1 << 30)
        store.commit(kept(key, at=time.time() + 20 * 3600), None).result()
        for _ in range(2):
            crawl(URLS_SPIDER, settings=settings, urls=[site.url("/old"), site.url("/a")])
        assert site.paths() == ["/robots.txt", "/a", "/a"]
        assert body_of(store.peek(key)) == _OLD.encode()
        store.close()


class TestSqlite:
    """A file that is damaged, locked or cannot be written."""

    def test_damaged_file_is_renamed(self, tmp_path: Path) -> None:
        path = tmp_path / "a.sqlite"
        path.write_bytes(b"this is no database" * 500)
        with Site({"/robots.txt": _RULES}) as site:
            result = run("asyncio", site, REP_STORE="sqlite", REP_STORE_PATH=str(path))
            assert_obeyed(site, result)
        (aside,) = tmp_path.glob("a.sqlite.damaged-*")
        assert aside.read_bytes() == b"this is no database" * 500
        assert len(re.findall(r"\[scrapy_rep\S*\] WARNING", result.log)) == 1
        with closing(sqlite3.connect(path)) as plain:
            assert plain.execute("select count(*) from files_3").fetchone() == (2,)

    def test_unwritable_path_means_memory(self) -> None:
        with Site({"/robots.txt": _RULES}) as site:
            settings = {"REP_STORE": "auto", "REP_STORE_PATH": "/proc/self/a.sqlite"}
            result = run("asyncio", site, **settings)
            assert_obeyed(site, result)
        assert_went_on_from_memory(result)
        assert "REP_STORE_PATH" in result.log


class TestPlaces:
    """Where the file is by default."""

    def test_unwritable_project_folder_means_memory(self, tmp_path: Path) -> None:
        """As in a container with a project that only root may change."""
        (tmp_path / "scrapy.cfg").write_text("[datadir]\ndefault = /proc/self/no-such-folder\n")
        environment = {
            "SCRAPY_SETTINGS_MODULE": "tests.crawls.settings",
            "XDG_CONFIG_HOME": str(tmp_path),
        }
        with Site({"/robots.txt": _RULES}) as site:
            result = crawl(
                URLS_SPIDER,
                settings={**ADDON, "REP_STORE": "sqlite"},
                environment=environment,
                urls=[site.url(path) for path in ("/a", "/private")],
            )
            assert site.paths() == ["/robots.txt", "/a"], result.log
        assert_went_on_from_memory(result)
        assert "REP_STORE_PATH" in result.log

    def test_user_without_a_home_is_an_error(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """As in containers that run under an unknown user number."""
        for name in ("HOME", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(StoreError, match="home"):
            chosen_store.default_path()

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
    def test_each_system_has_a_default_path(
        self,
        platform: str,
        environment: dict[str, str],
        expected: str,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        if platform == "a project":
            (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = no.settings\n")
        for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"HOME": "{}/home", **environment}.items():
            monkeypatch.setenv(name, value.format(tmp_path))
        monkeypatch.chdir(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr("sys.platform", platform)
            found = chosen_store.default_path()
        assert found.resolve() == tmp_path / expected / "rep" / "robots.sqlite"
