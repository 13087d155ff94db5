"""``audit replay --now``, also after ``watch``, over trails of real crawls."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from tests.commands.calling import Done, rep_process
from tests.crawling import crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Answer, Site, redirect

BEFORE = "User-agent: *\nDisallow: /never\nContent-Signal: search=yes, ai-train=yes\n"
AFTER = (
    "User-agent: *\nDisallow: /never\nDisallow: /shop/\nContent-Signal: search=yes, ai-train=no\n"
)
PATHS = ("/never", "/shop/1", "/shop/2", "/open", "/moved")


def file(text: str) -> Answer:
    return Answer(body=text, headers=(("Cache-Control", "max-age=1"),))


@pytest.fixture
def site() -> Iterator[Site]:
    pages = {"/robots.txt": file(BEFORE), "/moved": redirect("/shop/3")}
    with Site(pages) as site:
        yield site


@pytest.fixture
def run(site: Site, tmp_path: Path) -> Path:
    crawled([site.url(path) for path in PATHS], tmp_path)
    return tmp_path / "audit" / "latest"


def crawled(urls: list[str], folder: Path, **settings: Any) -> None:
    more = {"REP_AUDIT_DIR": str(folder / "audit"), **settings}
    result = crawl(URLS_SPIDER, settings={**ADDON, **more}, urls=urls)
    assert result.exit_code == 0, result.log


def replayed(run: Path, folder: Path, *arguments: object) -> Done:
    """With a store of its own, so that it fetches each file."""
    store = f"REP_STORE_PATH={folder / token_hex(4)}.sqlite"
    return rep_process("rep", "audit", "replay", run, "--now", "-s", store, *arguments)


def test_list_has_what_was_fetched_and_is_forbidden_now(
    site: Site, run: Path, tmp_path: Path
) -> None:
    """The command itself leaves no trail, which would become ``latest``."""
    before = run.resolve()
    done = replayed(run, tmp_path, "-s", f"REP_AUDIT_DIR={tmp_path / 'audit'}")
    now = f"{site.url('/robots.txt')}: fetched now\n"
    assert done.err.endswith(now)
    assert (done.status, done.out) == (0, f"{before.name}: nothing to purge\n")
    assert run.resolve() == before
    site.change({"/robots.txt": file(AFTER)})
    done = replayed(run, tmp_path, "--json")
    assert done.status == 1
    rows = {(row["change"], row["url"].removeprefix(site.url(""))) for row in done.rows}
    shop = {("disallowed", path) for path in ("/shop/1", "/shop/2", "/shop/3")}
    assert rows == shop | {("usage", "/open"), ("usage", "/moved")}
    by_url = {row["url"]: row for row in done.rows}
    one, other = by_url[site.url("/shop/1")], by_url[site.url("/open")]
    assert (one["line"], one["text"], one["reason"]) == (3, "Disallow: /shop/", "RULE")
    assert (other["category"], other["line"]) == ("train-ai", 4)
    assert "3 URLs are disallowed now, 2 preferences are n now" in done.err
    output = tmp_path / "purge.csv"
    done = replayed(run, tmp_path, "--format", "csv", "-o", output)
    assert (done.status, done.err.endswith(now)) == (1, True)
    with output.open(encoding="utf-8", newline="") as lines:
        table = list(csv.DictReader(lines))
    assert {(row["change"], row["url"].removeprefix(site.url(""))) for row in table} == rows
    assert output.stat().st_mode & 0o077 == 0
    site.change({"/robots.txt": Answer(status=503)})
    done = replayed(run, tmp_path, "--format", "jsonl")
    uri = site.url("/robots.txt")
    assert done.rows == [{"change": "unreachable", "robots_txt": uri, "reason": "503"}]
    assert done.status == 1


def test_killed_crawl_and_exempt_requests(site: Site, tmp_path: Path) -> None:
    """Its last line is torn, it has no end, and it did not obey robots.txt."""
    crawled([site.url("/shop/1"), site.url("/open")], tmp_path, ROBOTSTXT_OBEY=False)
    run = tmp_path / "audit" / "latest"
    (packed,) = run.glob("*.jsonl.gz")
    octets = gzip.decompress(packed.read_bytes())
    packed.unlink()
    (run / "manifest.json").unlink()
    packed.with_suffix("").write_bytes(octets[: octets.rindex(b'{"t":"end"') + 9])
    site.change({"/robots.txt": file("User-agent: *\nDisallow: /shop/\n")})
    done = replayed(run, tmp_path, "--json")
    assert [row["url"] for row in done.rows] == [site.url("/shop/1")]
    assert done.status == 1


def test_watch_lists_it_when_a_file_changes(site: Site, run: Path, tmp_path: Path) -> None:
    settings = ["-s", f"REP_STORE_PATH={tmp_path / 'other.sqlite'}"]
    watch = ["rep", "watch", site.url(), *settings]
    assert rep_process(*watch).out == ""
    assert rep_process(*watch) == Done(0, "", "")
    site.change({"/robots.txt": Answer(body=AFTER)})
    assert rep_process(*watch).status == 1
    output = tmp_path / "purge.csv"
    purge = ["--now", "--from-store", "--format", "csv", "-o", output]
    done = rep_process("rep", "audit", "replay", run, *settings, *purge)
    assert (done.status, "3 URLs are disallowed now" in done.out) == (1, True)
    assert f"{site.url('/robots.txt')}: from the store" in done.err
    assert output.read_text().count("\n") == 6
    assert rep_process(*watch) == Done(0, "", "")


def test_crawl_without_a_product_token_is_judged_by_the_group_of_all(
    site: Site, tmp_path: Path
) -> None:
    """Not by the group of the crawl's usual name."""
    browser = {"DEFAULT_REQUEST_HEADERS": {"User-Agent": "Mozilla/5.0"}, "USER_AGENT": "GoodBot/1"}
    crawled([site.url("/shop/1")], tmp_path, **browser)
    site.change({"/robots.txt": file("User-agent: GoodBot\nDisallow: /\n")})
    done = replayed(tmp_path / "audit" / "latest", tmp_path, "-s", "USER_AGENT=GoodBot/1")
    assert done.status == 0, done.out


def test_files_are_fetched_although_the_store_has_fresh_copies(site: Site, tmp_path: Path) -> None:
    """The crawl stored its file minutes ago; a day is the default lifetime of such a copy."""
    store = str(tmp_path / "store.sqlite")
    site.change({"/robots.txt": Answer(body=BEFORE)})
    crawled([site.url("/shop/1")], tmp_path, REP_STORE="auto", REP_STORE_PATH=store)
    site.change({"/robots.txt": Answer(body=AFTER)})
    call = ["rep", "audit", "replay", tmp_path / "audit" / "latest", "--now"]
    call += ["-s", f"REP_STORE_PATH={store}"]
    old = rep_process(*call, "--from-store")
    assert (old.status, "nothing to purge" in old.out) == (0, True)
    assert f"{site.url('/robots.txt')}: from the store, " in old.err
    site.change({"/robots.txt": Answer(status=503)})
    down = rep_process(*call, "-s", "REP_QUICK_RETRY_SECONDS=", "--json")
    assert [row["change"] for row in down.rows] == ["unreachable"], down
    assert "unreachable now (503), so its last copy judges, from the store, " in down.err
    site.change({"/robots.txt": Answer(body=AFTER)})
    new = rep_process(*call, "--json")
    (row,) = new.rows
    assert (new.status, row["change"], row["url"]) == (1, "disallowed", site.url("/shop/1"))
    assert row["confirmed_at"] > row["fetched_at"]
    assert f"{site.url('/robots.txt')}: fetched now" in new.err
    assert rep_process(*call, "--from-store").status == 1  # it is in the store since then


@pytest.mark.parametrize("action", ["replay", "verify"])
def test_from_store_goes_with_now(run: Path, action: str) -> None:
    done = rep_process("rep", "audit", action, run, "--from-store")
    assert (done.status, "--from-store goes with" in done.err) == (2, True)
