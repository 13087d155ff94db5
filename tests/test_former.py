"""Values that an earlier version of this package left in a `JOBDIR` are found again."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, squeues

from scrapy_rep import Origin
from scrapy_rep.queue.former import know_former_names
from tests.crawling import REPOSITORY
from tests.test_queue import Setup
from tests.test_stock import resumed

# What a version wrote in which `Origin` lived in `scrapy_rep.protocol.origin`.
OLD_ORIGIN = (
    b"\x80\x04\x95H\x00\x00\x00\x00\x00\x00\x00\x8c\x1ascrapy_rep.protocol.origin\x94\x8c\x06"
    b"Origin\x94\x93\x94)\x81\x94]\x94(\x8c\x05https\x94\x8c\ta.example\x94M\xbb\x01eb."
)
# Every home of each value that spiders may keep in the meta of a request. If you move one, add its
# former name to the table in `queue/former`; never take a home out of this list.
HOMES = [
    *["protocol.access AccessResult", "protocol.access Failure", "protocol.access Meaning"],
    *["protocol.findings Finding", "protocol.lint.codes Code", "protocol.lint.codes Severity"],
    *["protocol.origin Origin", "protocol.records OtherRecord"],
    *["protocol.records RequestRate", "protocol.records VisitTime"],
    "analysis.checks.codes Code",
    "analysis.checks.codes Severity",
    "analysis.findings Finding",
    "protocol.access.events AccessResult",
    "protocol.access.events Failure",
    "protocol.access.events Meaning",
    "protocol.access.origin Origin",
    "protocol.document Group",
    "protocol.extensions.records OtherRecord",
    "protocol.extensions.records RequestRate",
    "protocol.extensions.records VisitTime",
    "protocol.verdict Reason",
    "protocol.verdict Rule",
    "protocol.verdict Verdict",
]


class Left:
    """In the meta of a request, this is written as an earlier version wrote an `Origin`."""

    def __reduce__(self) -> Any:
        return pickle.loads, (OLD_ORIGIN,)


@pytest.mark.parametrize("kind", [squeues.PickleFifoDiskQueue, squeues.PickleLifoDiskQueue])
def test_a_request_that_names_a_former_home_is_not_lost(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(str(tmp_path), kind=kind)
    setup.queue.push(Request("http://a.example/0", meta={"origin": Left()}))
    state = setup.queue.close()
    monkeypatch.delitem(
        sys.modules, "scrapy_rep.protocol.origin", raising=False
    )  # as in a process that is new
    setup = resumed(tmp_path, state, kind)
    request = setup.queue.pop()
    assert request is not None
    assert request.meta["origin"] == Origin("https", "a.example", 443)
    assert len(setup.queue) == 0


@pytest.mark.parametrize("home", HOMES)
def test_every_home_that_was_is_known(home: str) -> None:
    know_former_names()
    module, name = home.split()
    found = pickle.loads(f"cscrapy_rep.{module}\n{name}\n.".encode())
    assert found.__name__ == name


def test_a_crawl_in_memory_does_without() -> None:
    """Nothing is pickled there, so nothing has to be found."""
    code = "from tests.test_queue import Setup; Setup(); import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert "scrapy_rep.protocol.origin" not in done.stdout.split()
