"""A fleet that is set up wrongly: the log, or the error, names the cause and the fix."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.base import StoreError
from scrapy_rep.extras.fleet.link import Link, Script, advice_on
from tests.at_length import at_length
from tests.crawling import crawl
from tests.extras.fleet.crews import FLAT, SETTINGS, TREE, Begin, SiteOf, assert_nothing_left, until
from tests.played import in_a_loop
from tests.processes import Scrapy
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Site, free_port

pytestmark = [needs_redis, pytest.mark.slow]


def crawled(url: str, **settings: Any) -> tuple[list[str], str, str]:
    """The items, the errors and the log of one worker."""
    with Site() as site:
        settings = {**SETTINGS, "REP_REDIS_URL": url, **settings}
        done = crawl(FLAT, settings=settings, roots=[site.url("/")], pages=2)
    return [item["url"] for item in done.items], done.error, done.log


@pytest.mark.parametrize(("scope", "count"), [("fleet", 1), ("process", 0)])
def test_another_scheduler_shares_no_pace(
    redis_server: RedisServer, scope: str, count: int
) -> None:
    settings = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "REP_STORE": "memory"}
    scraped, _, log = crawled(redis_server.url, **settings, REP_PACE_SCOPE=scope)
    assert len(scraped) == 2
    assert log.count("each keeps a Crawl-delay for itself") == count
    assert log.count('set SCHEDULER = "scrapy_rep.RepRedisScheduler"') == count


def give_rights(server: RedisServer, *rights: str) -> str:
    """Make a user with these rights; the URL of database 1 for that user."""
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "worker", "reset", "on", ">secret", *rights)
    return f"redis://worker:secret@127.0.0.1:{server.port}/1"


@pytest.mark.parametrize("missing", ["sadd", *at_length(["evalsha"])])
def test_a_user_without_a_right(missing: str) -> None:
    """The error names the command, and the rights that it names are enough."""
    with RedisServer() as server:
        error = crawled(give_rights(server, "~rep:*", "+@all", f"-{missing}"))[1]
        assert f"'{missing}' command" in error, error
        found = re.search(r"at least these rights: (.*?) \(ACL SETUSER\)", error)
        assert found is not None, error
        scraped, error, log = crawled(give_rights(server, *found[1].split()))
    assert (len(scraped), error) == (2, "")
    assert "refuses" not in log, log


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.parametrize(
    ("host", "options", "advice"),
    [
        ("localhost", "", "add ?ssl_ca_certs=/path/to/ca.pem to REP_REDIS_URL"),
        ("127.0.0.1", "?ssl_ca_certs={folder}/ca.pem", "a host in REP_REDIS_URL that its cert"),
        ("localhost", "?ssl_ca_certs={folder}/ca.pem", ""),
        ("plain", "", "it may expect TLS: use rediss:// for it"),
    ],
)
def test_wrong_certificate_is_explained(
    tmp_path: Path, host: str, options: str, advice: str
) -> None:
    certificate, key, port = tmp_path / "ca.pem", tmp_path / "key.pem", free_port()
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*words.split(), *names, *files], check=True, capture_output=True)
    tls = {
        "tls-port": str(port),
        "tls-cert-file": str(certificate),
        "tls-key-file": str(key),
        "tls-ca-cert-file": str(certificate),
        "tls-auth-clients": "no",
    }

    async def work() -> str:
        place = f"redis://localhost:{port}/0" if host == "plain" else f"rediss://{host}:{port}/0"
        link = Link(place + options.format(folder=tmp_path))
        link.open()
        try:
            assert await link.run(Script("return 1"), []) == 1
        except StoreError as error:
            return advice_on(error)
        finally:
            await link.close()
        return ""

    with RedisServer(**tls):
        found = in_a_loop(work)
    assert found.find(advice) >= 0, found
    assert bool(found) is bool(advice)


def test_a_queue_that_is_lost(site_of: SiteOf, begin: Begin) -> None:
    """The crawl does not end as finished, and says why; workers show their names."""
    site = site_of(page=Answer(body="page", delay_seconds=0.2))
    with (
        RedisServer(**{"maxmemory-policy": "allkeys-lru"}) as server,
        server.client() as client,
    ):
        settings = {"CONCURRENT_REQUESTS": 2}
        crew = begin(site, FLAT, 1, url=server.url, settings=settings, pages=60)
        until(site, 6)
        names = {row["name"] for row in client.client_list()}
        assert any(re.fullmatch(r"scrapy-rep:flat:[!-~]+:\d+", name) for name in names), names
        server.flush()
        crew.wait()
    assert len(set(crew.scraped)) < 60
    assert crew.reason() == "queue_lost"
    assert crew.stat("rep/fleet/emptied") == 1
    assert "is allkeys-lru: without free memory, it deletes keys" in crew.logs
    lost = crew.stat("rep/fleet/lost")
    assert len(set(crew.scraped)) + lost == 60
    words = rf"ERROR: Up to {lost} requests were lost in Redis, and not fetched"
    assert re.search(words, crew.logs)
    named = "from an older copy (its maxmemory-policy is allkeys-lru: set it to noeviction)"
    assert named in crew.logs


@pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
def test_lists_of_requests_that_an_operator_deletes(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer, loop: Any
) -> None:
    """Each lost request is counted, and the crawl does not end as finished."""
    site = site_of(page=Answer(body="page", delay_seconds=0.1))
    settings = {"CONCURRENT_REQUESTS": 2}
    crew = begin(site, FLAT, 2, settings=settings, pages=60, loop=loop)
    until(site, 6)
    with redis_server.client() as client:
        for key in client.scan_iter("rep:{*}:q*"):
            client.unlink(key)
    crew.wait()
    (lost,) = {crew.result(number)["stats"]["rep/fleet/lost"] for number in range(2)}
    assert len(set(crew.scraped)) + lost == 60
    assert [crew.reason(number) for number in range(2)] == ["queue_lost"] * 2
    assert f"ERROR: {lost} requests were lost in Redis" in crew.logs


class OlderFiles:
    """A server that starts again with an older AOF."""

    def __init__(self, stack: ExitStack) -> None:
        self._server = stack.enter_context(RedisServer(appendonly="yes"))
        self.url = self._server.url
        self.client: Any = stack.enter_context(self._server.client())

    def keep(self) -> None:
        self._copy = self._server.copy_files()

    def go_back(self) -> None:
        self._server.go_back_to(self._copy)


class LateReplica:
    """A replica without contact to its master becomes the master."""

    def __init__(self, stack: ExitStack) -> None:
        self._server = stack.enter_context(RedisServer())
        self.line = stack.enter_context(SlowLine(self._server.port))
        self.url = self.line.url
        self.client: Any = stack.enter_context(self._server.client())
        self._replica = stack.enter_context(RedisServer())
        self._order: Any = stack.enter_context(self._replica.client()).execute_command
        self._order("REPLICAOF", "127.0.0.1", self._server.port)

    def keep(self) -> None:
        assert self.client.wait(1, 10_000) == 1, "the replica knows all that was written until now"
        self._order("REPLICAOF", "127.0.0.1", free_port())

    def go_back(self) -> None:
        self._server.kill()
        self._order("REPLICAOF", "NO", "ONE")
        self.line.target = self._replica.port


@pytest.mark.parametrize("fault", [OlderFiles, *at_length([LateReplica])])
def test_redis_goes_back_to_an_older_copy(
    site_of: SiteOf, begin: Begin, fault: type[OlderFiles | LateReplica]
) -> None:
    """Requests that came after the copy are lost, except those that a worker has."""
    site = site_of(page=Answer(body="page", delay_seconds=0.5))
    with ExitStack() as stack:
        redis = fault(stack)
        settings = {"CONCURRENT_REQUESTS": 1}
        crew = begin(site, FLAT, 1, url=redis.url, settings=settings, pages=30)
        until(site, 4)
        redis.keep()
        crew.add(pages=50)
        while int(redis.client.hget("rep:{flat:requests}:t", "roots")) < 50:
            time.sleep(0.02)
        until(site, 10)
        redis.go_back()
        crew.wait()
    old = {site.url(f"/{number}", host="127.0.2.1") for number in range(30)}
    assert old == set(crew.scraped)
    for number in range(2):
        assert crew.reason(number) == "queue_lost"
        found = crew.result(number)["stats"]
        assert (found["rep/fleet/emptied"], found["rep/fleet/lost"]) == (1, 20)
        assert "rep/fleet/filter_lost" not in found, "what the copy does not know comes again"
        assert crew.log(number).count("restored from an older copy: the requests of this") == 1
        assert crew.log(number).count("ERROR: Up to 20 requests were lost in Redis") == 1


@pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
def test_a_filter_that_is_deleted(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer, loop: Any
) -> None:
    """All pages are fetched, some perhaps again; the log says so, and the crawl ends as lost."""
    site = site_of(page=Answer(body="page", delay_seconds=0.1))
    crew = begin(site, TREE, 2, settings={"CONCURRENT_REQUESTS": 2}, pages=40, loop=loop)
    until(site, 12)
    with redis_server.client() as client:
        count = client.scard("rep:{tree:requests}:df")
        client.unlink("rep:{tree:requests}:df")
    crew.wait()
    assert set(crew.scraped) == {site.url(f"/{n}", host="127.0.2.1") for n in range(40)}
    results = [crew.result(number) for number in range(2)]
    (lost,) = {result["stats"]["rep/fleet/filter_lost"] for result in results}
    assert count <= lost < 40
    assert [crew.reason(number) for number in range(2)] == ["queue_lost"] * 2
    words = f"ERROR: The filter in Redis lost {lost} fingerprints, so pages may be fetched again"
    assert [crew.log(number).count(words) for number in range(2)] == [1, 1]
    assert crew.logs.count("ERROR: ") == 2
    assert_nothing_left(redis_server)


def test_redis_that_loads_its_data() -> None:
    """A worker that starts waits for it, for longer than for a Redis that is not there."""
    options = {"key-load-delay": "4000", "loading-process-events-interval-bytes": "1024"}
    with RedisServer(**options) as server, server.client() as client:
        for number in range(3000):  # 12 s
            client.set(f"x{number}", 200 * "y")
        client.save()
        server.shut_down()
        with ThreadPoolExecutor(1) as thread:
            started = thread.submit(server.start)
            scraped, error, log = crawled(server.url)
            started.result()
    assert (len(scraped), error) == (2, "")
    assert log.count("This worker waits until Redis is ready: Redis at 127.0.0.1:") == 1
    assert "Redis is loading the dataset in memory" in log


@pytest.mark.parametrize(
    ("stale", "words"),
    [
        pytest.param("yes", "read only replica", marks=pytest.mark.at_length),
        ("no", "MasterDownError"),
    ],
)
def test_replica_that_becomes_the_master(
    site_of: SiteOf, begin: Begin, stale: str, words: str
) -> None:
    """A worker that starts during a fail-over waits for its end, and says so."""
    site = site_of()
    with RedisServer(**{"replica-serve-stale-data": stale}) as server, server.client() as client:
        client.execute_command("REPLICAOF", "127.0.0.1", free_port())
        crew = begin(site, FLAT, 1, url=server.url, pages=3)
        time.sleep(12)
        assert not crew.has_ended(0), crew.logs
        client.execute_command("REPLICAOF", "NO", "ONE")
        crew.wait()
    assert len(crew.scraped) == 3
    assert crew.reason() == "finished"
    (line,) = [one for one in crew.logs.splitlines() if "waits until Redis is ready" in one]
    assert words in line


_SPIDER = """
import scrapy
class NamedSpider(scrapy.Spider):
    name = "named"
    async def start(self):
        for number in range(40):
            yield scrapy.Request(f"{self.root}{number}", self.parse)
    def parse(self, response):
        pass
"""


@pytest.mark.parametrize(
    ("reason", "status", "loop"),
    [
        *(("finished", 0, "asyncio"), ("finished", 0, "none"), ("dead_letters", 3, "asyncio")),
        *(("queue_lost", 3, "none"), ("filter is lost", 3, "asyncio")),
    ],
)
def test_exit_status_tells_of_a_loss(
    tmp_path: Path, site_of: SiteOf, reason: str, status: int, loop: str
) -> None:
    """The status of a command of Scrapy that runs the spider."""
    (tmp_path / "named.py").write_text(_SPIDER)
    site = site_of(page=Answer(body="page", delay_seconds=0.1))
    with RedisServer() as server, server.client() as client:
        if reason == "dead_letters":
            client.rpush("rep:{named:requests}:dead", b"a letter")
        settings = {**SETTINGS, "ADDONS": json.dumps(SETTINGS["ADDONS"])}
        settings |= {"REP_REDIS_URL": server.url, "TWISTED_REACTOR_ENABLED": loop == "asyncio"}
        settings |= {"REP_STORE_PATH": ":memory:", "CONCURRENT_REQUESTS": 2}
        options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        options += ["-a", f"root={site.url('/')}"]
        running = Scrapy("runspider", tmp_path / "named.py", *options)
        if reason == "queue_lost":
            until(site, 6)
            server.flush()
        if reason == "filter is lost":  # and the crawl is stopped before its end
            until(site, 6)
            client.unlink("rep:{named:requests}:df", "rep:{named:requests}:starts")
            until(site, 12)
            running.process.send_signal(signal.SIGTERM)
            reason = "shutdown"
        done = running.end()
    assert f"'finish_reason': '{reason}'" in done.stderr.decode()
    assert done.returncode == status


_WAITING_SPIDER = """
from scrapy_redis.spiders import RedisSpider
class NamedSpider(RedisSpider):
    name = "named"
    def parse(self, response):
        pass
"""


def test_a_spider_that_waits_for_start_urls_tells_of_a_loss_once(
    tmp_path: Path, site_of: SiteOf
) -> None:
    """It waits on, and its exit status tells of the loss when it is stopped."""
    (tmp_path / "named.py").write_text(_WAITING_SPIDER)
    site = site_of(page=Answer(body="page", delay_seconds=0.1))
    with RedisServer() as server, server.client() as client:
        client.rpush("named:start_urls", *(site.url(f"/{number}") for number in range(40)))
        settings = {**SETTINGS, "ADDONS": json.dumps(SETTINGS["ADDONS"])}
        settings |= {"REP_REDIS_URL": server.url, "REP_STORE_PATH": ":memory:"}
        settings |= {"CONCURRENT_REQUESTS_PER_DOMAIN": 2, "LOG_FILE": tmp_path / "log"}
        options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        running = Scrapy("runspider", tmp_path / "named.py", *options)
        until(site, 6)
        assert client.llen("named:start_urls") == 0
        for key in client.scan_iter("rep:{*}:q*"):
            client.unlink(key)
        time.sleep(6)
        running.process.send_signal(signal.SIGTERM)
        done = running.end()
    log = (tmp_path / "log").read_text()
    assert log.count("were lost in Redis") == 1
    assert "'finish_reason': 'shutdown'" in log
    assert done.returncode == 3


def test_files_of_a_url_that_are_not_there(tmp_path: Path) -> None:
    """The error names the option and the file, at once."""
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        _, error, log = crawled(f"rediss://127.0.0.1:1/0?{name}={tmp_path}/nope.pem")
        words = f"REP_REDIS_URL: {name} names {tmp_path}/nope.pem, which is not there"
        assert words in error + log
