"""``scrapy rep cache`` over SQLite, Redis, and a store that can only do what crawls need."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings.default_settings import USER_AGENT

from scrapy_rep.cache.base import Store
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import Knowledge, Step
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import NOW, ORIGIN, OTHER, file_entry, outage_entry, usual_key
from tests.commands.calling import rep as rep_now
from tests.commands.calling import stored
from tests.extras import needs
from tests.redis_server import a_loop, redis_store
from tests.servers.handle import free_port

GOOD = Key.under(ORIGIN, "GoodBot/1.0")
BAD = Key.under(ORIGIN, "BadBot/\x1b[1m", "0123456789ab")
rep = functools.partial(rep_now, at=NOW + 120)

_ENTRIES = (
    file_entry(GOOD),
    Entry(
        usual_key(OTHER), Knowledge(file_entry(OTHER).known.copy, outage_entry(OTHER).known.outage)
    ),
    file_entry(usual_key(Origin("http", "bin.example", 80)), body=b"\xff"),
)


every_store = pytest.mark.parametrize(
    "settings", ["sqlite", "redis", "redis behind sqlite"], indirect=True
)


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Those of a project with three entries in its store: SQLite, unless a test names another."""
    kind = getattr(request, "param", "sqlite")
    settings = {"REP_STORE_PATH": str(tmp_path / "robots.sqlite")}
    if kind != "sqlite":
        settings["REP_REDIS_URL"] = request.getfixturevalue("redis_server").url
    if kind == "redis":
        settings["REP_STORE_PATH"] = ":memory:"
    commit(settings, *_ENTRIES)
    return settings


def commit(settings: dict[str, Any], *entries: Entry) -> None:
    """Keep entries as a crawl with these settings would."""
    local = None
    if settings["REP_STORE_PATH"] != ":memory:":
        local = SqliteStore(Path(settings["REP_STORE_PATH"]), 1 << 20)
    with ExitStack() as undo:
        store: Store | None = local
        if "REP_REDIS_URL" in settings:
            loop = undo.enter_context(a_loop())
            store = redis_store(settings["REP_REDIS_URL"], local, loop, reply_seconds=20.0)
        assert store is not None
        for entry in entries:
            store.commit(entry, None).result()
        closing = store.close()
        if closing is not None:
            closing.result()


@every_store
def test_list_has_a_row_for_each_entry(settings: dict[str, Any]) -> None:
    done = rep("cache", "list", settings=settings)
    assert done.status == 0
    assert done.out == (
        "origin               state         answer  octets  fetched        as\n"
        f"http://bin.example   fresh         200     1       2 minutes ago  {USER_AGENT}\n"
        f"http://example.com   stale rested  503     33      2 minutes ago  {USER_AGENT}\n"
        "https://example.com  fresh         200     33      2 minutes ago  GoodBot/1.0\n"
    )
    assert rep("cache", "list", "example.com", settings=settings).out.count("\n") == 2
    early = rep_now("cache", "list", settings=settings, at=NOW - 3600)
    assert early.out.count("  in 1 hour  ") == 3, "the clock was set back since"


@pytest.mark.parametrize("action", ["show", "list", "log", "purge", "export"])
def test_missing_origin_is_told_with_those_of_its_host(
    settings: dict[str, Any], action: str
) -> None:
    """A host stands for https, and this one is stored for http."""
    words = "nothing is stored for https://bin.example, but for http://bin.example\n"
    done = rep("cache", action, "bin.example", settings=settings)
    assert (done.status, done.out, words in done.err) == (1, "", True)
    assert rep("cache", action, "http://bin.example", settings=settings).status == 0
    other = rep("cache", action, "https://other.example", settings=settings)
    assert "nothing is stored for https://other.example\n" in other.err
    both = rep("cache", action, "https://example.com", "bin.example", settings=settings)
    assert (both.status, both.out != "") == (1, True)


def test_list_and_show_do_not_write(settings: dict[str, Any]) -> None:
    path = Path(settings["REP_STORE_PATH"])
    before = path.read_bytes(), path.stat().st_mtime_ns
    for command in ("list", "show"):
        assert rep("cache", command, "example.com", settings=settings).status == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_list_is_cut_to_the_terminal(settings: dict[str, Any]) -> None:
    width = {"COLUMNS": "70", "NO_COLOR": "1"}
    whole = rep("cache", "list", settings=settings).out
    assert max(map(len, whole.splitlines())) > 70
    shown = rep("cache", "list", settings=settings, is_terminal=True, environment=width).out
    for line, full in zip(shown.splitlines(), whole.splitlines(), strict=True):
        assert len(line) <= 70
        assert full.startswith(line.removesuffix("..."))


@needs("webmaster")
def test_show_has_state_file_and_outage(settings: dict[str, Any]) -> None:
    done = rep("cache", "show", "example.com", "http://example.com", settings=settings)
    assert done.status == 0
    assert "state: fresh: the copy holds" in done.out
    assert "fresh until: 2027-01-16 08:00:00 UTC (in 23 hours)" in done.out
    assert "file: 33 octets, 0 sitemaps, 0 findings" in done.out
    assert "means: rules (stale)" in done.out
    assert "outage: 503, 1 in a row" in done.out


def test_show_has_each_step_of_a_fetch(tmp_path: Path) -> None:
    uri = ORIGIN.robots_txt_uri
    steps = (
        Step(uri, Failure.TIMEOUT, NOW - 2, 1.5),
        Step(uri, 301, NOW, 0.25, 0, "192.0.2.7", "https://www.example.com/robots.txt"),
        Step("https://www.example.com/robots.txt", 200, NOW - 60, 0.5, 33, is_copied=True),
    )
    known = file_entry(GOOD).known
    assert known.copy is not None
    hops = tuple(step.uri for step in steps)
    told = Knowledge(replace(known.copy, hops=hops, steps=steps))
    untold = Knowledge(replace(known.copy, hops=hops))
    settings = stored(tmp_path, Entry(GOOD, told), Entry(BAD, untold))
    out = rep("cache", "show", "example.com", settings=settings).out
    assert "from https://example.com/robots.txt (timeout, in 1.500 s, " in out
    assert (
        "again https://example.com/robots.txt (301, 0 octets, from 192.0.2.7, in 0.250 s, "
        "at 2027-01-15 08:00:00 UTC)\n" in out
    )
    assert "-> https://www.example.com/robots.txt (200, 33 octets, in 0.500 s, " in out
    assert "UTC, not fetched: taken from the copy of that origin)\n" in out
    assert "-> https://www.example.com/robots.txt\n" in out


@every_store
def test_purge_deletes_named_origins(settings: dict[str, Any]) -> None:
    done = rep("cache", "purge", "example.com", settings=settings)
    assert (done.status, done.out) == (0, "purged https://example.com (fetched as GoodBot/1.0)\n")
    assert rep("cache", "show", "example.com", settings=settings).status == 1
    assert rep("cache", "purge", "example.com", settings=settings).status == 1
    assert rep("cache", "purge", "--all", "--yes", settings=settings).out.count("purged") == 2
    assert rep("cache", "list", settings=settings).status == 1


class TestPurgeAll:
    def test_purge_all_needs_yes_without_a_terminal(self, settings: dict[str, Any]) -> None:
        done = rep("cache", "purge", "--all", settings=settings)
        assert (done.status, done.out) == (2, "")
        assert "Delete 3 entries from this project's store? Without a terminal" in done.err
        assert "give --yes" in done.err
        assert rep("cache", "list", settings=settings).out.count("\n") == 4

    @pytest.mark.parametrize(
        ("answer", "is_yes"),
        [
            *((answer, False) for answer in (b"\n", b"", b"yesterday\n")),
            *((answer, True) for answer in (b"y\n", b"YES\n")),
        ],
    )
    def test_purge_all_deletes_only_if_confirmed(
        self, settings: dict[str, Any], answer: bytes, is_yes: bool
    ) -> None:
        done = rep("cache", "purge", "--all", settings=settings, stdin=answer, is_terminal=True)
        assert (done.status, done.out.count("purged")) == ((0, 3) if is_yes else (2, 0))
        assert "Delete 3 entries from this project's store? [y/N]" in done.err
        assert rep("cache", "list", settings=settings).out.count("\n") == (0 if is_yes else 4)


class TestIdentities:
    """Files that were fetched with different User-Agents."""

    @pytest.fixture
    def both(self, settings: dict[str, Any]) -> dict[str, Any]:
        commit(settings, file_entry(BAD, body=b"bad"))
        return settings

    @every_store
    def test_each_command_names_the_identity(self, both: dict[str, Any]) -> None:
        out = rep("cache", "list", "example.com", settings=both).out
        assert [line.split("ago  ")[1] for line in out.splitlines()[1:]] == [
            "BadBot/\\x1b[1m [0123456789ab]",
            "GoodBot/1.0",
        ]
        out = rep("cache", "show", "example.com", settings=both).out
        assert out.count("https://example.com\n") == 2
        assert "fetched as: GoodBot/1.0\n" in out
        assert "fetched as: BadBot/\\x1b[1m [0123456789ab]\n" in out
        rows = rep("cache", "export", "example.com", settings=both).rows
        assert [(row["user_agent"], row["variant"]) for row in rows] == [
            ("BadBot/\x1b[1m", "0123456789ab"),
            ("GoodBot/1.0", ""),
        ]
        assert rep("cache", "purge", "example.com", settings=both).out.count("purged") == 2

    def test_user_agent_selects_entries(self, both: dict[str, Any]) -> None:
        only = ("example.com", "--user-agent", "bad")
        assert rep("cache", "show", *only, "--body", settings=both).out == "bad"
        assert rep("cache", "purge", *only, settings=both).out.count("purged") == 1
        assert rep("cache", "show", *only, settings=both).status == 1
        assert rep("cache", "show", "example.com", settings=both).status == 0

    def test_refresh_takes_no_other_identity(self, both: dict[str, Any]) -> None:
        done = rep("cache", "refresh", "--all", "--user-agent", "bad", settings=both)
        assert done.status == 2
        assert "USER_AGENT of this project" in done.err


@every_store
def test_export_has_bodies_and_outages(settings: dict[str, Any]) -> None:
    done = rep("cache", "export", settings=settings)
    rows = done.rows
    assert [row["origin"] for row in rows] == ["http://bin.example", str(OTHER), str(ORIGIN)]
    assert rows[0]["copy"]["body_base64"] == "/w=="
    assert rows[1]["outage"]["event"] == "503"
    assert rows[2]["copy"]["body"] == "User-agent: *\nDisallow: /private\n"
    assert rows[2]["meaning"] == "rules"
    assert rep("cache", "export", "example.com", settings=settings).out.count("\n") == 1


@needs("fleet")
@pytest.mark.parametrize("action", ["list", "export", "show", "purge"])
def test_cache_without_a_reachable_redis_ends_with_3(action: str) -> None:
    settings = {"REP_REDIS_URL": f"redis://127.0.0.1:{free_port()}/0", "REP_STORE_PATH": ":memory:"}
    done = rep("cache", action, *["example.com"][: action in ("show", "purge")], settings=settings)
    assert done.status == 3
    assert settings["REP_REDIS_URL"].partition("//")[2] in done.err
    assert "Connect call failed" in done.err
    assert "; start it, or correct the address in REP_REDIS_URL" in done.err
    assert "Traceback" not in done.err


class OneFile(MemoryStore):
    """A store with one answer for all origins, and no list of them."""

    keys = None  # type: ignore[assignment]

    def peek(self, origin: Origin) -> Entry:
        return file_entry(origin)


def test_minimal_store_can_only_show() -> None:
    settings = {"REP_STORE": f"{__name__}.OneFile"}
    assert "state: fresh" in rep("cache", "show", "example.com", settings=settings).out
    for action in ("list", "export"):
        done = rep("cache", action, settings=settings)
        assert done.status == 2
        assert "OneFile cannot list or delete its entries" in done.err
    assert rep("cache", "purge", "example.com", settings=settings).status == 2


@pytest.mark.parametrize("command", [("cache", "list"), ("check", "--cached", "https://h/")])
def test_nothing_is_stored_where_crawls_use_memory(command: tuple[str, ...], here: Path) -> None:
    """Crawls use memory if the folder cannot be written."""
    (here / "scrapy.cfg").write_text("[settings]\ndefault = no.settings\n")
    (here / ".scrapy").symlink_to("/proc/self/no-such-folder")  # root can't write there either
    done = rep(*command, settings={"ROBOTSTXT_OBEY": True})
    assert (done.status, done.out) == (2, "")
    assert "nothing is stored, because crawls use memory here" in done.err
    assert done.err.count("\n") == 1


def test_missing_store_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite"
    done = rep("cache", "list", settings={"REP_STORE_PATH": str(path)})
    assert done.status == 2
    assert "nothing is stored yet" in done.err
    assert not path.exists()


@needs("pages")
@every_store
def test_tdmrep_is_an_entry_of_its_own(settings: dict[str, Any]) -> None:
    """It is never read as rules, and is purged with its origin."""
    key = Key.under(ORIGIN, "GoodBot/1.0", path="/.well-known/tdmrep.json")
    commit(settings, file_entry(key, body=b'[{"location": "/", "tdm-reservation": 1}]'))
    shown = rep("cache", "show", "example.com", settings=settings).out
    own = shown.partition(key.uri + "\n")[2]
    assert "state: fresh" in own
    assert "means:" not in own
    assert "file: 41 octets, 1 rule" in own
    assert f"{key.uri}  fresh" in rep("cache", "list", settings=settings).out
    body = rep("cache", "show", "example.com", "--body", settings=settings).out
    assert body == "User-agent: *\nDisallow: /private\n"
    rows = rep("cache", "export", "example.com", settings=settings).rows
    assert {row["path"] for row in rows} == {"/robots.txt", key.path}
    assert rep("cache", "purge", "example.com", settings=settings).out.count("purged") == 2
