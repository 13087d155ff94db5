"""6: which store a crawl uses, and what a store that fails does to it: nothing, but a warning."""

from __future__ import annotations

import re
import sqlite3
import time
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_rep.cache.base import Lease, StoreError
from scrapy_rep.fetch import chosen_store, keeper
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.settings import RepSettings
from tests.cache.test_contract import PlainStore
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Answer, Site

_RULES = Answer(body="User-agent: *\nDisallow: /private\n")
_WARNING = "The store of robots.txt answers"
_ME = "tests.test_stores"


class OddStore(PlainStore):
    """A store some of whose methods are as the setting TEST_METHODS says."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OddStore:
        keeper._ANSWER_SECONDS = 0.5
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


_ALL_FAIL = {"peek": "raises", "claim": "fails", "commit": "fails", "release": "fails"}
_HANGS = [pytest.param({name: "hangs"}, marks=pytest.mark.slow) for name in ("claim", "commit")]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    "methods",
    [{"peek": "raises"}, {"claim": "fails"}, {"commit": "fails"}, _ALL_FAIL, *_HANGS],
    ids=repr,
)
def test_a_store_that_fails(loop: Loop, methods: dict[str, str]) -> None:
    with Site({"/robots.txt": _RULES}) as site:
        result = run(loop, site, REP_STORE=f"{_ME}.OddStore", TEST_METHODS=methods)
        assert_obeyed(site, result)
    assert_went_on_from_memory(result)


def test_a_class_that_cannot_be_closed() -> None:
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
        (f"{_ME}.ClaimOfBefore", "it lacks the method claim(origin: Origin, *, seconds: float"),
        (f"{_ME}.ClaimOfBefore", "fresh_seconds: float"),
        (f"{_ME}.RenewOfBefore", "it lacks the method renew(lease: Lease, *, seconds: float)"),
        (f"{_ME}.NoRelease", "it lacks the method release(lease: Lease)"),
    ],
)
def test_a_class_that_cannot_be_had_is_refused(name: str, words: str) -> None:
    """Also one of an older interface."""
    with pytest.raises(ConfigurationError, match=r"^REP_STORE = ") as refused:
        chosen_store.opener_of(get_crawler(), RepSettings.of(Settings({"REP_STORE": name})))
    assert words in str(refused.value)


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


@pytest.mark.slow
def test_a_lock_holds_the_crawl_up_once_and_not_once_per_origin(tmp_path: Path) -> None:
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
    assert "locked" in result.log
    assert [item["status"] for item in result.items] == [200] * len(hosts)
    assert elapsed < 20


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

    def test_a_user_without_a_home(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """As in containers that run as a number which no file knows."""
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
    def test_each_system_has_its_place(
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
