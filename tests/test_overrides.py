"""7: policies that the user sets for hosts, and the dry run."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from datetime import date, datetime, timezone
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
from tests.crawling import crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.servers.handle import Answer, Site

_HTTP = Origin("http", "www.example.com", 80)
_GRANT = {"policy": "ignore", "until": "2030-01-31", "why": "contract 12"}
_END_AT = datetime(2030, 2, 1, tzinfo=timezone.utc).timestamp()
_NOW = 1_800_000_000.0
_OWN = "User-agent: *\nDisallow: /own\n"


class TestPatterns:
    """The hosts of a pattern."""

    @pytest.mark.parametrize(
        "pattern",
        [
            *["www.example.com", "WWW.Example.COM", "*.example.com", "*example.com", "www.*", "*"],
            *["www.example.???", "http://www.example.com", "*://www.example.com", "http://*"],
            *["www.example.com:80", "WWW.example.com:*", "*:80", "http://www.example.com:80"],
        ],
    )
    def test_pattern_matches_the_origin(self, pattern: str) -> None:
        assert Overrides.of({pattern: "ignore"}).match(_HTTP, _NOW) == Override(ignore=True)

    @pytest.mark.parametrize(
        "pattern",
        [
            *["example.com", "www.example.com.", "www.example.comm", "www.example"],
            *["*.www.example.com", "https://www.example.com", "www-example-com", "http*"],
            *["http://www.example.com:8080", "www.example.com:8080", "*://www.example.com:443"],
        ],
    )
    def test_pattern_does_not_match(self, pattern: str) -> None:
        assert Overrides.of({pattern: "ignore"}).match(_HTTP, _NOW) is None

    @pytest.mark.parametrize(
        ("patterns", "origin", "preset"),
        [
            ("https://h:8443 https://h", Origin("https", "h", 8443), "strict"),
            ("https://h:8443 https://h", Origin("https", "h", 443), "lenient"),
            ("https://h:8443 https://h", Origin("http", "h", 80), None),
            ("h:8443 [::1]", Origin("https", "h", 8443), "strict"),
            ("h:8443 [::1]", Origin("https", "h", 443), None),
            ("[::1] [::1]:8080", Origin("http", "::1", 8080), "strict"),
            ("www.* www.example.com", _HTTP, "strict"),
        ],
    )
    def test_first_match_decides(self, patterns: str, origin: Origin, preset: str | None) -> None:
        """An origin names its port unless it is the usual one."""
        overrides = Overrides.of(dict(zip(patterns.split(), ("strict", "lenient"), strict=True)))
        expected = None if preset is None else Override(preset=preset)
        assert overrides.match(origin, _NOW) == expected

    @pytest.mark.parametrize(
        "pattern",
        [
            *["", " ", "h.example/", "h.example/a", "http://h.example/", "http://h.example/*"],
            *[" h.example", "h.example ", "h .example", "h.example:", "h.example:http"],
            *["http://", "gopher://h.example", "//h.example", "me@h.example", "[ab].example"],
            *["::1", "h.example:8109/", "bücher.example", "h.example\n", "h.example:0"],
        ],
    )
    def test_pattern_without_a_host_is_refused(self, pattern: str) -> None:
        with pytest.raises(ValueError, match="names no host: write a host") as raised:
            Overrides.of({pattern: "ignore"})
        for words in ("'example.org:8080'", "in ASCII ('xn--bcher-kva.example')", "('[::1]')"):
            assert words in str(raised.value)

    @given(st.text(max_size=20))
    def test_reading_a_pattern_never_crashes(self, pattern: str) -> None:
        with suppress(ValueError):
            Overrides.of({pattern: "ignore"}).match(_HTTP, _NOW)


class TestValues:
    """The values of a pattern."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("ignore", Override(ignore=True)),
            ("strict", Override(preset="strict")),
            ("google", Override(preset="google")),
            ({"robots_txt": _OWN}, Override(text=_OWN.encode())),
            ({"robots_txt": ""}, Override(text=b"")),
            ({"policy": "ignore"}, Override(ignore=True)),
            ({"policy": "strict", "why": " test "}, Override(preset="strict", why="test")),
            (
                {"robots_txt": _OWN, "until": date(2030, 2, 28)},
                Override(text=_OWN.encode(), until=date(2030, 2, 28)),
            ),
            (_GRANT, Override(ignore=True, until=date(2030, 1, 31), why="contract 12")),
        ],
    )
    def test_valid_values_of_an_override_are_read(self, value: Any, expected: Override) -> None:
        assert Overrides.of({"*": value}).match(_HTTP, _NOW) == expected

    @pytest.mark.parametrize(
        "value",
        [
            *["", "Ignore", "allow", "obey", None, True, 0, []],
            *[{}, {"robots_txt": None}, {"robots_txt": b""}, {"robots.txt": ""}],
            {"robots_txt": "", "policy": "strict"},
            *[{"policy": "allow"}, {"until": "2030-01-31"}, {"policy": "ignore", "why": 12}],
            *[{"policy": "ignore", "till": "2030-01-31"}, {"policy": "ignore", "until": "soon"}],
            *[{"policy": "ignore", "until": "2030-02-29"}, {"policy": "ignore", "until": 12}],
        ],
    )
    def test_invalid_values_of_an_override_are_errors(self, value: Any) -> None:
        with pytest.raises(ValueError, match="h\\.example"):
            Overrides.of({"h.example": value})


class TestGrants:
    """Overrides with a last day: from the next day on, it is as if they did not exist."""

    def test_override_is_applied_until_the_end_of_its_last_day(self) -> None:
        overrides = Overrides.of({"www.example.com": _GRANT, "*": "strict"})
        assert overrides.match(_HTTP, _END_AT - 1) == Override.of("", _GRANT)
        assert overrides.match(_HTTP, _END_AT) == Override(preset="strict")

    @pytest.mark.parametrize(
        ("left_days", "words"),
        [
            (31, ""),
            (29, "'www.example.com' (contract 12) is applied until 2030-01-31, and not later"),
            (0, "'www.example.com' (contract 12) ended on 2030-01-31, so it is not applied"),
            (-900, "ended on 2030-01-31, so it is not applied: renew it or remove it"),
        ],
    )
    def test_log_tells_the_end_30_days_before(self, left_days: int, words: str) -> None:
        overrides = Overrides.of({"*": "ignore", "www.example.com": _GRANT})
        told = list(overrides.endings(_END_AT - left_days * 86_400))
        assert words in told[0] if words else not told
        assert len(told) <= 1

    @pytest.mark.parametrize("grant", [{"policy": "ignore"}, {"policy": "lenient"}])
    def test_override_ends_during_a_crawl(self, grant: dict[str, str]) -> None:
        """The clock steps to the next day after the second page."""
        today = datetime.now(timezone.utc).date()
        settings = {
            **ADDON,
            "REP_OVERRIDES": {"127.0.0.1": {**grant, "until": str(today), "why": "contract 12"}},
            "CONCURRENT_REQUESTS": 1,
            "EXTENSIONS": {"tests.crawls.stepping.StepsClock": 0},
            "STEP_SECONDS": 86_400,
        }
        with Site({"/robots.txt": Answer(status=503)}) as site:
            urls = [site.url(f"/{n}") for n in range(4)]
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            paths = site.paths()
        pages = [path for path in paths if path != "/robots.txt"]
        assert pages == ["/0", "/1"], result.log
        assert result.stats["rep/verdict/disallowed"] == 2
        warning = "WARNING: REP_OVERRIDES: the entry for '127.0.0.1' (contract 12) is applied"
        assert f"{warning} until {today}, and not later" in result.log


class TestCrawls:
    """The same in whole crawls: `localhost` and `127.0.0.1` are two origins of one site."""

    def test_override_of_one_host(self) -> None:
        """`localhost`, at a port for each value; `127.0.0.1` stays as it is."""
        expected: list[tuple[Any, set[str], int]] = [
            ("ignore", {"/own", "/a"}, 0),
            ({"robots_txt": _OWN}, {"/a"}, 0),
            ({"robots_txt": ""}, {"/own", "/a"}, 0),
            ("strict", set(), 1),
            ("lenient", {"/own", "/a"}, 1),
        ]
        with ExitStack() as stack:
            answer = Answer(status=503, body=DISALLOW_ALL)
            sites = [stack.enter_context(Site({"/robots.txt": answer})) for _ in expected]
            overrides = {
                f"localhost:{site.port}": value
                for site, (value, _, _) in zip(sites, expected, strict=True)
            }
            urls = [
                site.url(path, host)
                for site in sites
                for path in ("/own", "/a")
                for host in ("localhost", "127.0.0.1")
            ]
            result = crawl(URLS_SPIDER, settings={**ADDON, "REP_OVERRIDES": overrides}, urls=urls)
            for site, (value, fetched, asked) in zip(sites, expected, strict=True):
                seen: dict[str, list[str]] = {"localhost": [], "127.0.0.1": []}
                for one in site.requests():
                    seen[one.headers["host"].partition(":")[0]].append(one.path)
                assert {*seen["localhost"]} - {"/robots.txt"} == fetched, value
                assert {*seen["127.0.0.1"]} == {"/robots.txt"}, value
                assert seen["localhost"].count("/robots.txt") == asked, result.log

    @pytest.mark.parametrize(
        ("preset", "override", "days"),
        [("google", "rfc9309", (2, 1)), ("rfc9309", "google", (1, 2))],
    )
    def test_preset_brings_its_lifetimes(
        self, preset: str, override: str, days: tuple[int, int], tmp_path: Path
    ) -> None:
        """Under google a site may set two days; under any other one day (RFC 9309, 2.4)."""
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

    def test_google_for_one_host_watches_the_answers_of_its_pages(self, tmp_path: Path) -> None:
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
            crawl(
                "tests.faults.spiders:ExemptFirstSpider",
                settings={**base, "REP_OVERRIDES": {"*": "google"}},
                urls=[site.url("/exempt"), site.url("/a")],
                pause_seconds=1,
            )
            assert site.paths().count("/a") == 1

    def test_dry_run_fetches_and_logs_what_would_be_dropped(self) -> None:
        """Twenty requests one by one; the others are only counted."""
        file = Answer(body="User-agent: *\nDisallow: /no\n")
        with Site({"/robots.txt": file}) as site, Site({"/robots.txt": Answer(status=503)}) as down:
            urls = [site.url(f"/no/{n}") for n in range(25)] + [
                site.url("/yes"),
                down.url("/no/25"),
            ]
            settings = {**ADDON, "REP_DRY_RUN": True, "LOG_LEVEL": "INFO"}
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert len(site.paths()) == 27
            assert down.paths().count("/no/25") == 1
        reasons = [item["verdict"] for item in result.items if "allowed=False" in item["verdict"]]
        assert sum("RULE" in one for one in reasons) == 25
        assert sum("UNREACHABLE" in one for one in reasons) == 1
        words = "Would be dropped without REP_DRY_RUN"
        told = [line for line in result.log.splitlines() if words in line]
        assert all("INFO: " in line and "/no/" in line for line in told)
        assert len({line.split("/no/")[1].split(">")[0] for line in told}) == len(told) == 20
        assert result.log.count("No more are logged, see the stat rep/dry_run/would_drop") == 1
        assert result.stats["rep/dry_run/would_drop"] == 26
        assert result.stats["rep/verdict/disallowed"] == 26
        assert "robotstxt/forbidden" not in result.stats
