"""A crawl loses no page because its machine is short of open files or ports for a while."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, ONE_LOOP_IN_CI, REPOSITORY, Loop, crawl
from tests.crawls.broad_web import broad_web
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Answer, Site

_HOSTS = 120
_ANSWER_SECONDS = 1.5  # connections stay open for so long, also more of them than there are files


def run(loop: Loop, *command: str, **task: Any) -> dict[str, Any]:
    """A broad crawl of `tests.crawls.broad_crawl` in a process of its own."""
    module, given = "tests.crawls.broad_crawl", json.dumps(task | {"loop": loop})
    done = subprocess.run(
        [*command, sys.executable, "-m", module, given],
        capture_output=True,
        cwd=REPOSITORY,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"log": done.stderr}


def warnings(found: dict[str, Any]) -> list[str]:
    return [line for line in found["log"].splitlines() if "[scrapy_rep" in line and "WARN" in line]


@pytest.mark.parametrize("loop", LOOPS)
def test_shortage_of_open_files_loses_no_page(loop: Loop) -> None:
    """Seventy, for more hosts, a hundred at a time."""
    with broad_web(_ANSWER_SECONDS) as port:
        found = run(loop, port=port, hosts=_HOSTS, files=70)
    assert found["pages"] == _HOSTS, found["log"]
    assert found["stats"].get("retry/count", 0) == 0
    assert found["stats"]["rep/shortage/EMFILE"] > 0, "otherwise nothing was tested"
    (warning,) = warnings(found)
    assert "may have 70 files open, and has no more left (EMFILE: Too many open files)" in warning
    assert "ulimit -n" in warning


@pytest.mark.parametrize("loop", ONE_LOOP_IN_CI)
@pytest.mark.parametrize("queue", ["scrapy_rep.Rep", "scrapy.pqueues.Scrapy"])
def test_open_files_for_names(queue: str, loop: Loop) -> None:
    """A resolver that gets no file says that the name does not resolve."""
    with broad_web(_ANSWER_SECONDS) as port:
        settings = {"SCHEDULER_PRIORITY_QUEUE": f"{queue}PriorityQueue"}
        found = run(loop, port=port, hosts=_HOSTS, files=70, names=True, settings=settings)
    assert found["pages"] == _HOSTS, found["log"]
    assert found["stats"].get("rep/event/dns", 0) == 0
    assert found["stats"]["rep/shortage/EMFILE"] > 0


@pytest.mark.parametrize("loop", LOOPS)
def test_limit_is_raised_and_idle_connections_are_closed(loop: Loop) -> None:
    with broad_web() as port:
        found = run(loop, port=port, hosts=200, soft=200, concurrent=10)
        kept = run(loop, port=port, hosts=20, soft=100, settings={"REP_OPEN_FILES": False})
    assert found["pages"] == 200, found["log"]
    assert not warnings(found)
    assert (found["limit"] == 200) is (loop == "select"), "it knows no more than 1,024"
    assert kept["pages"] == 20
    assert kept["limit"] == 100


@pytest.mark.parametrize("loop", ONE_LOOP_IN_CI)
def test_shortage_that_lasts_does_not_keep_a_crawl_from_its_end(loop: Loop) -> None:
    """Other code of the process takes each file that becomes free."""
    settings = {"REP_UNREACHABLE_HOLD_SECONDS": 3, "RETRY_TIMES": 0}
    with broad_web(0.3) as port:
        found = run(loop, port=port, hosts=150, concurrent=10, taken=True, settings=settings)
    assert found["stats"]["rep/shortage/EMFILE"] > 0
    assert found["reason"] == "finished", found["log"]


@pytest.mark.slow
@pytest.mark.parametrize("loop", ONE_LOOP_IN_CI)
def test_shortage_of_ports_loses_no_page(loop: Loop) -> None:
    """Ten, for forty connections to one host at a time."""
    tool = shutil.which("unshare")
    inside = "ip link set lo up && sysctl -qw net.ipv4.ip_local_port_range='50000 50009'"
    command = [str(tool), "-n", "sh", "-c", f'{inside} && exec "$@"', "sh"]
    if tool is None or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no network namespace can be made here")
    more = {"serves": True, "delay_seconds": 0.5}
    found = run(loop, *command, hosts=1, pages=80, concurrent=40, **more)
    assert found["pages"] == 80, found["log"]
    assert found["stats"].get("retry/count", 0) == 0
    assert found["stats"]["rep/shortage/EADDRNOTAVAIL"] > 0
    (warning,) = warnings(found)
    assert "no free port left" in warning


@pytest.mark.parametrize("loop", LOOPS)
def test_full_disk_of_the_store(loop: Loop, small_disk: Path) -> None:
    """The files stay in memory."""
    body = "User-agent: *\nDisallow: /private\n# " + random.Random(7).randbytes(3000).hex()
    with Site({"/robots.txt": Answer(body=body)}, address="0.0.0.0") as site:
        hosts = [f"127.0.1.{number}" for number in range(1, 61)]
        urls = [site.url(path, host=host) for host in hosts for path in ("/a", "/private")]
        store = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(small_disk / "robots.sqlite")}
        result = crawl(URLS_SPIDER, loop=loop, settings={**ADDON, **store}, urls=urls)
        assert site.paths().count("/a") == 60, result.log
        assert "/private" not in site.paths()
    assert result.finish_reason == "finished"
    told = [line for line in result.log.splitlines() if " WARNING: " in line and "store" in line]
    assert len(told) == 1, told


def test_address_that_is_not_available_is_no_shortage() -> None:
    """As in a container without IPv6; the failure is that of this page alone."""
    with Site({"/robots.txt": Answer(body=""), **{f"/p{n}": Answer() for n in range(9)}}) as site:
        urls = [site.url(f"/p{number}") for number in range(9)]
        result = crawl(
            "tests.crawls.guests:BoundSpider",
            settings={**ADDON, "RETRY_TIMES": 1},
            urls=urls,
            bound=site.url("/p0", host="localhost"),
        )
        assert {*site.paths()} == {"/robots.txt", *(f"/p{number}" for number in range(9))}
    assert result.stats["retry/count"] == 1, result.log
    assert not [name for name in result.stats if name.startswith("rep/shortage")]
    assert result.stats["elapsed_time_seconds"] < 30
