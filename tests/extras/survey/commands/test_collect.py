"""``scrapy rep collect``: lists, limits and interruptions."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler

from scrapy_rep.commands.running import CommandError
from scrapy_rep.extras.survey.captures import Capture
from scrapy_rep.extras.survey.commands.collect import ListForm, Progress, origins_of
from scrapy_rep.extras.survey.inputs.tasks import tasks_of
from tests.commands.calling import LOOPS, rep_process
from tests.crawling import ONE_LOOP_IN_CI
from tests.processes import Scrapy
from tests.servers.handle import Answer, Site, free_port


class TestLists:
    @pytest.mark.parametrize(
        ("line", "wanted", "origins"),
        [
            ("example.com", ListForm(), ["https://example.com"]),
            ("Example.COM\r\n", ListForm(), ["https://example.com"]),
            ("1,example.com", ListForm(), ["https://example.com"]),
            ('"1","example.com","x"', ListForm(), ["https://example.com"]),
            ("a.example,example.com", ListForm(column=2), ["https://example.com"]),
            ("a.example", ListForm(column=2), [None]),
            ("http://example.com:81/x?y", ListForm(), ["http://example.com:81"]),
            ("example.com:8080", ListForm(("http",)), ["http://example.com:8080"]),
            ("bücher.example", ListForm(), ["https://xn--bcher-kva.example"]),
            (
                "a.example",
                ListForm(("https", "http"), has_www=True),
                [
                    *["https://a.example", "http://a.example"],
                    *["https://www.a.example", "http://www.a.example"],
                ],
            ),
            ("a.example", ListForm(has_bare=False, has_www=True), ["https://www.a.example"]),
            ("www.a.example", ListForm(has_bare=False, has_www=True), ["https://www.a.example"]),
            ("127.0.0.1", ListForm(), ["https://127.0.0.1"]),
            ("[::1]:80", ListForm(), ["https://[::1]:80"]),
            ("localhost:80", ListForm(("http",)), ["http://localhost"]),
            ("LOCALHOST:8000", ListForm(("http",)), ["http://localhost:8000"]),
            ("1,LocalHost", ListForm(), ["https://localhost"]),
            ("localhosts", ListForm(), [None]),
            ("rank,domain", ListForm(), [None]),
            ("mailto://a.example", ListForm(), [None]),
            ("a b.example", ListForm(), [None]),
            ("# a.example", ListForm(), []),
            ("\ufeffhttp://a.example/", ListForm(), ["http://a.example"]),  # of joined lists
            (" ", ListForm(), []),
        ],
    )
    def test_line_becomes_origins(
        self, line: str, wanted: ListForm, origins: list[str | None]
    ) -> None:
        found = origins_of([line.encode()], wanted)
        assert [None if one is None else str(one) for one in found] == origins


def test_origin_that_is_listed_again_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    with Site({"/robots.txt": Answer(body="User-agent: *")}) as site:
        port = site.port
        names = [f"127.0.0.1:{port}", f"LOCALHOST:{port}", "head", f"http://127.0.0.1:{port}/x"]
        path.write_text("\n".join([*names, f"localhost:{port}", "HEAD"]))
        done = rep_process("rep", "collect", path, "--scheme", "http", *_store(tmp_path))
        assert sorted(site.paths()) == ["/robots.txt"] * 2
    assert done.status == 0, done.err
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[:4] == [["answers", "origins"], *rows[1:3], ["200", "2"]]
    assert sorted(rows[1:3]) == [["no", "site", "2"], ["successful", "2"]]


class TestProgress:
    def test_progress_counts_targets_done_in_any_order(self, tmp_path: Path) -> None:
        progress = Progress("x", tmp_path / "p")
        for number in (3, 0, 1):
            progress.finish(number, "successful")
        assert (progress.done, progress.beyond, progress.count) == (2, {3}, 3)
        assert [progress.is_done(n) for n in range(5)] == [True, True, False, True, False]
        progress.save()
        assert Progress.load(tmp_path / "p", "x") == progress
        with pytest.raises(CommandError, match="another list"):
            Progress.load(tmp_path / "p", "y")
        (tmp_path / "p").write_text("{}")
        with pytest.raises(CommandError, match="cannot resume"):
            Progress.load(tmp_path / "p", "x")
        assert Progress.load(tmp_path / "none", "x").count == 0


def _store(folder: Path) -> list[str]:
    return ["-s", f"REP_STORE_PATH={folder / 'store.sqlite'}", "-s", "REP_QUICK_RETRY_SECONDS="]


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_each_site_is_fetched_once(loop: str, tmp_path: Path) -> None:
    file = Answer(body="User-agent: *\nDisallow: /a\n")
    hosts = [f"127.0.0.{n}" for n in range(1, 9)]
    with (
        Site({"/robots.txt": file}, address="0.0.0.0") as site,
        Site({"/robots.txt": Answer(status=404)}) as other,
    ):
        urls = [site.url(host=host) for host in hosts]
        urls += [other.url("/x"), f"http://127.0.0.1:{free_port()}", "rank,domain", urls[0]]
        (tmp_path / "list.txt").write_text("\n".join(urls), "utf-8-sig")  # as Windows' editors do
        arguments = ["rep", "collect", tmp_path / "list.txt", *LOOPS[loop], *_store(tmp_path)]
        done = rep_process(*arguments)
        assert done.status == 0, done.err
        counts = dict(line.rsplit(maxsplit=1) for line in done.out.splitlines())
        assert counts["successful"] == "8"
        assert (counts["unavailable"], counts["unreachable"], counts["no site"]) == ("1", "1", "1")
        assert site.paths() == ["/robots.txt"] * 8
        assert rep_process(*arguments).status == 0
        assert len(site.requests()) == 8, "the store has them"
    assert not (tmp_path / "list.txt.collect").exists()
    found = [c for t in tasks_of(tmp_path / "store.sqlite") for c in t()]
    captures = [one for one in found if isinstance(one, Capture)]
    assert sum(one.is_file for one in captures) == 8
    assert {one.status for one in captures} == {200, 404, None}


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_idle_connections_are_closed(loop: str, tmp_path: Path) -> None:
    """Scrapy keeps idle connections for minutes, and a process may have only some open files."""
    with Site({"/robots.txt": Answer(body="User-agent: *\n")}, address="0.0.0.0") as site:
        urls = [site.url(host=f"127.0.{n // 250}.{1 + n % 250}") for n in range(300)]
        (tmp_path / "list.txt").write_text("\n".join(urls))
        arguments = ["rep", "collect", tmp_path / "list.txt", "--at-once", "16"]
        call = Scrapy(*arguments, *LOOPS[loop], *_store(tmp_path), most_files=150)
        done = call.end()
        assert done.returncode == 0, done.stderr
        assert len(site.requests()) == 300
    counts = dict(line.rsplit(maxsplit=1) for line in done.stdout.decode().splitlines())
    assert counts["successful"] == "300", done.stdout
    assert b"Error" not in done.stderr


class Hasty(HTTP11DownloadHandler):
    """Scrapy's, which would give connections a second to close."""

    async def close(self) -> None:
        self._disconnect_timeout = 0
        await super().close()


@pytest.mark.slow
def test_closing_connections_cause_no_error(tmp_path: Path) -> None:
    """Twisted would fail if connections closed just as Scrapy stops to wait for them."""
    with Site({"/robots.txt": Answer(body="User-agent: *\n")}, address="0.0.0.0") as site:
        (tmp_path / "list.txt").write_text(
            "\n".join(site.url(host=f"127.0.0.{n}") for n in range(1, 9))
        )
        handlers = json.dumps({"http": "tests.extras.survey.commands.test_collect.Hasty"})
        done = rep_process(
            *["rep", "collect", tmp_path / "list.txt", "-s", f"DOWNLOAD_HANDLERS={handlers}"],
            *_store(tmp_path),
        )
    assert done.status == 0, done.err
    assert "Error" not in done.err


class _Neighbours:
    """Sites on ports of one address, and the most answers that were under way at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = self.most = self.count = 0

    @contextmanager
    def answering(self) -> Iterator[None]:
        with self._lock:
            self._now += 1
            self.count += 1
            self.most = max(self.most, self._now)
        time.sleep(0.3)  # so that concurrent requests overlap
        with self._lock:
            self._now -= 1
        yield

    @contextmanager
    def sites(self, count: int) -> Iterator[list[str]]:
        neighbours = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with neighbours.answering():
                    self.send_response(200)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                pass

        with ExitStack() as stack:
            servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(count)]
            for server in servers:
                stack.callback(server.server_close)
                threading.Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
            yield [f"http://127.0.0.1:{server.server_port}" for server in servers]


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("limit", "most"), [(2, {2}), (0, {4, 5, 6})])
def test_per_address_limits_concurrent_origins(
    limit: int, most: set[int], loop: str, tmp_path: Path
) -> None:
    neighbours = _Neighbours()
    with neighbours.sites(6) as urls:
        (tmp_path / "list.txt").write_text("\n".join(urls))
        done = rep_process(
            *["rep", "collect", tmp_path / "list.txt", "--per-address", limit],
            *[*LOOPS[loop], *_store(tmp_path)],
        )
    assert done.status == 0, done.err
    assert neighbours.count == 6
    assert neighbours.most in most


_MANY = [f"127.0.{n // 250}.{1 + n % 250}" for n in range(300)]


def _counted(folder: Path) -> int:
    """The number of targets that the progress file counts as done."""
    found = json.loads((folder / "list.txt.collect").read_text())
    return int(found["done"]) + len(found["beyond"])


def _wait_for(call: Scrapy, site: Site, count: int) -> None:
    """Wait until a site has got a number of requests."""
    while len(site.requests()) < count:
        assert call.process.poll() is None, call.end().stderr
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("loop", ONE_LOOP_IN_CI)
@pytest.mark.long
def test_stopped_run_resumes_without_repeats(loop: str, tmp_path: Path) -> None:
    """Two signals stop it, and each site is still fetched once, with all hops."""
    file = Answer(body="User-agent: *\nDisallow: /a\n", delay_seconds=0.1)
    hop = Answer(status=302, headers=[("Location", "/there")], delay_seconds=0.1)
    with Site({"/robots.txt": hop, "/there": file}, address="0.0.0.0") as site:
        (tmp_path / "list.txt").write_text("\n".join(site.url(host=host) for host in _MANY))
        arguments = ["rep", "collect", str(tmp_path / "list.txt"), "--at-once", "8"]
        arguments += [*LOOPS[loop], *_store(tmp_path)]
        for number in (signal.SIGINT, signal.SIGTERM):
            call = Scrapy(*arguments)
            _wait_for(call, site, len(site.requests()) + 120)
            call.process.send_signal(number)
            stopped = call.end(60)
            assert stopped.returncode == 130, stopped.stderr
            assert b"no more sites are started" in stopped.stderr
            assert b"the next call continues" in stopped.stderr
            asked = [seen.path for seen in site.requests()]
            assert 60 <= _counted(tmp_path) < 300
            assert _counted(tmp_path) == asked.count("/robots.txt") == asked.count("/there")
        done = rep_process(*arguments)
        assert done.status == 0, done.err
        requests = [(seen.headers["host"], seen.path) for seen in site.requests()]
    assert len(requests) == len({*requests}) == 2 * 300, "a site was fetched twice"
    found = [c for t in tasks_of(tmp_path / "store.sqlite") for c in t()]
    assert len(found) == 300


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_third_signal_ends_at_once(loop: str, tmp_path: Path) -> None:
    """Three signals do not wait for a slow site."""
    slow = Answer(body="User-agent: *\n", delay_seconds=60)
    with (
        Site({"/robots.txt": slow}) as site,
        Site({"/robots.txt": Answer(body="User-agent: *\n")}) as quick,
    ):
        (tmp_path / "list.txt").write_text(f"{quick.url()}\n{site.url()}")
        arguments = ["rep", "collect", str(tmp_path / "list.txt"), *LOOPS[loop]]
        call = Scrapy(*arguments, *_store(tmp_path), "-s", "REP_FETCH_TIMEOUT_SECONDS=60")
        for one in (quick, site):
            _wait_for(call, one, 1)
        for _ in range(3):
            time.sleep(1)
            assert call.process.poll() is None, call.end().stderr
            call.process.send_signal(signal.SIGINT)
        stopped = call.end(20)
    assert stopped.returncode == 130, stopped.stderr
    assert _counted(tmp_path) == 1
    assert b"Traceback" not in stopped.stderr


@pytest.mark.slow
@pytest.mark.long
def test_killed_run_repeats_only_open_and_last_fetches(tmp_path: Path) -> None:
    file = Answer(body="User-agent: *\nDisallow: /a\n", delay_seconds=0.1)
    with Site({"/robots.txt": file}, address="0.0.0.0") as site:
        (tmp_path / "list.txt").write_text("\n".join(site.url(host=host) for host in _MANY))
        arguments = ["rep", "collect", str(tmp_path / "list.txt"), "--at-once", "8"]
        call = Scrapy(*arguments, *_store(tmp_path))
        _wait_for(call, site, 100)
        call.process.kill()
        call.end()
        done = rep_process(*arguments, *_store(tmp_path))
        assert done.status == 0, done.err
        asked = [seen.headers["host"] for seen in site.requests()]
    assert len({*asked}) == 300
    assert len(asked) <= 300 + 8 + 32  # answers that the store had not written yet
