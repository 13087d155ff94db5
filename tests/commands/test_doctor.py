"""``scrapy rep doctor``, in real projects, with a real site on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import LOOPS
from tests.extras import skip_refused
from tests.processes import REPOSITORY, Scrapy, without_proxies
from tests.servers.handle import Answer, Site, free_port

RULES = "User-agent: *\nDisallow: /private\n"
_SETTINGS = """
SPIDER_MODULES = ["shop.spiders"]
ADDONS = {"scrapy_rep.Addon": 500}
ROBOTSTXT_OBEY = True
USER_AGENT = "ShopBot/1.0 (+http://shop.example/)"
REP_FETCH_TIMEOUT_SECONDS = 2
"""
_SPIDER = """
import scrapy
class Shop(scrapy.Spider):
    name = "shop"
    start_urls = [{url!r}]
    {body}
"""
_HEAD = """
from scrapy import Request
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
"""

_SAME_OCTETS = """process_response(self, request, response):
    return HtmlResponse(response.url, body=response.body)
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site({"/robots.txt": Answer(body=RULES)}) as site:
        yield site
        assert set(site.paths()) <= {"/robots.txt"}  # no page


class Project:
    """A project in a folder, with a spider that begins at a URL."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        package = folder / "shop"
        package.mkdir()
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
        (package / "__init__.py").write_text("")
        (package / "settings.py").write_text(_SETTINGS)
        self.spider("")

    def spider(self, body: str, url: str | None = None) -> None:
        text = _SPIDER.format(url=self._url if url is None else url, body=body)
        (self._folder / "shop" / "spiders.py").write_text(text)

    def middleware(self, code: str, order: int = 500) -> None:
        """Add a class `Mine` with this body."""
        lines = "".join(f"    {line}\n" for line in code.strip().splitlines())
        (self._folder / "shop" / "mine.py").write_text(f"{_HEAD}class Mine:\n{lines}")
        self.set(DOWNLOADER_MIDDLEWARES={"shop.mine.Mine": order})

    def set(self, **settings: Any) -> None:
        skip_refused(settings)
        with (self._folder / "shop" / "settings.py").open("a") as file:
            file.writelines(f"{name} = {value!r}\n" for name, value in settings.items())

    def doctor(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return Scrapy("rep", "doctor", *arguments, folder=self._folder).end()

    def findings(self, *arguments: str, status: int = 0) -> list[dict[str, str]]:
        """The findings, but for those that say that something is in order."""
        done = self.doctor("shop", *arguments, "--json")
        assert (done.returncode, done.stderr) == (status, b""), (done.stdout, done.stderr)
        (line,) = done.stdout.splitlines()
        return [one for one in json.loads(line)["findings"] if one["severity"] != "ok"]

    def errors(self, *arguments: str) -> list[dict[str, str]]:
        """The errors, which there must be."""
        found = self.findings(*arguments, status=1)
        return [one for one in found if one["severity"] == "error"]


@pytest.fixture
def project(tmp_path: Path, site: Site) -> Project:
    return Project(tmp_path, site.url("/start"))


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> list[str]:
    """The options of an event loop."""
    return LOOPS[request.param]


class TestHealthy:
    def test_project_of_scrapy(self, tmp_path: Path) -> None:
        """A new project has no warning, and gets one request."""
        with Site({"/robots.txt": Answer(body=RULES)}) as site:
            run = [sys.executable, "-m", "scrapy"]
            for command in (["startproject", "fresh"], ["startproject", "bare"]):
                environment = {**without_proxies(), "PYTHONPATH": str(REPOSITORY)}
                subprocess.run(
                    [*run, *command], cwd=tmp_path, env=environment, check=True, capture_output=True
                )
            with (tmp_path / "fresh" / "fresh" / "settings.py").open("a") as file:
                file.write('ADDONS = {"scrapy_rep.Addon": 500}\n')
            done = Scrapy("rep", "doctor", site.url("/a"), folder=tmp_path / "fresh").end()
            assert (done.returncode, done.stderr) == (0, b""), done.stdout
            assert b"warning" not in done.stdout
            assert b" is allowed for Scrapy" in done.stdout
            assert site.paths() == ["/robots.txt"]
            done = Scrapy("rep", "doctor", site.url("/a"), folder=tmp_path / "bare").end()
        assert done.returncode == 1
        assert b'fix: ADDONS = {"scrapy_rep.Addon": 500}' in done.stdout

    def test_doctor_takes_urls_settings_and_arguments_of_a_spider(
        self, project: Project, loop: list[str]
    ) -> None:
        """Its start URL, settings and arguments count; its idle handler sends nothing."""
        project.spider(
            "custom_settings = {'USER_AGENT': 'OwnBot/2 (+http://own.example/)'}\n"
            "    def __init__(self, city):\n"
            "        self.start_urls = [city]\n"
            "    @classmethod\n"
            "    def from_crawler(cls, crawler, **given):\n"
            "        spider = super().from_crawler(crawler, **given)\n"
            "        crawler.signals.connect(spider.idle, signal=scrapy.signals.spider_idle)\n"
            "        return spider\n"
            "    def idle(self):\n"
            "        self.crawler.engine.crawl(scrapy.Request(self.url))\n"
            "        raise scrapy.exceptions.DontCloseSpider\n"
        )
        done = project.doctor("shop", "-a", "city=x", *loop)
        assert (done.returncode, done.stderr) == (0, b""), done.stdout
        assert b"obeys the rules for OwnBot" in done.stdout
        assert b"/start is allowed for OwnBot" in done.stdout

    def test_disallowed_start_url_is_an_error(self, project: Project, site: Site) -> None:
        (found,) = project.errors(site.url("/private/x"))
        assert "disallowed for ShopBot: line 2, Disallow: /private" in found["text"]
        assert "REP_OVERRIDES" in found["fix"]


class TestMiddlewares:
    def test_middleware_that_rewrites_the_url_is_named(
        self, project: Project, loop: list[str]
    ) -> None:
        """It is named; that this service is down is another finding."""
        project.middleware(
            "def process_request(self, request, spider=None):\n"
            "    if 'render' not in request.url:\n"
            "        return request.replace(url='http://127.0.0.1:9/render?url=' + request.url)\n"
        )
        found, error = project.findings(*loop, status=1)
        assert (found["severity"], error["topic"]) == ("warning", "verdict")
        assert "shop.mine.Mine.process_request rewrites the request for robots.txt" in found["text"]
        assert "(shop/mine.py:7)" in found["text"]
        assert "becomes http://127.0.0.1:9/render?url=" in found["text"]
        assert "if 'rep_fetch' is in request.meta" in found["fix"]

    def test_middleware_that_raises_is_named_with_its_line(
        self, project: Project, loop: list[str]
    ) -> None:
        project.middleware(
            "def process_request(self, request, spider=None):\n"
            "    request.headers['X'] = request.meta['account']\n"
        )
        first, last = project.errors(*loop)
        assert "Mine.process_request breaks" in first["text"]
        assert "raises KeyError: 'account' (shop/mine.py:8)" in first["text"]
        assert "REP_FETCH_META = {'account': ...}" in first["fix"]
        assert "disallowed for ShopBot" in last["text"]
        project.set(REP_FETCH_META={"account": "a"})
        assert [one["severity"] for one in project.findings()] == ["note"]

    def test_error_in_the_answer(self, project: Project, loop: list[str]) -> None:
        """Also in a coroutine."""
        project.middleware(
            "async def process_response(self, request, response):\n"
            "    return self.helped(response)\n"
            "def helped(self, response):\n"
            "    return response.css('title')[0]\n"
        )
        found = project.errors(*loop)[0]
        assert "Mine.process_response breaks" in found["text"]
        assert "(shop/mine.py:10)" in found["text"]
        assert "return the response at once" in found["fix"]

    def test_middleware_that_drops_the_request_is_named(self, project: Project) -> None:
        project.middleware(
            "def process_request(self, request, spider):\n    raise IgnoreRequest('no product')\n"
        )
        found = project.errors()[0]
        assert "Mine.process_request drops the request" in found["text"]
        assert "IgnoreRequest: no product (shop/mine.py:8)" in found["text"]

    def test_middleware_that_returns_a_wrong_value_is_named(
        self, project: Project, loop: list[str]
    ) -> None:
        project.middleware("def process_request(self, request, spider=None):\n    return True\n")
        found = project.errors(*loop)[0]
        assert "returns bool instead of None, a Response or a Request" in found["text"]

    def test_response_that_is_not_returned(self, project: Project) -> None:
        project.middleware("def process_response(self, request, response):\n    pass\n")
        found = project.errors()[0]
        assert "returns NoneType instead of a Response or a Request" in found["text"]

    def test_page_source_of_a_browser_is_recognised(self, project: Project) -> None:
        """A browser's page answers, before robots.txt is obeyed and after."""
        code = (
            "def process_request(self, request, spider=None):\n"
            "    body = b'<html><head></head><body><pre>User-agent: *\\nDisallow: /x</pre>'\n"
            "    return HtmlResponse(request.url, body=body, request=request)\n"
        )
        project.middleware(code)
        (first,) = project.findings()
        assert first["severity"] == "warning"
        assert "answers the request for robots.txt itself (shop/mine.py:7)" in first["text"]
        assert "the page source of a browser, with the file in a pre element" in first["text"]
        project.middleware(code, order=50)
        text = project.errors()[0]["text"]
        assert "(order 50) comes before RepMiddleware (order 100)" in text

    def test_middleware_that_replaces_the_answer_is_named(self, project: Project) -> None:
        project.middleware(
            "def process_response(self, request, response):\n"
            "    return HtmlResponse(response.url, body=b'<html><pre>' + response.body)\n"
        )
        (found,) = project.findings()
        assert found["severity"] == "warning"
        assert "replaces the answer to the request for robots.txt" in found["text"]
        assert "octets and a HtmlResponse: the page source of a browser" in found["text"]

    @pytest.mark.parametrize(
        ("code", "severity", "words"),
        [
            (
                "process_request(self, request):\n    return Response(request.url)",
                "warning",
                "answers the request for robots.txt itself (shop/mine.py:7), with 200, 0 octets",
            ),
            (
                "process_response(self, request, response):\n    return response.replace(body=b'')",
                "warning",
                "replaces the answer to the request for robots.txt (shop/mine.py:7), with 200",
            ),
            (
                _SAME_OCTETS,
                "note",
                "with the same octets in a HtmlResponse",
            ),
        ],
    )
    def test_answers_that_a_middleware_makes_are_told(
        self, project: Project, code: str, severity: str, words: str
    ) -> None:
        project.middleware(f"def {code}")
        (found,) = project.findings()
        assert found["severity"] == severity
        assert words in found["text"]

    def test_middleware_that_repeats_the_request_is_named(self, project: Project) -> None:
        project.middleware(
            "def process_response(self, request, response):\n"
            "    if request.meta.get('again'): return response\n"
            "    return request.replace(meta={**request.meta, 'again': 1})\n"
        )
        first = project.findings()[0]
        assert first["severity"] == "warning"
        assert "requests robots.txt again" in first["text"]

    def test_failure_that_is_answered(self, tmp_path: Path) -> None:
        project = Project(tmp_path, f"http://127.0.0.1:{free_port()}/")
        project.middleware(
            "def process_exception(self, request, exception):\n"
            "    return Response(request.url, status=200)\n"
        )
        found = project.errors()[0]
        assert "answers for a robots.txt that could not be fetched" in found["text"]

    def test_middleware_that_waits_forever_is_named(
        self, project: Project, loop: list[str]
    ) -> None:
        project.middleware(
            "async def process_request(self, request):\n"
            "    from scrapy_rep.engine.loops import sleep\n"
            "    await sleep(1000)\n"
        )
        found = project.errors(*loop, "-s", "REP_UNREACHABLE_WAIT_SECONDS=1")[0]
        assert "Mine.process_request does not return in time" in found["text"]

    @pytest.mark.slow
    def test_middleware_that_blocks_the_loop_is_named(self, project: Project) -> None:
        project.middleware(
            "def process_request(self, request, spider=None):\n    __import__('time').sleep(1000)\n"
        )
        found = project.errors("-s", "REP_UNREACHABLE_WAIT_SECONDS=1")
        assert "Mine.process_request does not return in time" in found[0]["text"]

    def test_middleware_that_clears_meta_is_named(self, project: Project) -> None:
        project.middleware("def process_request(self, request):\n    request.meta.clear()\n")
        found = project.errors()[0]
        assert "takes dont_cache, " in found["text"]


class TestName:
    def test_rotated_user_agent(self, project: Project, loop: list[str]) -> None:
        project.set(ROBOTSTXT_USER_AGENT="FooBot")
        project.middleware(
            "def process_request(self, request, spider=None):\n"
            "    request.headers['User-Agent'] = 'Mozilla/5.0 (X11) Firefox/140.0'\n"
        )
        note, warning = project.findings(*loop)
        assert "changes the request for robots.txt (shop/mine.py:7): User-Agent" in note["text"]
        assert warning["severity"] == "warning"
        assert (
            "(set by shop.mine.Mine.process_request) obeys the rules for FooBot, which"
            in warning["text"]
        )

    @pytest.mark.parametrize(
        ("settings", "severity", "words"),
        [
            ({"ROBOTSTXT_USER_AGENT": "*"}, "note", "ROBOTSTXT_USER_AGENT says that only"),
            ({"USER_AGENT": "Mozilla/5.0"}, "warning", "names no crawler"),
            ({"ROBOTSTXT_USER_AGENT": "FooBot"}, "warning", "pages are fetched with 'ShopBot/1.0"),
        ],
    )
    def test_odd_name_of_the_crawler_is_found(
        self, project: Project, settings: dict[str, str], severity: str, words: str
    ) -> None:
        project.set(**settings)
        (found,) = project.findings()
        assert (found["severity"], found["topic"]) == (severity, "name")
        assert words in found["text"]


class TestProxy:
    def test_dead_proxy_is_named_without_its_password(
        self, project: Project, loop: list[str]
    ) -> None:
        port = free_port()
        project.middleware(
            "def process_request(self, request, spider=None):\n"
            f"    request.meta['proxy'] = 'http://user:secret@127.0.0.1:{port}'\n"
        )
        done = project.doctor("shop", *loop)
        assert done.returncode == 1
        text = done.stdout.decode()
        assert f"proxy: 127.0.0.1:{port} (set by shop.mine.Mine.process_request) cannot be" in text
        assert "secret" not in text + done.stderr.decode()

    def test_proxy_that_refuses(self, project: Project) -> None:
        with Site({}, default=Answer(status=407)) as proxy:
            project.set(REP_FETCH_META={"proxy": f"http://user:secret@127.0.0.1:{proxy.port}"})
            found = project.errors()[0]
        assert "(set by REP_FETCH_META) refuses the request" in found["text"]


class TestSettings:
    def test_subclass_of_the_old_middleware_gets_replacing_settings(
        self, project: Project, tmp_path: Path
    ) -> None:
        """Each kind that it is gets the setting that replaces it."""
        (tmp_path / "shop" / "polite.py").write_text(
            f"{_HEAD}class Polite(RobotsTxtMiddleware):\n"
            "    def _robots_error(self, exc, netloc):\n"
            "        self._stats.inc_value('mine/errors')\n"
            "    async def process_request(self, request, spider=None):\n"
            "        rp = await self.robot_parser(request)\n"
            "        request.meta['download_slot'] = str(rp.crawl_delay('x'))\n"
        )
        project.set(DOWNLOADER_MIDDLEWARES={"shop.polite.Polite": 100})
        (found,) = project.errors()
        assert "shop.polite.Polite, a subclass of RobotsTxtMiddleware, is enabled" in found["text"]
        assert found["fix"].startswith('DOWNLOADER_MIDDLEWARES = {"shop.polite.Polite": None}; for')
        names = ("REP_OVERRIDES", "REP_POLICY", "REP_FETCH_META_KEYS", "rep/...", "Crawl-delay")
        assert [one for one in names if one not in found["fix"]] == []
        assert "REP_STORE" not in found["fix"]

    def test_obey_is_off(self, project: Project) -> None:
        project.spider("custom_settings = {'ROBOTSTXT_OBEY': False}")
        (found,) = project.errors()
        assert found["text"] == "ROBOTSTXT_OBEY is off, so no robots.txt is obeyed"

    def test_both_middlewares_at_once_are_an_error(self, project: Project) -> None:
        project.set(ADDONS={}, DOWNLOADER_MIDDLEWARES={"scrapy_rep.RepMiddleware": 100})
        (found,) = project.errors()
        assert "RobotsTxtMiddleware is enabled next to RepMiddleware" in found["text"]

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"REP_POLICY": "foo"}, "REP_POLICY = 'foo': must be one of"),
            ({"CONCURRENT_REQUESTS_PER_IP": 1}, "paces hosts, not addresses"),
            ({"ROBOTSTXT_PARSER": "shop.None"}, "ROBOTSTXT_PARSER = 'shop.None' cannot be used"),
            ({"DOWNLOADER_MIDDLEWARES": {"scrapy_rep.RepMiddleware": None}}, "disables RepMiddle"),
        ],
    )
    def test_crawl_that_does_not_start(
        self, project: Project, settings: dict[str, Any], words: str
    ) -> None:
        project.set(**settings)
        text = project.errors()[-1]["text"]
        assert text.startswith("a crawl does not start: ")
        assert words in text

    @pytest.mark.parametrize(
        ("settings", "severity", "words"),
        [
            ({"ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"}, "note", "name no line"),
            ({"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}, "note", "waiting"),
            ({"REP_POLICY": "lenient"}, "note", "allows all"),
            ({"REP_DRY_RUN": True}, "warning", "disallowed pages are fetched"),
            ({"HTTPERROR_ALLOWED_CODES": [404, 429]}, "note", "want 429, but"),
            ({"CLOSESPIDER_PAGECOUNT": 10}, "note", "counts the answers"),
            ({"REP_REDIS_URL": "redis://127.0.0.1:9/0"}, "note", "each keeps the pace for itself"),
            ({"HTTPCACHE_ENABLED": True, "HTTPCACHE_IGNORE_MISSING": True}, "note", "IGNORE_MISS"),
            ({"REP_OVERRIDES": {"127.0.0.1": "ignore"}}, "note", "REP_OVERRIDES decides, and"),
        ],
    )
    def test_doctor_explains_doubtful_settings(
        self, project: Project, settings: dict[str, Any], severity: str, words: str
    ) -> None:
        project.set(**settings)
        (found,) = project.findings()
        assert found["severity"] == severity
        assert words in found["text"]

    def test_missing_download_handler_is_an_error(self, project: Project) -> None:
        project.set(DOWNLOAD_HANDLERS={"http": None, "https": None})
        assert project.errors()[0]["text"] == "there is no download handler for http"

    def test_unchecked_requests_of_a_browser_are_found(
        self, project: Project, tmp_path: Path
    ) -> None:
        """Its own requests are only checked by the hook."""
        base = "scrapy.core.downloader.handlers.http11"
        (tmp_path / "shop" / "handlers.py").write_text(
            f"from {base} import HTTP11DownloadHandler\n"
            "class PlaywrightHandler(HTTP11DownloadHandler):\n    pass\n"
        )
        project.set(DOWNLOAD_HANDLERS={"http": "shop.handlers.PlaywrightHandler"})
        (found,) = project.findings()
        assert "the requests of the browser's pages are not checked" in found["text"]

    def test_downloader_that_hides_its_middlewares_is_found(
        self, project: Project, tmp_path: Path
    ) -> None:
        (tmp_path / "shop" / "hiding.py").write_text(
            "from scrapy.core.downloader import Downloader\n"
            "class Hiding:\n"
            "    def __init__(self, crawler):\n"
            "        self._real = Downloader(crawler)\n"
            "        self.active = self._real.active\n"
            "        self.fetch = self._real.fetch\n"
            "        self.needs_backout = self._real.needs_backout\n"
            "        self.close = self._real.close\n"
        )
        project.set(DOWNLOADER="shop.hiding.Hiding")
        (found,) = project.findings()
        assert "hides its middlewares, so they are not watched here" in found["text"]

    def test_other_scheduler_does_not_run(self, project: Project, tmp_path: Path) -> None:
        """It may hold the requests of a real crawl."""
        (tmp_path / "shop" / "queue.py").write_text("class Queue:\n    pass\n")
        project.set(SCHEDULER="shop.queue.Queue")
        (found,) = project.findings()
        assert "shop.queue.Queue with " in found["text"]


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "give a spider with start URLs, or a URL: scrapy rep doctor SPIDER https"),
            (["none"], "this project has no spider 'none', but: shop"),
            (["shop", "x.example"], "give https://x.example"),
        ],
    )
    def test_wrong_usage_of_doctor_is_explained(
        self, project: Project, arguments: list[str], words: str
    ) -> None:
        done = project.doctor(*arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert words in done.stderr.decode()

    def test_doctor_wants_a_url_for_a_spider_without_one(self, project: Project) -> None:
        project.spider("start_urls = []")
        assert b"or a URL: scrapy rep doctor shop https" in project.doctor("shop").stderr

    def test_outside_of_a_project(self, tmp_path: Path) -> None:
        done = Scrapy("rep", "doctor", "http://127.0.0.1:9/", folder=tmp_path).end()
        assert done.returncode == 2
        assert b"there is no project here" in done.stderr
