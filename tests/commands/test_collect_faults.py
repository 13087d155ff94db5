"""``scrapy rep collect`` over sites with every kind of answer, stopped and called again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scrapy.settings import Settings

from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.exchange import standing
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import parse
from scrapy_rep.settings import RepSettings
from tests.cache.samples import usual_key
from tests.crawling import REPOSITORY
from tests.faults.sites import Plan, Sites
from tests.faults.table import FAULTS, OUTCOMES, PAGES, expected
from tests.faults.test_faults import HUNG_UP, SILENT

_COPIES = 4  # of each fault
_AT_ONCE = 32
_STOPS = 2


def _plans() -> dict[str, Plan]:
    plans: dict[str, Plan] = {}
    for name, fault in FAULTS.items():
        for copy in range(_COPIES):
            plans[f"{name} / {copy}"] = fault.plan(f"{name} / {copy} (second)")
            if fault.other is not None:
                plans[f"{name} / {copy} (second)"] = fault.other
    return plans


def _may_fetch(known: Knowledge) -> set[str]:
    """The pages that a crawl would fetch by what is stored; nothing is a failure of our own."""
    stands = standing(known, time.time(), RepSettings.of(Settings()).rules)
    if stands.meaning is Meaning.RULES:
        assert known.copy is not None
        robots_txt = parse(known.copy.body)
        return {page for page in PAGES if robots_txt.verdict(page, ("scrapy",)).allowed}
    return {*PAGES} if stands.meaning is Meaning.ALLOW else set()


def _asked(sites: Sites) -> dict[str, int]:
    return {name: paths.count("/robots.txt") for name, paths in sites.paths().items()}


@pytest.mark.slow
def test_every_kind_of_answer(tmp_path: Path) -> None:
    """Stopped twice; what is stored is what the table says that a crawl obeys."""
    targets = [f"{name} / {copy}" for copy in range(_COPIES) for name in FAULTS]
    listed, store = tmp_path / "list.txt", tmp_path / "store.sqlite"
    with Sites(_plans()) as sites:
        listed.write_text("\n".join(sites.url(target) for target in targets))
        command = [
            *[sys.executable, "-m", "scrapy", "rep", "collect", str(listed)],
            *["--at-once", str(_AT_ONCE), "--per-address", "0", "-s", f"REP_STORE_PATH={store}"],
            *["-s", "REP_QUICK_RETRY_SECONDS=", "-s", "REP_FETCH_TIMEOUT_SECONDS=6"],
            *["-s", "REP_REDIRECT_GUARD=public"],
        ]
        for stop in range(_STOPS + 1):
            before = sum(_asked(sites).values())
            with subprocess.Popen(
                command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                while stop < _STOPS and sum(_asked(sites).values()) < before + 70:
                    assert process.poll() is None
                    time.sleep(0.1)
                if stop < _STOPS:
                    process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=120)
            assert process.returncode == (130 if stop < _STOPS else 0), err
        asked = _asked(sites)
        origins = {target: Origin.of(sites.url(target)) for target in targets}
    wrong = []
    again_count = 0
    opened = SqliteStore(store, 1 << 30)
    for target, origin in origins.items():
        assert origin is not None
        fault = target.rpartition(" / ")[0]
        entry = opened.peek(usual_key(origin))
        pages = _may_fetch(Knowledge() if entry is None else entry.known)
        if pages != OUTCOMES[expected(fault, "never fetched", "rfc9309")]:
            wrong.append(f"{target}: {sorted(pages)}")
        if asked[target] == 0 and fault not in SILENT:
            wrong.append(f"{target}: never asked")
        again_count += max(0, asked[target] - 1) if fault not in HUNG_UP else 0
    opened.close()
    assert wrong == []
    assert again_count <= _STOPS * _AT_ONCE, "only those that were under way are asked again"
