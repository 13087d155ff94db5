"""The sites of a project: threads of the test's process that answer on loopback, and keep a log."""

from __future__ import annotations

import re
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from socket import socket
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from typing_extensions import Self

from tests.ordinary.projects import (
    CRAWL_DELAY_SECONDS,
    OTHER_GROUP,
    RULES,
    Page,
    Place,
    Project,
    RobotsTxt,
)
from tests.servers.site import age_seconds

MOVED_ROBOTS = "/rules/robots.txt"
LOGIN = "/login"
SITEMAP, SITEMAP_INDEX, FEED = "/sitemap.xml", "/sitemap-index.xml", "/feed.xml"
API_HOST = "127.0.0.9"
_API = -1
"""The number of its origin, which has an empty robots.txt."""
_ADDED = re.compile(r"[?&]k=1$")
_COOKIE = "member=yes"
_SLOW_SECONDS = 0.2
_IMAGE = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
_FORM = '<form action="/login" method="post"><input name="user"><input name="key" value="1"></form>'


class Reply(NamedTuple):
    """An answer."""

    status: int = 200
    body: bytes = b""
    kind: str = "text/html"
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0.0


class Seen(NamedTuple):
    """A request, and when it came, in monotonic seconds."""

    place: Place
    at: float


class Sites:
    """All origins of a project: ``with Sites(project) as sites``."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._pages = {page.place: page for page in project.pages}
        self._targets = {page.target for page in project.pages}
        self._files = {place for page in project.pages for place, _ in page.files}
        self._lock = Lock()
        self._seen: list[Seen] = []
        self._servers = [_Server(self) for _ in range(2)]
        # Closes each connection at once.
        self._closing = ThreadingTCPServer(("127.0.0.1", 0), BaseRequestHandler)
        self._refusing = socket()
        self._refusing.bind(("127.0.0.1", 0))  # and does not listen
        self._numbers = {self._netloc(number): number for number in range(len(project.origins))}
        self._api = f"{API_HOST}:{self._servers[0].server_address[1]}"
        self._numbers[self._api] = _API

    def __enter__(self) -> Self:
        for server in (*self._servers, self._closing):
            Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._refusing.close()
        for server in (*self._servers, self._closing):
            server.shutdown()
            server.server_close()

    @property
    def addresses(self) -> dict[str, Any]:
        """The addresses that middlewares need."""
        dead = [one.getsockname()[1] for one in (self._refusing, self._closing.socket)]
        pool = [self._servers[1].server_address[1], *dead, dead[0]]
        return {
            "api": f"http://{self._api}/fetch",
            "login": self.url(Place(0, LOGIN)),
            "proxies": [f"http://127.0.0.1:{port}" for port in pool],
        }

    def url(self, place: Place) -> str:
        """The URL of a place."""
        return f"http://{self._netloc(place.origin)}{place.path}"

    def place(self, url: str) -> Place:
        """The place of a URL, also if the API is told to fetch it, and without an added query."""
        parts = urlsplit(url)
        if parts.netloc == self._api and (pages := parse_qs(parts.query).get("url")):
            return self.place(pages[0])
        path = url.removeprefix(f"http://{parts.netloc}")
        return Place(self._numbers[parts.netloc], _ADDED.sub("", path))

    def forget(self) -> None:
        """Begin again, as if no request had come."""
        with self._lock:
            self._seen.clear()

    def seen(self) -> list[Seen]:
        """Every request so far, in the order of arrival."""
        with self._lock:
            return list(self._seen)

    def reply(self, netloc: str, method: str, path: str, cookie: str, at: float) -> Reply:
        """Keep a request and when it came, and answer it."""
        place = self.place(path if path.startswith("http://") else f"http://{netloc}{path}")
        path = place.path
        with self._lock:
            self._seen.append(Seen(place, at))
            number = Counter(seen.place for seen in self._seen)[place]
        if place.origin == _API:
            return Reply()
        if path in {"/robots.txt", MOVED_ROBOTS}:
            return self._robots(place, number)
        is_members_only = self.project.spider == "login" and place.origin == 0
        if is_members_only and path == LOGIN:
            home = self.url(Place(0, "/"))
            return (
                _moved(home, ("Set-Cookie", f"{_COOKIE}; Path=/")) if method == "POST" else _FORMS
            )
        if is_members_only and _COOKIE not in cookie:
            return Reply(403, b"members only")
        return self._content(place)

    def _netloc(self, number: int) -> str:
        origin = self.project.origins[number]
        return f"{origin.host}:{self._servers[origin.port].server_address[1]}"

    def _robots(self, place: Place, number: int) -> Reply:
        robots = self.project.origins[place.origin].robots
        if robots.kind == "missing":
            return Reply(404, b"not found", "text/plain")
        if number <= robots.refusals:
            return Reply(503, b"not now", "text/plain")
        if robots.kind == "redirected" and place.path == "/robots.txt":
            return _moved(MOVED_ROBOTS)
        headers = (("Cache-Control", robots.cache_control),) if robots.cache_control else ()
        delay_seconds = _SLOW_SECONDS if robots.kind == "slow" else 0.0
        body = self._rules(robots, self.url(Place(place.origin, SITEMAP)))
        return Reply(200, body.encode(), "text/plain", headers, delay_seconds)

    def _rules(self, robots: RobotsTxt, sitemap: str) -> str:
        if not robots.has_rules:
            return ""
        rules = RULES[robots.rules]
        lines = [f"User-agent: {rules.agent}", *rules.lines]
        if robots.kind == "paced":
            lines.append(f"Crawl-delay: {CRAWL_DELAY_SECONDS}")
        before = "" if rules.agent == "*" else OTHER_GROUP
        return before + "\n".join([*lines, "", f"Sitemap: {sitemap}", ""])

    def _content(self, place: Place) -> Reply:
        if place in self._pages:
            return self._page(self._pages[place])
        if place in self._targets:
            return Reply(200, b"the new place of a page")
        if place in self._files:
            return Reply(200, _IMAGE, "image/gif")
        if place.path == LOGIN:
            return _FORMS
        if place.path in {SITEMAP, SITEMAP_INDEX, FEED}:
            return Reply(200, self._list(place).encode(), "text/xml")
        return Reply(404, b"there is no such page")

    def _page(self, page: Page) -> Reply:
        if page.target is not None:
            return _moved(self.url(page.target))
        refusal = self.project.refusal
        if page.kind == "refusing" and refusal is not None:
            after = (("Retry-After", refusal.retry_after),) if refusal.retry_after else ()
            return Reply(refusal.status, b"busy", "text/html", after)
        if page.kind in {"missing", "broken"}:
            return Reply({"missing": 404, "broken": 500}[page.kind], b"an error")
        delay_seconds = _SLOW_SECONDS if page.kind == "slow" else 0.0
        return Reply(body=self._html(page).encode(), delay_seconds=delay_seconds)

    def _html(self, page: Page) -> str:
        """Links to its children, to itself and to its root; none, on a page that is disallowed."""
        if page.is_disallowed:
            return "a private page"
        pages = self.project.pages
        root = page
        while root.parent is not None:
            root = pages[root.parent]
        places = [one.place for one in pages if one.parent == pages.index(page)]
        links = [f'<a href="{self.url(place)}">a page</a>' for place in places]
        links += [f'<a href="{self.url(one.place)}">here or home</a>' for one in (page, root)]
        links += [f'<img src="{self.url(place)}">' for place, _ in page.files]
        return "\n".join(["<title>a page</title>", *links])

    def _list(self, place: Place) -> str:
        """A sitemap, an index of sitemaps, or a feed."""
        if place.path == SITEMAP_INDEX:
            sitemap = self.url(Place(place.origin, SITEMAP))
            return f"<sitemapindex><sitemap><loc>{sitemap}</loc></sitemap></sitemapindex>"
        urls = [self.url(entry) for entry in self.project.entries]
        if place.path == SITEMAP:
            return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>"
        items = "".join(f"<item><link>{url}</link></item>" for url in urls)
        return f"<rss><channel>{items}</channel></rss>"


def _moved(location: str, *headers: tuple[str, str]) -> Reply:
    return Reply(302, headers=(("Location", location), *headers))


_FORMS = Reply(body=_FORM.encode())


class _Server(ThreadingTCPServer):
    """A port. A thread answers each connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        super().__init__(("0.0.0.0", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a crawl that is killed closes its connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer()

    def _answer(self) -> None:
        at = time.monotonic() - age_seconds(self.connection)
        netloc, cookie = self.headers.get("Host", ""), self.headers.get("Cookie", "")
        reply = self.server.sites.reply(netloc, self.command, self.path, cookie, at)
        time.sleep(reply.delay_seconds)
        lines = [f"HTTP/1.1 {reply.status} Said", f"Content-Type: {reply.kind}"]
        lines += [f"Content-Length: {len(reply.body)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers]
        # At once, so that the body does not wait until the head is acknowledged.
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + reply.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the hook's
        """Write nothing."""
