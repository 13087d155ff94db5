"""A fleet that is set up wrongly: the log, or the error, names the cause and the fix."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.base import StoreError
from scrapy_rep.cache.link import Link, Script, advice_on
from tests.fleet.crews import Crew
from tests.fleet.test_crawls import FLAT
from tests.fleet.test_failures import until
from tests.played import in_a_loop
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site, free_port

pytestmark = [needs_redis, pytest.mark.slow]
SCRAPYS = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "REP_STORE": "memory"}


@pytest.mark.parametrize(
    ("settings", "count"),
    [(SCRAPYS, 1), ({**SCRAPYS, "REP_PACE_SCOPE": "process"}, 0), ({}, 0)],
)
def test_another_scheduler_shares_no_pace(
    redis_server: RedisServer, settings: dict[str, str], count: int
) -> None:
    with (
        Site({}) as site,
        Crew(redis_server.url, FLAT, 1, settings=settings, roots=[site.url("/")], pages=2) as crew,
    ):
        crew.wait()
        assert len(crew.scraped) == 2
        log = crew.log(0)
    assert log.count("each keeps the pace and the rests of sites for itself") == count
    assert log.count('set SCHEDULER = "scrapy_rep.RepRedisScheduler"') == count


def crawled(url: str, **settings: Any) -> tuple[list[str], str, str]:
    """The items, the errors and the log of one worker."""
    with (
        Site({}) as site,
        Crew(url, FLAT, 1, settings=settings, roots=[site.url("/")], pages=2) as crew,
    ):
        crew.wait()
        return crew.scraped, crew.errors, crew.log(0)


def give_rights(server: RedisServer, *rights: str) -> str:
    """Make a user with these rights; the URL of database 1 for that user."""
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "worker", "reset", "on", ">secret", *rights)
    return f"redis://worker:secret@127.0.0.1:{server.port}/1"


@pytest.mark.parametrize("missing", ["time", "evalsha", "hget", "sadd"])
def test_a_user_without_a_right(missing: str) -> None:
    """The error names the command, and the rights that it names are enough, and least."""
    with RedisServer() as server:
        url = give_rights(server, "~rep:*", "+@all", f"-{missing}")
        _, error, log = crawled(url)
        assert f"'{missing}' command" in error, error
        found = re.search(r"at least these rights: (.*?) \(ACL SETUSER\)", error)
        assert found is not None, error
        rights = found[1].split()
        scraped, error, log = crawled(give_rights(server, *rights))
        assert (len(scraped), error) == (2, "")
        assert "refuses" not in log, log


@pytest.mark.parametrize("left_out", range(1, 7))
def test_workers_need_only_these_rights(left_out: int) -> None:
    """Without any of them, the crawl does not start; +ping is for the end of an outage."""
    rights = ["~rep:*", "+@read", "+@write", "+evalsha", "+script|load", "+select", "+time"]
    with RedisServer() as server:
        assert crawled(give_rights(server, *rights))[1] == ""
        with server.client() as client:
            client.flushall()
        server.forget_scripts()
        error = crawled(give_rights(server, *rights[:left_out], *rights[left_out + 1 :]))[1]
        assert "ConfigurationError" in error


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.parametrize(
    ("host", "options", "advice"),
    [
        ("localhost", "", "add ?ssl_ca_certs=/path/to/ca.pem to REP_REDIS_URL"),
        ("127.0.0.1", "?ssl_ca_certs={folder}/ca.pem", "a host in REP_REDIS_URL that its cert"),
        ("localhost", "?ssl_ca_certs={folder}/ca.pem", ""),
    ],
)
def test_a_certificate(tmp_path: Path, host: str, options: str, advice: str) -> None:
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
        link = Link(f"rediss://{host}:{port}/0{options.format(folder=tmp_path)}")
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


@pytest.mark.parametrize(
    ("policy", "count"), [("allkeys-lru", 1), ("volatile-lru", 0), ("noeviction", 0)]
)
def test_a_policy_that_deletes_keys(policy: str, count: int) -> None:
    with RedisServer(**{"maxmemory-policy": policy}) as server:
        scraped, _, log = crawled(server.url)
        assert len(scraped) == 2
        assert log.count(f"is {policy}: without free memory, it deletes keys") == count
        assert log.count("Set it to noeviction") == count
        if count:  # without the right to read it, nothing is logged
            log = crawled(give_rights(server, "~rep:*", "+@all", "-info"))[2]
            assert "noeviction" not in log


@pytest.mark.parametrize("policy", ["allkeys-lru", "noeviction"])
def test_a_queue_that_is_lost(policy: str) -> None:
    """The crawl does not end as finished, and says why; workers show their names."""
    routes = {"/*": Answer(body="page", delay_seconds=0.2)}
    settings = {"CONCURRENT_REQUESTS": 2}
    with (
        RedisServer(**{"maxmemory-policy": policy}) as server,
        Site(routes) as site,
        Crew(server.url, FLAT, 1, settings=settings, roots=[site.url("/")], pages=60) as crew,
        server.client() as client,
    ):
        until(site, 6)
        names = {row["name"] for row in client.client_list()}
        assert any(re.fullmatch(r"scrapy-rep:flat:[!-~]+:\d+", name) for name in names), names
        server.flush()
        crew.wait()
        assert crew.errors == ""
        assert len(set(crew.scraped)) < 60
        assert crew.result(0)["finish_reason"] == "queue_lost"
        log = crew.log(0)
    assert "requests that only Redis knew are lost" in log
    named = "from an older copy (its maxmemory-policy is allkeys-lru: set it to noeviction)"
    assert (named in log) is (policy == "allkeys-lru")
