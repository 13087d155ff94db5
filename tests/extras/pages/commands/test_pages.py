"""``scrapy rep check --page`` and ``--usage``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cache.samples import ORIGIN, file_entry, usual_key
from tests.commands.calling import Done, rep, rep_process, stored
from tests.extras.pages.answers import meta, page
from tests.servers.handle import Answer, Site, redirect

_ROBOTS = """\
User-agent: *
Content-Usage: train-ai=n
Content-Usage: /open train-ai=y, search=y
Content-Signal: ai-input=no
Disallow: /private
License: https://example.com/terms
"""
_PAGE = Answer(
    body=page(
        meta("max-snippet: 0, noodd"),
        meta("nofollow", "foobot"),
        body='<a rel=nofollow href="/refused">x</a><a href="/b">x</a>',
    ),
    headers=[
        ("Content-Type", "text/html"),
        ("X-Robots-Tag", "otherbot: noarchive"),
        ("X-Robots-Tag", "unavailable_after: 2001-01-01"),
    ],
)


@pytest.fixture
def site() -> Iterator[Site]:
    routes = {
        "/robots.txt": Answer(body=_ROBOTS),
        "/a": _PAGE,
        "/plain": Answer(body=page(), headers=[("Content-Type", "text/html")]),
        "/moved": redirect("/a"),
        "/.well-known/tdmrep.json": Answer(body='[{"location": "/", "tdm-reservation": 1}]'),
    }
    with Site(routes) as made:
        yield made


def ask(*arguments: object) -> Done:
    options = ["-s", "REP_STORE=memory", "-s", "REP_QUICK_RETRY_SECONDS="]
    return rep_process("rep", "check", *arguments, *options)


def rows(done: Done) -> list[dict[str, Any]]:
    """The rows of page rules and of uses."""
    found = done.rows
    return [row for row in found if row.get("section") in ("rules", "usage")]


@pytest.mark.slow
def test_page_shows_rules_for_each_agent(site: Site) -> None:
    agents = ["--agent", "FooBot", "--agent", "OtherBot"]
    options = [*agents, "-s", "REP_PAGE_OBEY=noindex"]
    done = ask("--page", site.url("/moved"), *options)
    assert done.status == 1, done.err
    assert done.out.startswith(f"{site.url('/a')}\n")
    foo, other = done.out.partition("  for FooBot:")[2].split("  for OtherBot:")
    assert "nofollow by meta 2, line 1: do not follow its links" in foo
    passed = "by X-Robots-Tag 2: it has passed, so this means noindex: keep it out of search"
    assert f"unavailable_after: 2001-01-01 00:00:00 UTC {passed}" in foo
    assert "max-snippet: 0 by meta 1" in foo
    assert "noarchive" not in foo
    assert "this project: its items are dropped (noindex)" in foo
    assert "noarchive by X-Robots-Tag 1" in other
    assert "nofollow by" not in other
    assert "x-robots-tag: otherbot: noarchive" in done.out
    assert f"links not to be followed (rel: nofollow): 1\n    {site.url('/refused')}" in done.out
    assert "note: meta 1, line 1: an unknown rule: noodd" in done.out


@pytest.mark.slow
def test_page_rules_as_json(site: Site) -> None:
    done = ask("--page", site.url("/a"), "--page", site.url("/plain"), "--json")
    assert done.status == 1, done.err
    first, second = rows(done)
    assert first["rules"]["unavailable_after"] == "2001-01-01T00:00:00Z"
    assert (first["noindex_by"], second["noindex_by"]) == ("unavailable_after", None)
    assert first["sources"]["max-snippet"][0] == "meta 1, line 1"
    assert first["refused_links"] == [site.url("/refused")]
    assert (second["rules"], second["refused_links"], second["notes"]) == ({}, [], [])


@pytest.mark.slow
def test_date_in_the_future_is_not_in_effect(site: Site) -> None:
    later = Answer(body=page(meta("unavailable_after: 2999-01-01")), headers=_PAGE.headers[:1])
    site.change({"/robots.txt": Answer(body=_ROBOTS), "/later": later})
    done = ask("--page", site.url("/later"))
    assert "UTC by meta 1, line 1: keep it out of search results from then on" in done.out
    (row,) = rows(ask("--page", site.url("/later"), "--json"))
    assert row["noindex_by"] is None


@pytest.mark.slow
def test_disallowed_page_is_not_fetched(site: Site) -> None:
    done = ask("--usage", site.url("/private"), "--json")
    assert done.status == 1
    assert site.paths() == ["/robots.txt"]
    assert "a crawl may not fetch this" in done.err
    (row,) = rows(done)
    assert row["preferences"] == {
        **dict.fromkeys(["train-ai", "search", "tdm"], "unknown"),
        "ai-input": "n",
    }


@pytest.mark.slow
def test_usage_shows_deciding_statements(site: Site) -> None:
    options = ["-s", "REP_TDMREP=1", "--agent", "FooBot"]
    done = ask("--usage", site.url("/a"), *options)
    assert done.status == 1, done.err
    assert "  for FooBot:\n    train-ai: disallowed\n" in done.out
    where = f"line 2 of {site.url('/robots.txt')}"
    assert f"decides: train-ai=n by Content-Usage, {where}: train-ai=n" in done.out
    assert "search: disallowed" in done.out
    assert "decides: search=n by X-Robots-Tag 2" in done.out
    assert f"tdm=n by tdmrep.json 1 of {site.url('/.well-known/tdmrep.json')}" in done.out
    assert "licence: https://example.com/terms by License, line 6" in done.out
    assert "incomplete" not in done.out


@pytest.mark.slow
def test_usage_as_json(site: Site) -> None:
    site.change({"/open": Answer(body="x", headers=[("Content-Usage", "train-ai=n")])})
    done = ask("--usage", site.url("/open"), "--json")
    assert done.status == 1, done.err
    (row,) = rows(done)
    said = [(one["source"], one["decides"]) for one in row["statements"]]
    where = site.url("/robots.txt")
    assert (f"Content-Usage, line 3 of {where}", False) in said
    assert ("Content-Usage", True) in said
    assert row["preferences"]["train-ai"] == "n"
    assert row["is_complete"]
    assert len(row["digest"]) == 64


@pytest.mark.slow
def test_missing_file_makes_usage_incomplete(site: Site) -> None:
    site.change({"/.well-known/tdmrep.json": Answer(status=503)})
    done = ask("--usage", site.url("/plain"), "-s", "REP_TDMREP=1")
    assert done.status == 3, done.err
    assert "incomplete" in done.out
    site.change({"/robots.txt": Answer(status=503)})
    done = ask("--usage", site.url("/plain"))
    assert done.status == 3
    assert "unreachable" in done.err


class TestWithoutPages:
    """By a file, or by the store: nothing is fetched."""

    def test_usage_by_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "robots.txt"
        file.write_text(_ROBOTS)
        done = rep("check", "--usage", "/open/a", "--robots", file, "--agent", "x", "--json")
        assert done.status == 1
        (row,) = rows(done)
        assert row["preferences"]["search"] == "y"
        assert row["preferences"]["ai-input"] == "n"

    def test_contradicting_statements_are_noted(self, tmp_path: Path) -> None:
        file = tmp_path / "robots.txt"
        signals = "ai-train=no, use=reference", "search=yes, ai-train=yes, use=full"
        file.write_text("".join(f"User-agent: *\nContent-Signal: {one}\n" for one in signals))
        done = rep("check", "--usage", "/a", "--robots", file, "--agent", "x")
        assert (
            "train-ai: disallowed\n      decides: train-ai=n by Content-Signal, line 2" in done.out
        )
        assert "    use=reference by Content-Signal, line 2" in done.out
        assert "note: train-ai: the statements differ, and a no counts more" in done.out
        assert done.out.count("note:") == 1

    def test_usage_by_the_store(self, tmp_path: Path) -> None:
        settings = stored(tmp_path, file_entry(usual_key(ORIGIN), at=4e9, body=_ROBOTS.encode()))
        url = "https://example.com/open"
        done = rep("check", "--cached", "--usage", url, settings=settings, at=4e9)
        missing = rep("check", "--cached", "--usage", "http://h/", settings=settings, at=4e9)
        assert (done.status, "search: allowed" in done.out) == (1, True)
        assert (missing.status, missing.out) == (3, "")

    def test_usage_tells_the_age_of_the_file(self, tmp_path: Path) -> None:
        settings = stored(tmp_path, file_entry(usual_key(ORIGIN), at=4e9, body=_ROBOTS.encode()))
        call = ["check", "--usage", "/open", "--robots", "https://example.com", "--agent", "x"]
        done = rep(*call, settings=settings, at=4e9 + 600)
        assert "https://example.com/robots.txt: from the store, 10 min old" in done.err
