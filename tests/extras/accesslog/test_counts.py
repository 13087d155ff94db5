"""The command and an independent count agree, crawler by crawler."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import rep
from tests.extras.accesslog.counted_logs import AGENTS, Sent, counts, sent, written_files
from tests.extras.accesslog.web_servers import WebServer, needs_apache, needs_nginx, request
from tests.processes import REPOSITORY

_COUNTED = (
    *("requests", "robots_txt_fetches", "against", "redirected", "refused", "unjudged"),
    "smallest_gap_seconds",
)
PEAK = """
import sys
from pathlib import Path
from scrapy_rep.commands.subcommands import main
try:
    main()
finally:
    print(Path("/proc/self/status").read_text(), file=sys.stderr)
"""
HOSTILE = (
    b"\x16\x03\x01\x02\x00\x01\x00\xfc\r\n\r\n",
    b"GET /\r\n\r\n",
    b"\r\n\r\n",
    b"GET  /private HTTP/1.1\r\nHost: x\r\n\r\n",
    b'GET /\xff\xfe\x00 HTTP/1.1\r\nHost: x\r\nUser-Agent: \xff"\\\r\n\r\n',
    b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"A" * 20_000,
)


def compare(log: Path, folder: Path, expected: dict[str, dict[str, Any]]) -> None:
    done = rep("log", log, *written_files(folder), "--site", "http://localhost", "--json")
    rows = {row["crawler"]: {name: row[name] for name in _COUNTED} for row in done.rows}
    assert rows == expected
    assert done.status == 1


def test_count_of_written_lines_agrees(tmp_path: Path) -> None:
    requests = [*sent(20_000)]
    log = tmp_path / "access.log"
    log.write_text("".join(f"{one.line}\n" for one in requests))
    expected = counts(iter(requests))
    assert len(expected) == len(AGENTS) - 1
    assert all(row["against"] and row["unjudged"] for row in expected.values())
    compare(log, tmp_path, expected)


def serve(requests: list[Sent], server: WebServer) -> None:
    """Have a server log these requests, at their times and with their statuses."""
    server.send(
        request(
            one.target.encode(),
            AGENTS[one.name].encode(),
            b"X-Time: " + one.logged_at.encode(),
            *([] if one.status == 200 else [b"X-Status: %d" % one.status]),
        )
        for one in requests
    )


@needs_nginx
def test_count_of_requests_to_nginx_agrees(tmp_path: Path) -> None:
    requests = [*sent(5000, seed=1)]
    with WebServer.nginx(tmp_path) as server:
        serve(requests[:2500], server)
        for octets in HOSTILE:
            server.send_alone(octets)
        serve(requests[2500:], server)
    compare(server.log, tmp_path, counts(iter(requests)))


@pytest.mark.at_length
@needs_nginx
def test_count_of_a_million_requests_to_nginx_agrees(tmp_path: Path) -> None:
    requests = [*sent(1_000_000, seed=2)]
    with WebServer.nginx(tmp_path) as server:
        serve(requests, server)
    expected = counts(iter(requests))
    began_at = time.process_time()
    compare(server.log, tmp_path, expected)
    assert time.process_time() - began_at < 30


@needs_apache
def test_lines_of_apache_are_read(tmp_path: Path) -> None:
    with WebServer.apache(tmp_path) as server:
        for octets in HOSTILE:
            server.send_alone(octets)
        targets = ("/private/1", '/private/"\\', "/private/é", "/open", "/robots.txt")
        server.send(request(one.encode(), AGENTS["Quote"].encode()) for one in targets)
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    done = rep("log", server.log, "--robots", tmp_path / "robots.txt", "--json")
    (row,) = done.rows
    assert (row["crawler"], row["requests"], row["robots_txt_fetches"]) == ("Quote", 5, 1)
    assert row["against"] == 3
    assert "unreadable" not in done.err


@pytest.mark.slow
def test_memory_is_bounded_whatever_the_log_contains(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /1\n")
    line = '192.0.{0}.{1} - - [01/Oct/2026:00:00:00 +0000] "GET /{2} HTTP/1.1" 200 1 "-" "{3}/1"\n'
    peaks = []
    for count in (10_000, 200_000):
        log = tmp_path / f"{count}.log"
        with log.open("w") as file:
            for number in range(count):
                name = "".join(chr(97 + int(digit)) for digit in str(number))
                target = f"{number}" * (40_000 if number < 2000 else 40)
                file.write(line.format(number >> 8 & 255, number & 255, target, name))
            file.write("x" * 30_000_000)
        call = ["log", str(log), "--robots", f"{tmp_path}/robots.txt", "--json"]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *call],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert '"(others)"' in done.stdout
        assert re.search(r"[\d,]+ unreadable lines; the first: .*, line \d+: 192", done.stderr)
        found = re.search(r"VmHWM:\s+(\d+) kB", done.stderr)
        assert found is not None
        peaks.append(int(found[1]))
    assert peaks[1] < peaks[0] + 30_000 < 120_000, peaks
