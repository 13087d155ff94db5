"""Answers come from the store while they are fresh, otherwise from the site."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.commands import engine_work
from scrapy_rep.commands.inputs import Freshness
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import Answer
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.units import age_words
from tests.cache.samples import ORIGIN, file_entry, outage_entry, usual_key
from tests.commands.calling import rep, stored

URL = "https://example.com/x"
STORED = b"User-agent: *\nDisallow: /stored\n"
NOW = b"User-agent: *\nDisallow: /now\n"


class Site:
    """Stands in for all sites, and counts requests."""

    def __init__(self) -> None:
        self.count = 0
        self.event: Any = 200

    def ask(self, _: object, origins: list[Origin], copies: object = None) -> dict[Origin, Answer]:
        self.count += len(origins)
        kind = {"content-type": "text/plain"}
        return {one: Answer(self.event, NOW, (one.robots_txt_uri,), kind) for one in origins}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site()
    monkeypatch.setattr(engine_work, "fetch_now", site.ask)
    return site


def kept(path: Path, age_seconds: float) -> dict[str, Any]:
    """The settings of a project with a copy of this age in its store."""
    return stored(path, file_entry(usual_key(ORIGIN), body=STORED, at=time.time() - age_seconds))


COMMANDS = {
    "lint": ("lint", URL),
    "format": ("format", URL),
    "diff": ("diff", URL, "pyproject.toml"),
    "check --robots": ("check", "/x", "--robots", URL),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "case",
    [
        (180, [], "from the store, 3 min old"),
        (180, ["--refresh"], "fetched now"),
        (90_000, [], "fetched now"),
        (None, [], "fetched now"),
    ],
)
def test_commands_use_what_a_crawl_would_use(
    name: str, case: tuple[float | None, list[str], str], tmp_path: Path, site: Site
) -> None:
    age_seconds, options, words = case
    memory = {"REP_STORE": "memory"}
    settings = memory if age_seconds is None else kept(tmp_path, age_seconds)
    done = rep(*COMMANDS[name], *options, settings=settings)
    assert site.count == (words == "fetched now")
    assert words in done.out + done.err


@pytest.mark.parametrize("command", ["lint", "format", "agents"])
@pytest.mark.parametrize(
    ("url", "is_read"),
    [
        ("https://example.com/proj/robots.txt", False),
        ("https://example.com/ROBOTS.txt?a", False),
        ("https://example.com/robots.txt?a", True),
        (URL, True),
    ],
)
def test_file_in_a_folder_is_read_by_no_crawler(
    command: str, url: str, is_read: bool, tmp_path: Path, site: Site
) -> None:
    done = rep(command, url, settings={"REP_STORE": "memory"})
    words = f"note: no crawler reads {url}: the rules for its URLs are in https://example.com/rob"
    assert (words not in done.err) is is_read
    if command != "agents":
        here = rep(command, "-", "--uri", url, stdin=NOW)
        assert (words not in here.err) is is_read


class TestCheck:
    def test_refreshed_answer_is_stored(self, tmp_path: Path, site: Site) -> None:
        settings = kept(tmp_path, 180)
        url = "https://example.com/now"
        before = rep("check", "--cached", url, settings=settings)
        assert (before.status, "3 min old" in before.out) == (0, True)
        done = rep("check", "--refresh", url, settings=settings)
        assert (done.status, site.count) == (1, 1)
        assert "fetched now" in done.out
        after = rep("check", "--cached", "--json", url, settings=settings)
        assert after.status == 1
        assert json.loads(after.out)["access"]["source"] == "store"

    def test_line_of_a_url_has_the_age(self, tmp_path: Path) -> None:
        settings = kept(tmp_path, 180)
        done = rep("check", "--cached", "-", stdin=URL.encode(), settings=settings)
        assert done.out.endswith(f"{URL}\tfrom the store, 3 min old\n")

    def test_unreachable_site_keeps_its_stale_copy(self, tmp_path: Path, site: Site) -> None:
        site.event = Failure.TIMEOUT
        settings = kept(tmp_path, 180)
        done = rep("check", "--refresh", URL, settings=settings)
        assert "a stale copy, because the site is unreachable now" in done.out
        assert "fetched now" in done.out


def test_outage_is_not_used_as_an_answer(tmp_path: Path, site: Site) -> None:
    rep("lint", URL, settings=stored(tmp_path, outage_entry(usual_key(ORIGIN), at=time.time())))
    assert site.count == 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-3, "0 s"), (59, "59 s"), (60, "1 min"), (7200, "2 h"), (86_400 * 3, "3 d")],
)
def test_ages_are_in_words(seconds: float, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert age_words(seconds) == words
    monkeypatch.setattr(time, "time", lambda: 1e9)
    asked_at = 1e9 - seconds - 0.2
    assert str(Freshness(asked_at, is_stored=True)) == f"from the store, {words} old"
    assert str(Freshness(asked_at, is_stored=False)) == "fetched now"
