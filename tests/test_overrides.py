"""7: policies that the user sets for hosts, and the dry run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.checks import Override, Overrides
from scrapy_rep.protocol.access.knowledge import Knowledge, Outage
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import usual_key
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.servers.handle import Answer, Site

_HTTP = Origin("http", "www.example.com", 80)
_OWN = "User-agent: *\nDisallow: /own\n"


class TestPatterns:
    """Which host a pattern is for."""

    @pytest.mark.parametrize(
        "pattern",
        [
            *["www.example.com", "WWW.Example.COM", "*.example.com", "*example.com", "www.*", "*"],
            *["www.example.???", "http://www.example.com", "*://www.example.com", "http://*"],
        ],
    )
    def test_that_match(self, pattern: str) -> None:
        assert Overrides.of({pattern: "ignore"}).match(_HTTP) == Override(ignore=True)

    @pytest.mark.parametrize(
        "pattern",
        [
            *["", "example.com", "www.example.com.", "www.example.comm", "www.example"],
            *["*.www.example.com", "https://www.example.com", "http://www.example.com/"],
            *["http://www.example.com:8080", "www.example.com:80", "www-example-com"],
        ],
    )
    def test_that_do_not(self, pattern: str) -> None:
        assert Overrides.of({pattern: "ignore"}).match(_HTTP) is None

    def test_a_whole_origin_has_its_port_where_it_is_not_the_usual_one(self) -> None:
        overrides = Overrides.of({"https://h:8443": "strict", "https://h": "lenient"})
        assert overrides.match(Origin("https", "h", 8443)) == Override(preset="strict")
        assert overrides.match(Origin("https", "h", 443)) == Override(preset="lenient")
        assert overrides.match(Origin("http", "h", 80)) is None

    def test_the_first_that_matches_decides(self) -> None:
        overrides = Overrides.of({"www.*": "strict", "*": "ignore", "www.example.com": "lenient"})
        assert overrides.match(_HTTP) == Override(preset="strict")

    @given(st.text(max_size=20))
    def test_any_pattern_can_be_read(self, pattern: str) -> None:
        Overrides.of({pattern: "ignore"}).match(_HTTP)


class TestValues:
    """What a pattern can be given."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("ignore", Override(ignore=True)),
            ("strict", Override(preset="strict")),
            ("google", Override(preset="google")),
            ({"robots_txt": _OWN}, Override(text=_OWN.encode())),
            ({"robots_txt": ""}, Override(text=b"")),
        ],
    )
    def test_right(self, value: Any, expected: Override) -> None:
        assert Overrides.of({"*": value}).match(_HTTP) == expected

    @pytest.mark.parametrize(
        "value",
        [
            *["", "Ignore", "allow", "obey", None, True, 0, []],
            *[{}, {"robots_txt": None}, {"robots_txt": b""}, {"robots.txt": ""}],
            {"robots_txt": "", "policy": "strict"},
        ],
    )
    def test_wrong(self, value: Any) -> None:
        with pytest.raises(ValueError, match="h\\.example"):
            Overrides.of({"h.example": value})


class TestCrawls:
    """The same in whole crawls: `localhost` and `127.0.0.1` are two origins of one site."""

    @pytest.mark.parametrize("loop", LOOPS)
    @pytest.mark.parametrize(
        ("value", "fetched", "asked"),
        [
            ("ignore", {"/own", "/a"}, 0),
            ({"robots_txt": _OWN}, {"/a"}, 0),
            ({"robots_txt": ""}, {"/own", "/a"}, 0),
            ("strict", set(), 1),
            ("lenient", {"/own", "/a"}, 1),
        ],
        ids=["ignore", "text", "empty text", "strict", "lenient"],
    )
    def test_one_host(self, value: Any, fetched: set[str], asked: int, loop: Loop) -> None:
        with Site({"/robots.txt": Answer(status=503, body=DISALLOW_ALL)}) as site:
            urls = [site.url(path, host) for path in ("/own", "/a") for host in _HOSTS]
            settings = {**ADDON, "REP_OVERRIDES": {"localhost": value}}
            result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
            seen = [(one.headers["host"].partition(":")[0], one.path) for one in site.requests()]
        assert {path for host, path in seen if host == "localhost"} - _ROBOTS == fetched
        assert {path for host, path in seen if host == "127.0.0.1"} == _ROBOTS
        assert seen.count(("localhost", "/robots.txt")) == asked, result.log

    @pytest.mark.parametrize(
        ("preset", "override", "days"),
        [("google", "rfc9309", (2, 1)), ("rfc9309", "google", (1, 2))],
    )
    def test_a_preset_brings_its_lifetimes(
        self, preset: str, override: str, days: tuple[int, int], tmp_path: Path
    ) -> None:
        """Under google a site may ask for two days; under any other for one (RFC 9309, 2.4)."""
        path = tmp_path / "a.sqlite"
        answer = Answer(headers=[("Cache-Control", "max-age=172800")])
        with Site({"/robots.txt": answer}) as site:
            settings = {
                **ADDON,
                "REP_STORE": "sqlite",
                "REP_STORE_PATH": str(path),
                "REP_POLICY": preset,
                "REP_OVERRIDES": {"localhost": override},
            }
            urls = [site.url("/a", host) for host in ("127.0.0.1", "localhost")]
            crawl(URLS_SPIDER, settings=settings, urls=urls)
        store = SqliteStore(path, 1 << 30)
        lifetimes = []
        for url in urls:
            origin = Origin.of(url)
            entry = store.peek(usual_key(origin))
            assert entry is not None
            assert entry.known.copy is not None
            lifetimes.append(entry.known.copy.fresh_until - entry.known.copy.confirmed_at)
        store.close()
        assert lifetimes == [pytest.approx(86_400 * n) for n in days]

    def test_google_for_one_host_asks_whether_its_pages_answer(self, tmp_path: Path) -> None:
        """The file has been unreachable for 31 days; a page that is exempt answers."""
        path, now = tmp_path / "a.sqlite", time.time()
        with Site({"/robots.txt": Answer(status=503)}) as site:
            origin = Origin.of(site.url())
            assert origin is not None
            since = now - 31 * 86_400
            outage = Outage(503, (origin.robots_txt_uri,), since, now - 10, 9, now - 5)
            store = SqliteStore(path, 1 << 30)
            store.commit(Entry(usual_key(origin), Knowledge(outage=outage)), None).result()
            store.close()
            base = {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
            base |= {"REP_RETRY_FIRST_SECONDS": 0.2}
            for settings in ({"REP_POLICY": "google"}, {"REP_OVERRIDES": {"*": "google"}}):
                before = len(site.paths())
                crawl(
                    "tests.faults.spiders:ExemptFirstSpider",
                    settings={**base, **settings},
                    urls=[site.url("/exempt"), site.url("/a")],
                    pause_seconds=1,
                )
                assert site.paths()[before:].count("/a") == 1, settings

    @pytest.mark.parametrize("loop", LOOPS)
    @pytest.mark.parametrize(
        ("answer", "reason"),
        [(Answer(body=DISALLOW_ALL), "RULE"), (Answer(status=503), "UNREACHABLE")],
    )
    def test_dry_run(self, answer: Answer, reason: str, loop: Loop) -> None:
        with Site({"/robots.txt": answer}) as site:
            settings = {**ADDON, "REP_DRY_RUN": True}
            urls = [site.url("/a"), site.url("/b")]
            result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
            assert sorted(site.paths()) == ["/a", "/b", "/robots.txt"]
        assert all("allowed=False" in item["verdict"] for item in result.items)
        assert all(reason in item["verdict"] for item in result.items), result.items
        assert result.stats["rep/dry_run/would_drop"] == 2
        assert result.stats["rep/verdict/disallowed"] == 2
        assert "robotstxt/forbidden" not in result.stats

    @pytest.mark.every_loop
    @pytest.mark.parametrize("loop", LOOPS)
    def test_a_dry_run_tells_what_it_would_drop(self, loop: Loop) -> None:
        """Twenty requests one by one; the others are only counted."""
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /no\n")}) as site:
            urls = [site.url(f"/no/{n}") for n in range(25)] + [site.url("/yes")]
            settings = {**ADDON, "REP_DRY_RUN": True, "LOG_LEVEL": "INFO"}
            result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        told = [
            line
            for line in result.log.splitlines()
            if "Would be dropped without REP_DRY_RUN" in line
        ]
        assert len(told) == 20
        assert all("INFO: " in line and "/no/" in line and "Disallow: /no" in line for line in told)
        assert len({line.split("/no/")[1].split(">")[0] for line in told}) == 20
        assert result.log.count("No more are logged, see the stat rep/dry_run/would_drop") == 1
        assert result.stats["rep/dry_run/would_drop"] == 25


_HOSTS = ("localhost", "127.0.0.1")
_ROBOTS = {"/robots.txt"}
