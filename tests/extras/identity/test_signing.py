"""Signed requests in real crawls, verified where they arrive."""

from __future__ import annotations

import gzip
import os
import signal
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature

from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.origin import DIRECTORY_PATH
from scrapy_rep.protocol.units import counted
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.extras import needs
from tests.extras.identity.signatures_seen import AGENT, Bot
from tests.faults.test_closing import assert_clean, log_of, started, wait_for
from tests.redis_server import RedisServer, needs_redis
from tests.servers.h2site import Http2Sites
from tests.servers.handle import Answer, Seen, Site, redirect

EVERY_WAY = "tests.extras.identity.signing_spider:EveryWaySpider"
RESUMED = "tests.faults.spiders:ResumedSpider"
RULES = Answer(body="User-agent: *\nDisallow: /private\n")
NONCE = "PlantedNonce"
WISH = f'sig1=("@authority" "@method" "@path" "@query");nonce="{NONCE}";tag="web-bot-auth"'
ODD = ("/a%7Eb", "/a/../b", "/%c3%a4?q=%20+", "/x;p=1?a=b&c", "//double", "/a|b", "/q?", "/'()*")


@pytest.fixture
def bot(tmp_path: Path) -> Bot:
    (tmp_path / "key").mkdir()
    return Bot(tmp_path / "key")


def wanting(wish: str = WISH, status: int = 403, **fields: str) -> Answer:
    names = [
        ("Accept-Signature", wish),
        *((name.replace("_", "-"), one) for name, one in fields.items()),
    ]
    return Answer(status=status, headers=names)


def assert_signed(bot: Bot, requests: Iterable[Seen]) -> None:
    """Each is verified, for its own authority, path and method only, and each has its own."""
    signatures = Counter[str]()
    for seen in requests:
        bot.verify(seen)
        for other in ({"host": "other.example"}, {"path": "/other"}):
            with pytest.raises(InvalidSignature):
                bot.verify(seen, **other)
        signatures[seen.headers["signature"]] += 1
    assert signatures


@pytest.mark.parametrize(("loop", "tls"), [*((loop, True) for loop in LOOPS), ("asyncio", False)])
def test_every_request_is_signed_for_its_own_url(
    loop: Loop, tls: bool, bot: Bot, tmp_path: Path
) -> None:
    with Site({"/robots.txt": RULES}, tls=tls) as other:
        away = redirect(other.url("/landing?x=1", host="localhost"), 302)
        routes: dict[str, Any] = {
            "/robots.txt": [redirect("/moved.txt"), RULES],
            "/moved.txt": RULES,
            "/away": away,
            "/broken": [Answer(status=500), Answer(body="well")],
        }
        with Site(routes, tls=tls) as site:
            settings = {
                **ADDON,
                **bot.settings,
                "REP_SIGN_HTTP": not tls,
                "ITEM_PIPELINES": {"tests.extras.identity.signing_spider.Files": 1},
                "FILES_STORE": str(tmp_path / "files"),
                "HTTPCACHE_ENABLED": True,
                "HTTPCACHE_DIR": str(tmp_path / "cache"),
                "HTTPCACHE_IGNORE_HTTP_CODES": [500],
                "DOWNLOADER_MIDDLEWARES": {
                    "tests.extras.identity.signing_spider.ChangesLate": 2000
                },
                "RETRY_TIMES": 1,
            }
            paths = ["/away", "/broken", "/before", *ODD]
            arguments: dict[str, Any] = {
                "urls": [site.url(path) for path in paths],
                "own": site.url("/own"),
                "files": [site.url("/file.pdf"), other.url("/file.pdf", host="localhost")],
            }
            result = crawl(EVERY_WAY, loop=loop, settings=settings, **arguments)
            again = crawl(EVERY_WAY, loop=loop, settings=settings, **arguments)
            seen, there = site.requests(), other.requests()
    assert result.exit_code == 0, result.error
    assert [item.get("status") for item in result.items] == [200] * len(paths), result.items
    assert all(item["signature_fields"] in ([], ["signature"]) for item in result.items)
    assert all(item["has_latency"] for item in result.items)
    assert {"/robots.txt", "/moved.txt", "/own", "/after", "/file.pdf"} <= {
        one.path for one in seen
    }
    assert {"/robots.txt", "/landing?x=1", "/file.pdf"} == {one.path for one in there}
    assert Counter(one.path for one in seen)["/broken"] == 2
    assert_signed(bot, [*seen, *there])
    assert result.stats["rep/signed"] + again.stats["rep/signed"] == len(seen) + len(there)
    assert "rep/signed_again" not in result.stats
    assert again.stats["httpcache/hit"] >= len(paths)
    assert_clean(result.log)


def test_other_handler_of_scrapy(bot: Bot) -> None:
    pytest.importorskip("httpx2", reason="needs httpx")
    handler = "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler"
    settings = {**ADDON, **bot.settings, "DOWNLOAD_HANDLERS": {"https": handler}}
    with Site({"/robots.txt": RULES}, tls=True) as site:
        crawl(URLS_SPIDER, settings=settings, urls=[site.url(path) for path in ODD])
        assert_signed(bot, site.requests())


def test_agent_may_be_the_url_of_the_keys(bot: Bot) -> None:
    bot.agent = bot.settings["REP_SIGN_AGENT"] = AGENT + DIRECTORY_PATH
    with Site({"/robots.txt": RULES}, tls=True) as site:
        crawl(URLS_SPIDER, settings={**ADDON, **bot.settings}, urls=[site.url("/1")])
        assert_signed(bot, site.requests())


def test_requests_over_http_2_are_signed(bot: Bot) -> None:
    handler = "scrapy.core.downloader.handlers.http2.H2DownloadHandler"
    settings = {**ADDON, **bot.settings, "DOWNLOAD_HANDLERS": {"https": handler}}
    with Http2Sites(["a file"]) as site:
        crawl(URLS_SPIDER, settings=settings, urls=[site.url("a file", path) for path in ODD])
        assert len(site.requests()) == 1 + sum(not path.startswith("/a") for path in ODD)
        assert_signed(bot, site.requests())


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "Requests by http are not signed"),
        (
            {"DOWNLOAD_HANDLERS": {"http": "tests.extras.identity.signing_spider.OtherHandler"}}
            | {"REP_SIGN_HTTP": True},
            "tests.extras.identity.signing_spider.OtherHandler may follow redirects itself",
        ),
        (
            {"DEFAULT_REQUEST_HEADERS": {"Host": "another.example"}, "REP_SIGN_HTTP": True},
            "with a Host header of their own are not signed",
        ),
    ],
)
def test_a_request_that_is_not_signed_is_named_once(
    settings: dict[str, Any], says: str, bot: Bot
) -> None:
    with Site({"/robots.txt": RULES}) as site:
        wanted = {**ADDON, **bot.settings, **settings}
        result = crawl(URLS_SPIDER, settings=wanted, urls=[site.url("/1"), site.url("/2")])
        assert not any("signature" in one.headers for one in site.requests())
        assert len(site.paths()) == 3
    assert result.log.count(says) == 1
    assert "rep/signed" not in result.stats


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"REP_SIGN_AGENT": ""}, "REP_SIGN_KEY and REP_SIGN_AGENT need each other"),
        ({"REP_SIGN_AGENT": f"{AGENT}/keys"}, "the URL of the keys there"),
        ({"REP_SIGN_KEY": "/nowhere/bot.pem"}, "no key can be read"),
        (
            {"DOWNLOADER": "tests.crawls.pace_spider.OtherDownloader"},
            "requests are signed at the download handlers",
        ),
        ({"MODE": "0640"}, "other users can read this key. Run: chmod 600"),
    ],
)
def test_a_wrong_setting_stops_the_crawl_before_any_request(
    settings: dict[str, Any], says: str, bot: Bot
) -> None:
    bot.pem.chmod(int(settings.get("MODE", "0600"), 8))
    with Site({"/robots.txt": RULES}, tls=True) as site:
        wanted = {**ADDON, **bot.settings, **settings}
        result = crawl(URLS_SPIDER, settings=wanted, urls=[site.url("/1")])
        assert site.paths() == []
    assert result.exit_code == 1
    assert says in result.error


def test_the_log_says_that_nothing_is_signed_if_robots_txt_is_not_obeyed(bot: Bot) -> None:
    with Site(tls=True) as site:
        settings = {**ADDON, **bot.settings, "ROBOTSTXT_OBEY": False}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/1")])
    assert "ROBOTSTXT_OBEY is off, so nothing is signed" in result.log


# Sites that want another signature


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_wish_is_fulfilled_once(loop: Loop, status: int, bot: Bot) -> None:
    """For robots.txt and for pages; the origin does not rest, and others do not wait."""
    routes: dict[str, Any] = {
        "/robots.txt": [wanting(status=status), RULES],
        "/1?q=1": [wanting(status=status), Answer(body="a page")],
    }
    with Site(routes, tls=True) as site:
        urls = [site.url(path) for path in ("/1?q=1", "/2", "/private/1")]
        result = crawl(URLS_SPIDER, loop=loop, settings={**ADDON, **bot.settings}, urls=urls)
        seen = site.requests()
    by_path = {
        path: [one for one in seen if one.path == path] for path in ("/robots.txt", "/1?q=1")
    }
    assert sorted(item.get("status", 0) for item in result.items) == [0, 200, 200]
    for one in (by_path[path][1] for path in by_path):
        covered = one.headers["signature-input"].partition(")")[0]
        assert '"@query"' in covered
        assert f'nonce="{NONCE}"' in one.headers["signature-input"]
    assert {path: len(found) for path, found in by_path.items()} == {"/robots.txt": 2, "/1?q=1": 2}
    assert_signed(bot, [one for one in seen if '"@query"' not in one.headers["signature-input"]])
    assert result.stats["rep/signed"] == 3
    assert result.stats["rep/signed_again"] == 2
    assert not {"rep/backoff/rests", "rep/challenged", "rep/signature_wanted"} & result.stats.keys()
    assert_clean(result.log)


def test_wishes_that_cannot_be_fulfilled(bot: Bot) -> None:
    """Each of a site of its own."""
    answers = (
        wanting('sig1=("x-field-that-no-request-has")'),
        wanting('sig1=("@status")'),
        wanting('sig1=("@authority");tag="other"'),
        wanting("sig1"),
        wanting("?"),
        wanting(status=429, Retry_After="1"),
        wanting(status=401),
    )
    with ExitStack() as stack:
        routes: list[dict[str, Any]] = [
            {"/robots.txt": RULES, "/1": [answer, Answer()]} for answer in answers
        ]
        sites = [stack.enter_context(Site(each, tls=True)) for each in routes]
        settings = {**ADDON, **bot.settings, "RETRY_ENABLED": False}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/1") for site in sites])
        assert all("/1" in site.paths() for site in sites)
    assert "rep/signed_again" not in result.stats


@pytest.mark.parametrize("loop", LOOPS)
def test_a_second_refusal_is_a_challenge(loop: Loop, bot: Bot) -> None:
    with Site({"/robots.txt": RULES, "/*": wanting()}, tls=True) as site:
        urls = [site.url(f"/{number}") for number in range(6)]
        wanted = {**ADDON, **bot.settings, "CONCURRENT_REQUESTS": 1}
        result = crawl(URLS_SPIDER, loop=loop, settings=wanted, urls=urls)
        sent = [path for path in site.paths() if path != "/robots.txt"]
    assert Counter(item["error"] for item in result.items) == {"Challenged": 6}
    assert len(sent) <= 8
    assert result.stats["rep/challenged"] == len(sent) / 2
    assert "want signed requests" not in result.log


@pytest.mark.parametrize("path", ["/robots.txt", "/*"])
def test_without_a_key_nothing_is_signed_and_the_summary_says_what_sites_want(path: str) -> None:
    with Site({"/robots.txt": RULES, path: wanting()}, tls=True) as site:
        result = crawl(URLS_SPIDER, settings=ADDON, urls=[site.url("/1"), site.url("/2")])
        assert not any("signature" in name for one in site.requests() for name in one.headers)
    answers = counted(result.stats["rep/signature_wanted"], "answer wants", "answers want")
    assert f"{answers} signed requests: see REP_SIGN_KEY" in result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_the_second_request_keeps_the_delay_of_its_origin(loop: Loop, bot: Bot) -> None:
    delayed = Answer(body="User-agent: *\nCrawl-delay: 1\n")
    routes: dict[str, Any] = {"/robots.txt": [wanting(), delayed], "/1": [wanting(), Answer()]}
    with Site(routes, tls=True) as site:
        urls = [site.url(path) for path in ("/1", "/2")]
        result = crawl(URLS_SPIDER, loop=loop, settings={**ADDON, **bot.settings}, urls=urls)
        at = [one.at for one in site.requests() if one.path != "/robots.txt"]
    assert [item["status"] for item in result.items] == [200, 200]
    assert len(at) == 3
    assert all(later - sooner > 0.99 for sooner, later in pairwise(at)), at


# What is kept


@pytest.mark.parametrize("loop", LOOPS)
def test_resumed_requests_have_new_signatures(loop: Loop, bot: Bot, tmp_path: Path) -> None:
    delayed = Answer(body="User-agent: *\nCrawl-delay: 0.3\n")
    settings = {**ADDON, **bot.settings, "JOBDIR": str(tmp_path / "job")}
    with Site({"/robots.txt": delayed}, tls=True) as site:
        urls = [site.url(f"/{number}") for number in range(6)]
        with started(tmp_path, loop, settings, urls) as process:
            while len(site.paths()) < 3:
                wait_for(site, "/robots.txt")
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        assert_clean(log_of(tmp_path))
        count = len(site.paths())
        assert count < 7
        result = crawl(RESUMED, loop=loop, settings=settings)
        assert result.exit_code == 0, result.error
        assert {one.path for one in site.requests()} == {
            "/robots.txt",
            *(f"/{n}" for n in range(6)),
        }
        assert_signed(bot, site.requests())


def secrets_of(bot: Bot, requests: Iterable[Seen]) -> set[bytes]:
    """What no file may have: each signature and its base64, the nonce and the key."""
    key = bot.pem.read_text().splitlines()[1]
    signatures = {one.headers["signature"][6:-1] for one in requests}
    return {one.encode() for one in {key, NONCE, *signatures}}


def written_in(root: Path) -> Iterable[tuple[str, bytes]]:
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.suffix != ".pem":
            octets = path.read_bytes()
            yield str(path), octets
            with suppress(OSError, EOFError):
                yield str(path), gzip.decompress(octets)


@needs_redis
@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_no_secret_is_in_any_file(
    store: str, bot: Bot, tmp_path: Path, redis_server: RedisServer
) -> None:
    pytest.importorskip("warcio", reason="needs warcio")
    routes: dict[str, Any] = {
        "/robots.txt": [wanting(), RULES],
        "/1": [wanting(), Answer(body="one")],
        "/refused": wanting(),
        "/broken": [Answer(status=500), Answer()],
    }
    root = tmp_path / "written"
    root.mkdir()
    settings = {
        **ADDON,
        **bot.settings,
        "REP_STORE": store,
        "REP_REDIS_URL": redis_server.url,
        "REP_PACE_SCOPE": "process",
        "REP_STORE_PATH": str(root / "store.sqlite"),
        "REP_AUDIT_DIR": str(root / "audit"),
        "REP_WARC_DIR": str(root / "warc"),
        "JOBDIR": str(root / "job"),
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(root / "cache"),
        "LOG_FILE": str(root / "log"),
    }
    with Site(routes, tls=True) as site:
        urls = [site.url(path) for path in ("/1", "/broken", "/2", "/refused")]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        secrets = secrets_of(bot, site.requests())
    (root / "output").write_text(result.log)
    with redis_server.client() as client:
        kept = {str(key): client.dump(key) or b"" for key in client.keys("*")}
    found = [*written_in(root), *kept.items()]
    assert len(secrets) > 7
    places = {place for place, octets in found for one in secrets if one in octets}
    assert places == set()
    shown = {
        place.split("/written/")[-1].split("/")[0]
        for place, octets in found
        if bot.keyid.encode() in octets and "/written/" in place
    }
    assert {"audit", "warc"} <= shown, "the fact that it was signed, with the keyid"
    assert any(AGENT.encode() in octets for place, octets in found if "/audit/" in place)
    assert not any(os.fsencode(bot.pem) in octets for _, octets in written_in(root / "audit"))


@needs_redis
@needs("fleet")
@pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
def test_the_workers_of_a_fleet_sign(loop: Loop, bot: Bot, redis_server: RedisServer) -> None:
    from tests.extras.fleet.crews import Crew

    with Site({"/robots.txt": RULES}, address="0.0.0.0", tls=True) as site:
        roots = [site.url("/", host=f"127.0.2.{number}") for number in (1, 2, 3)]
        spider = "tests.extras.fleet.spiders:TreeSpider"
        with Crew(
            redis_server.url, spider, 2, loop=loop, settings=bot.settings, roots=roots, pages=8
        ) as crew:
            crew.wait()
            assert crew.errors == ""
        seen = site.requests()
        with redis_server.client() as client:
            kept = b"".join(client.dump(key) or b"" for key in client.keys("*"))
    assert len(seen) >= 3 * 9
    assert_signed(bot, seen)
    assert not any(one in kept for one in secrets_of(bot, seen))


# Stores: the crawls of one machine share a file, and those of several machines a Redis

VARIES = Answer(body=RULES.body, headers=[("Vary", "Accept-Encoding, Signature-Agent")])
OTHERWISE = Answer(body=RULES.body, headers=[("Vary", "Accept-Encoding")])
CHALLENGE = Answer(status=403, headers=[("cf-mitigated", "challenge")])
UNSIGNED, SIGNED, OTHER_KEY = "unsigned", "signed", "another key"
SHARED: dict[tuple[str, str], list[tuple[list[Answer], int]]] = {
    # the first and the next crawl: the answers of each site, and its entries after that
    (UNSIGNED, SIGNED): [([RULES], 1), ([VARIES], 2), ([CHALLENGE, RULES], 2)],
    (SIGNED, UNSIGNED): [
        *(([RULES], 1), ([OTHERWISE], 1), ([VARIES], 2)),
        *(([wanting(), RULES], 2), ([CHALLENGE, RULES], 2)),
    ],
    (SIGNED, OTHER_KEY): [([RULES], 1), ([VARIES], 2)],
    (UNSIGNED, UNSIGNED): [([VARIES], 1)],
    (SIGNED, SIGNED): [([VARIES], 1), ([wanting(), RULES], 1)],
}


@needs_redis
@pytest.mark.parametrize("store", ["sqlite", "redis"])
@pytest.mark.parametrize("crawlers", SHARED)
def test_a_site_that_tells_signed_requests_apart_has_two_entries(
    crawlers: tuple[str, str], store: str, bot: Bot, tmp_path: Path, redis_server: RedisServer
) -> None:
    (tmp_path / "other").mkdir()
    other = Bot(tmp_path / "other")
    by: dict[str, Any] = {UNSIGNED: {}, SIGNED: bot.settings, OTHER_KEY: other.settings}
    redis = {"REP_REDIS_URL": redis_server.url, "REP_PACE_SCOPE": "process"}
    with ExitStack() as stack:
        sites = [
            stack.enter_context(Site({"/robots.txt": answers}, tls=True))
            for answers, _ in SHARED[crawlers]
        ]
        for machine, name in enumerate(crawlers):
            file = tmp_path / f"store{machine * (store == 'redis')}.sqlite"
            settings = {**ADDON, **by[name], "REP_STORE": store, "REP_STORE_PATH": str(file)}
            settings |= redis if store == "redis" else {}
            crawl(URLS_SPIDER, settings=settings, urls=[site.url("/private/1") for site in sites])
        sent = [site.paths() for site in sites]
    for paths, (answers, entries) in zip(sent, SHARED[crawlers], strict=True):
        is_wished = answers[0].status == 403 and CHALLENGE not in answers
        assert paths == ["/robots.txt"] * (entries + is_wished)
    if store == "redis":
        with redis_server.client() as client:
            keys = client.keys("rep:*:p2:*")
    else:
        with closing(SqliteStore(file, 1 << 30)) as kept:
            keys = kept.keys()
    assert len(keys) == sum(entries for _, entries in SHARED[crawlers])
