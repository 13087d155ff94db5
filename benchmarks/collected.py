"""``scrapy rep collect`` over sites with every kind of answer, stopped and called again.

Each fault of the table is at many addresses, and each address is an origin. The stored answers are
compared with the table of faults, and with the store of a crawl.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scrapy.settings import Settings

from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.events import Meaning, name_of
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import standing
from scrapy_rep.protocol.document import parse
from scrapy_rep.settings import RepSettings
from tests.cache.samples import usual_key
from tests.crawling import REPOSITORY, crawl
from tests.crawls.settings import URLS_SPIDER
from tests.faults.sites import Plan, Sites
from tests.faults.table import FAULTS, OUTCOMES, PAGES, expected
from tests.faults.test_faults import HUNG_UP, SETTINGS, SILENT

STOPS = 2
_STOPPED = 130
_STORE_OCTETS = 1 << 30

Known = dict[tuple[str, str], Knowledge]
"""The stored knowledge, by fault and address."""


@dataclass
class Collected:
    """The result.

    Attributes:
        known: the stored knowledge about each origin.
        wrong: differences from the table, in words.
        again_count: the number of repeated requests.
        seconds, cpu_seconds: the time of all calls.
        peak_mb: the most memory of a call.
    """

    known: Known = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    again_count: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0


def fault_sites() -> Sites:
    """A site for each fault, at every address."""
    plans: dict[str, Plan] = {}
    for name, fault in FAULTS.items():
        plans[name] = fault.plan(f"{name} (second)")
        if fault.other is not None:
            plans[f"{name} (second)"] = fault.other
    return Sites(plans, is_everywhere=True)


def addresses(count: int) -> list[str]:
    """Addresses of loopback."""
    return [f"127.1.{number // 250}.{1 + number % 250}" for number in range(count)]


def collect(
    sites: Sites, count: int, folder: Path, *, at_once: int, timeout_seconds: int
) -> Collected:
    """Collect from every fault at `count` addresses, with two stops."""
    found = Collected()
    listed, store = folder / "list.txt", folder / "store.sqlite"
    targets = [(fault, address) for address in addresses(count) for fault in FAULTS]
    listed.write_text("\n".join(sites.url(fault, address=at) for fault, at in targets))
    command = [
        *[sys.executable, "-m", "scrapy", "rep", "collect", str(listed)],
        *["--at-once", str(at_once), "--per-address", "0", "-s", f"REP_STORE_PATH={store}"],
        *["-s", "REP_QUICK_RETRY_SECONDS=", "-s", "REP_REDIRECT_GUARD=public"],
        *["-s", f"REP_FETCH_TIMEOUT_SECONDS={timeout_seconds}"],
    ]
    for stop in range(1, STOPS + 1):
        _call(command, folder, found, stops_at=(sites, len(targets) * stop // (STOPS + 1)))
    _call(command, folder, found)
    asked = sites.asked()
    found.known = known_of(store, sites, targets)
    found.wrong += _wrong(found.known, asked)
    found.again_count = sum(
        max(0, times - 1)
        for fault in FAULTS
        for times in asked[fault].values()
        if fault not in HUNG_UP  # clients repeat a request on their own if a kept connection closes
    )
    return found


def _call(
    command: list[str],
    folder: Path,
    found: Collected,
    stops_at: tuple[Sites, int] | None = None,
) -> None:
    """Call the command; stop it once the sites have seen a number of origins."""
    began_at = time.monotonic()
    with (folder / "streams").open("wb") as streams:
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=streams, stderr=streams)
    if stops_at is not None:
        sites, count = stops_at
        while sum(map(len, sites.asked().values())) < count:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    told = (folder / "streams").read_text(errors="replace")
    if process.returncode != (_STOPPED if stops_at else 0):
        found.wrong.append(f"it ended with {process.returncode}: {told}")
    if "Traceback" in told or "ERROR" in told:
        found.wrong.append(told[-5000:])
    found.seconds += time.monotonic() - began_at
    found.cpu_seconds += used.ru_utime + used.ru_stime
    found.peak_mb = max(found.peak_mb, used.ru_maxrss / 1024)


def known_of(store: Path, sites: Sites, targets: list[tuple[str, str]]) -> Known:
    """The stored knowledge about each origin; it is empty after a local failure."""
    known: Known = {}
    opened = SqliteStore(store, _STORE_OCTETS)
    for fault, address in targets:
        origin = Origin.of(sites.url(fault, address=address))
        assert origin is not None
        entry = opened.peek(usual_key(origin))
        known[fault, address] = Knowledge() if entry is None else entry.known
    opened.close()
    return known


def _wrong(known: Known, asked: dict[str, dict[str, int]]) -> Iterator[str]:
    now, rules = time.time(), RepSettings.of(Settings()).options
    for (fault, address), one in known.items():
        stands = standing(one, now, rules)
        pages = {*PAGES} if stands.meaning is Meaning.ALLOW else set()
        if stands.meaning is Meaning.RULES:
            assert one.copy is not None
            robots_txt = parse(one.copy.body)
            pages = {page for page in PAGES if robots_txt.verdict(page, ("scrapy",)).allowed}
        if pages != OUTCOMES[expected(fault, "never fetched", "rfc9309")]:
            yield f"{fault} at {address}: {sorted(pages)}"
        if fault not in SILENT and not asked[fault].get(address):
            yield f"{fault} at {address}: never asked"


def crawled(sites: Sites, count: int, folder: Path, *, timeout_seconds: int) -> Known:
    """The knowledge that a crawl of the same sites stores in an empty store."""
    sites.forget()
    store = folder / "crawled.sqlite"
    targets = [(fault, address) for address in addresses(count) for fault in FAULTS]
    settings = {**SETTINGS, "REP_STORE_PATH": str(store), "LOG_LEVEL": "WARNING"}
    result = crawl(
        URLS_SPIDER,
        settings={**settings, "REP_FETCH_TIMEOUT_SECONDS": timeout_seconds},
        urls=[sites.url(fault, "/free", at) for fault, at in targets],
        timeout_seconds=900,
    )
    assert result.exit_code == 0, result.error
    return known_of(store, sites, targets)


def differences(one: Known, other: Known) -> list[str]:
    """The differences between two stores, except times."""
    return [
        f"{fault} at {address}: {_gist(fault, found)}, {_gist(fault, other[fault, address])}"
        for (fault, address), found in one.items()
        if _gist(fault, found) != _gist(fault, other[fault, address])
    ]


def _gist(fault: str, known: Knowledge) -> tuple[object, ...]:
    copy, outage = known.copy, known.outage
    return (
        None if copy is None else (name_of(copy.event), copy.body, copy.hops),
        None if outage is None else (_why(fault, name_of(outage.event)), outage.hops),
    )


def _why(fault: str, event: str) -> str:
    """The failure. An endless answer meets a limit of octets or of time, whichever is first."""
    return "a bound" if "endless" in fault and event in ("truncated", "timeout") else event
