"""``scrapy rep cache log``, ``ORIGIN@DATE`` and ``scrapy rep watch``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings.default_settings import USER_AGENT

from scrapy_rep.cache.entry import Key
from tests.cache.samples import ORIGIN, file_entry, usual_key
from tests.commands.calling import Done, rep, rep_process, stored
from tests.redis_server import RedisServer
from tests.servers.handle import Answer, Site, free_port

OLD, NEW = b"User-agent: *\nDisallow: /a\n", b"User-agent: *\nDisallow: /b\n"


def instant(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    versions = (
        ("2026-10-01 08:00:00", OLD),
        ("2026-10-15 08:00:00", OLD),
        ("2026-11-01 12:00:00", NEW),
    )
    key, odd = usual_key(ORIGIN), Key.under(ORIGIN, "Bad\x1b[1m")
    entries = [file_entry(key, at=instant(when), body=body) for when, body in versions]
    entries.append(file_entry(odd, at=instant("2026-11-02"), body=b"\x1b[31m"))
    return stored(tmp_path, *entries, versions=5, REP_STORE_VERSIONS=5)


class TestLog:
    def test_log_lists_versions_of_each_identity(self, settings: dict[str, Any]) -> None:
        done = rep("cache", "log", "example.com", "--user-agent", "Scrapy", settings=settings)
        new, old = (hashlib.sha256(body).hexdigest()[:12] for body in (NEW, OLD))
        assert done == Done(
            0,
            f"https://example.com (fetched as {USER_AGENT})\n"
            "from (UTC)           last seen (UTC)      answer  octets  sha256\n"
            f"2026-11-01 12:00:00  2026-11-01 12:00:00  200     27      {new}\n"
            f"2026-10-01 08:00:00  2026-10-15 08:00:00  200     27      {old}\n"
            "\n",
            "",
        )
        assert max(map(len, done.out.splitlines())) <= 80
        everything = rep("cache", "log", "--all", settings=settings)
        assert everything.out.count("from (UTC)") == 2
        assert "\x1b" not in everything.out

    def test_log_explains_missing_versions(self, settings: dict[str, Any]) -> None:
        done = rep("cache", "log", "example.com", settings={**settings, "REP_STORE_VERSIONS": 0})
        assert done.status == 0
        assert "REP_STORE_VERSIONS is 0, so new versions replace the old ones" in done.err
        assert rep("cache", "log", "other.example", settings=settings).status == 1
        assert rep("cache", "log", settings=settings).status == 2

    def test_log_of_an_empty_redis_ends_with_1(
        self, redis_server: RedisServer, settings: dict[str, Any]
    ) -> None:
        in_redis = {**settings, "REP_REDIS_URL": redis_server.url, "REP_STORE_PATH": ":memory:"}
        done = rep("cache", "log", "example.com", settings=in_redis)
        assert (done.status, done.out) == (1, "")


class TestDate:
    @pytest.mark.parametrize(
        ("date", "body"),
        [
            ("2026-10-01", OLD),
            ("2026-10-31", OLD),
            ("2026-11-01", NEW),
            ("2026-11-01T11:59Z", OLD),
            ("2026-11-01 12:00:00", NEW),
            ("2030-01-01", NEW),
        ],
    )
    def test_date_names_the_version_of_that_time(
        self, settings: dict[str, Any], date: str, body: bytes, tmp_path: Path
    ) -> None:
        file = tmp_path / "body.txt"
        file.write_bytes(body)
        done = rep("diff", f"example.com@{date}", file, settings=settings)
        assert (done.status, done.out) == (0, "no probe URL changes its verdict\n")
        assert f"https://example.com/robots.txt@{date}: from the store, " in done.err
        assert "--refresh" not in done.err

    def test_two_dates_are_compared(self, settings: dict[str, Any]) -> None:
        dates = ("https://example.com@2026-10-20", "https://example.com@2026-11-20")
        done = rep("diff", *dates, settings=settings)
        assert done.status == 1
        assert "- 2 | Disallow: /a" in done.out
        assert "+ 2 | Disallow: /b" in done.out

    def test_check_and_format_take_a_date(self, settings: dict[str, Any]) -> None:
        name = "example.com@2026-10-20"
        done = rep("check", "/a", "--robots", name, "--agent", "x", settings=settings)
        assert done.status == 1
        assert rep("format", name, settings=settings).out == OLD.decode()

    @pytest.mark.parametrize(
        ("name", "status", "words"),
        [
            ("example.com@2026-09-30", 3, "no version for https://example.com before 2026-10"),
            ("other.example@2026-09-30", 3, "nothing is stored for https://other.example"),
            ("example.com@2026-13-30", 2, "not a date"),
            ("example.com@2026-11-01T25:00", 2, "not a date"),
        ],
    )
    def test_unknown_version_is_an_error(
        self, settings: dict[str, Any], name: str, status: int, words: str
    ) -> None:
        done = rep("diff", name, "-", stdin=b"", settings=settings)
        assert (done.status, done.out) == (status, "")
        assert words in done.err

    def test_file_with_such_a_name_is_read(self, here: Path) -> None:
        (here / "h@2026-11-01").write_bytes(OLD)
        assert rep("diff", "h@2026-11-01", "-", stdin=OLD).status == 0


@pytest.mark.slow
class TestWatch:
    @pytest.fixture
    def site(self) -> Iterator[Site]:
        with Site({"/robots.txt": Answer(body=OLD, etag='"1"')}) as site:
            yield site

    @staticmethod
    def watch(tmp_path: Path, *arguments: object) -> Done:
        store = f"REP_STORE_PATH={tmp_path / 'store.sqlite'}"
        quick = "REP_QUICK_RETRY_SECONDS="
        return rep_process("rep", "watch", *arguments, "-s", store, "-s", quick)

    def test_watch_is_silent_until_a_change(self, site: Site, tmp_path: Path) -> None:
        first = self.watch(tmp_path, site.url())
        assert (first.status, first.out, "seen for the first time" in first.err) == (0, "", True)
        again = self.watch(tmp_path, site.url("/x"), "--verbose")
        assert (again.status, again.out) == (0, "")
        assert "unchanged, unchanged (304)" in again.err
        site.change({"/robots.txt": Answer(body=NEW, etag='"2"')})
        changed = self.watch(tmp_path, site.url())
        assert (changed.status, changed.err) == (1, "")
        assert f"{site.url('/robots.txt')}: changed since 20" in changed.out
        assert "  - 2 | Disallow: /a\n" in changed.out
        assert "  + 2 | Disallow: /b\n" in changed.out
        assert self.watch(tmp_path, site.url()) == Done(0, "", "")
        site.change({"/robots.txt": Answer(status=404)})
        gone = self.watch(tmp_path, site.url(), "--json")
        head, *rows = gone.rows
        assert (gone.status, head["before"]["answer"], head["now"]["answer"]) == (1, "200", "404")
        assert rows[0]["after"]["allowed"]

    def test_change_stored_by_a_crawl_is_reported(self, site: Site, tmp_path: Path) -> None:
        """The store has the new file, but `watch` has not reported it."""
        assert self.watch(tmp_path, site.url()).status == 0
        site.change({"/robots.txt": Answer(body=NEW, etag='"2"')})
        store = ["-s", f"REP_STORE_PATH={tmp_path / 'store.sqlite'}"]
        assert rep_process("rep", "cache", "refresh", site.url(), *store).status == 0
        assert self.watch(tmp_path, site.url()).status == 1
        done = rep("cache", "log", "--all", settings={"REP_STORE_PATH": store[1][15:]})
        assert done.out.count("from (UTC)") == 1, "the log has no entries of watch"

    def test_lost_store_is_reported(self, site: Site, tmp_path: Path) -> None:
        """Silence would mean that nothing has changed."""
        assert self.watch(tmp_path, site.url()).status == 0
        (tmp_path / "store.sqlite").write_bytes(b"damaged" * 1000)
        site.change({"/robots.txt": Answer(body=NEW, etag='"2"')})
        done = self.watch(tmp_path, site.url())
        assert (done.status, "seen for the first time" in done.err) == (0, True)

    def test_effect_ignores_comments(self, site: Site, tmp_path: Path) -> None:
        assert self.watch(tmp_path, site.url()).status == 0
        site.change({"/robots.txt": Answer(body=OLD + b"# new\n")})
        effect = self.watch(tmp_path, site.url(), "--effect")
        assert (effect.status, "no probe URL changes" in effect.out) == (0, True)
        site.change({"/robots.txt": Answer(body=OLD + b"# newer\n")})
        assert self.watch(tmp_path, site.url()).status == 1
        sitemap = b"Sitemap: https://example.com/s.xml\n"
        site.change({"/robots.txt": Answer(body=OLD + sitemap)})
        done = self.watch(tmp_path, site.url(), "--effect")
        assert (done.status, "+ Sitemap: https://example.com/s.xml" in done.out) == (1, True)
        site.change({"/robots.txt": Answer(body=OLD + sitemap + b"License: https://h/terms\n")})
        done = self.watch(tmp_path, site.url(), "--effect", "--json")
        *_, row = done.rows
        assert (done.status, row["uri"]) == (1, "https://h/terms")

    def test_outage_is_not_a_change(self, site: Site, tmp_path: Path) -> None:
        assert self.watch(tmp_path, site.url()).status == 0
        site.change({"/robots.txt": Answer(status=503)})
        down = f"http://127.0.0.1:{free_port()}/"
        done = self.watch(tmp_path, site.url(), down)
        assert (done.status, done.out) == (3, "")
        assert f"{site.url('/robots.txt')}: 503 (unreachable)" in done.err
        assert f"{down}robots.txt: refused (unreachable)" in done.err
        site.change({"/robots.txt": Answer(body=NEW)})
        assert self.watch(tmp_path, site.url()).status == 1

    def test_watch_keeps_versions(self, site: Site, tmp_path: Path) -> None:
        versions = ["-s", "REP_STORE_VERSIONS=5"]
        assert self.watch(tmp_path, site.url(), *versions).status == 0
        site.change({"/robots.txt": Answer(body=NEW)})
        assert self.watch(tmp_path, site.url(), *versions).status == 1
        settings = {"REP_STORE_PATH": str(tmp_path / "store.sqlite"), "REP_STORE_VERSIONS": 5}
        done = rep("cache", "log", site.url(), settings=settings)
        assert done.out.count(" 200 ") == 2
