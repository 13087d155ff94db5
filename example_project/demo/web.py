"""The web for the demo: a few sites on loopback, each with another kind of robots.txt.

Every site has its own port, so it is an origin. ``SITES`` is the whole content. The list of allowed
pages was written by hand from RFC 9309. So the log of the web (``DemoWeb.trespasses``) checks the
crawler independently.
"""

from __future__ import annotations

import gzip
import html
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from scrapy import signals
from scrapy.crawler import Crawler


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An HTTP answer. ``{name}`` in a body or a location stands for the URL of that site."""

    body: str = ""
    status: int = 200
    location: str = ""
    delay: float = 0.0
    """Seconds before the answer."""
    gzipped: bool = False
    """Whether the file itself is a gzip file."""
    fields: tuple[tuple[str, str], ...] = ()
    """Header fields."""
    head: str = ""
    """Elements for the head of a page."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """One origin. Its home page links to all its pages, and to ``links`` elsewhere."""

    name: str
    robots_txt: Reply
    allowed: tuple[str, ...]
    """The pages that DemoBot may fetch."""
    disallowed: tuple[str, ...] = ()
    """The pages that DemoBot must not fetch."""
    links: tuple[str, ...] = ()
    files: Mapping[str, Reply] = field(default_factory=dict)
    """Other files of the site, by path."""
    says: Mapping[str, Reply] = field(default_factory=dict)
    """Replies for some pages with rules and more links, by path."""
    host: str = "127.0.0.1"


def _urlset(*urls: str, gzipped: bool = False) -> Reply:
    locs = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return Reply(body=f"<urlset xmlns='{_SITEMAPS}'>{locs}</urlset>", gzipped=gzipped)


def _index(*urls: str) -> Reply:
    locs = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Reply(body=f"<sitemapindex xmlns='{_SITEMAPS}'>{locs}</sitemapindex>")


_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
ARCHIVE = tuple(f"/archive/{year}" for year in range(2001, 2013))

SITES = (
    # The group for DemoBot replaces the group for all other crawlers. Within it, the longest match
    # decides, in any order.
    Site(
        name="rules",
        robots_txt=Reply(
            body="""\
User-agent: *
Disallow: /

User-agent: DemoBot
Disallow: /private/
Allow: /private/press/
Disallow: /search
"""
        ),
        allowed=("/", "/about", "/private/press/kit"),
        disallowed=("/private/", "/private/report", "/search?q=robots"),
    ),
    # The same host and the same pages on another port: another origin, with the opposite rules.
    Site(
        name="port",
        robots_txt=Reply(
            body="""\
User-agent: DemoBot
Disallow: /about
Disallow: /private/press/
"""
        ),
        allowed=("/", "/private/", "/private/report", "/search?q=robots"),
        disallowed=("/about", "/private/press/kit"),
    ),
    Site(
        name="wildcards",
        robots_txt=Reply(
            body="""\
User-agent: *
Disallow: /*.pdf$
Disallow: /*?sort=
Allow: /shop*?sort=price
"""
        ),
        allowed=("/", "/manual.pdf.html", "/shop?sort=price"),
        disallowed=("/manual.pdf", "/press/2024.pdf", "/shop?sort=name"),
    ),
    # There is no robots.txt, so there are no rules, whatever the error page says.
    Site(
        name="missing",
        robots_txt=Reply(status=404, body="User-agent: *\nDisallow: /\n"),
        allowed=("/", "/contact", "/drafts/one"),
        files={
            "/policy": Reply(
                body="User-agent: *\nDisallow: /drafts/\nSitemap: {moved}/sitemap.xml\n"
            )
        },
    ),
    # "Forbidden" is one more way to have no robots.txt (RFC 9309, 2.3.1.3). This home page also
    # sends the crawler to pages of other sites while their robots.txt is still on its way.
    Site(
        name="forbidden",
        robots_txt=Reply(status=403, body="Forbidden"),
        allowed=("/", "/contact"),
        links=("{broken}/status", *(f"{{slow}}{path}" for path in ARCHIVE)),
    ),
    # The rules of a server with an error are unknown: nothing may be fetched (2.3.1.4).
    Site(
        name="broken",
        robots_txt=Reply(status=503, body="User-agent: *\nAllow: /\n"),
        allowed=(),
        disallowed=("/", "/status"),
    ),
    # Three redirects, the last one to another origin. The rules found there are the rules of this
    # site (2.3.1.2), and not of the site that holds the file.
    Site(
        name="moved",
        robots_txt=Reply(status=301, location="/robots"),
        allowed=("/", "/contact"),
        disallowed=("/drafts/one", "/drafts/two"),
        files={
            "/robots": Reply(status=302, location="{moved}/legal/robots"),
            "/legal/robots": Reply(status=307, location="{missing}/policy"),
            "/sitemap.xml": _urlset("{moved}/contact", "{moved}/drafts/one"),
        },
    ),
    # A dozen disallowed pages are requested while this file is fetched. All must wait for it.
    Site(
        name="slow",
        robots_txt=Reply(delay=1.5, body="User-agent: *\nDisallow: /archive/\n"),
        allowed=("/", "/news"),
        disallowed=ARCHIVE,
    ),
    # Sitemap lines belong to no group, and may be anywhere. A sitemap is checked against the rules
    # of its own site, like every page. A sitemap does not make its pages allowed.
    Site(
        name="sitemaps",
        robots_txt=Reply(
            body="""\
Sitemap: {sitemaps}/sitemap.xml
User-agent: *
Disallow: /cart
Sitemap: /news/sitemap.xml
Sitemap: {cdn}/shop/sitemap.txt
Sitemap: {cdn}/private/sitemap.xml
"""
        ),
        allowed=("/", "/news/", "/shop/1", "/shop/2", "/shop/3"),
        disallowed=("/cart",),
        files={
            "/sitemap.xml": _index("{sitemaps}/maps/all.xml"),
            "/maps/all.xml": _index("{sitemaps}/maps/shop.xml.gz", "{sitemaps}/sitemap.xml"),
            "/maps/shop.xml.gz": _urlset(
                "{sitemaps}/shop/1", "{sitemaps}/shop/2", "{sitemaps}/cart", gzipped=True
            ),
            "/news/sitemap.xml": Reply(
                body="<rss version='2.0'><channel><item><link>{sitemaps}/news/</link></item>"
                "</channel></rss>"
            ),
        },
    ),
    # Another name of the same machine is another host, with its own rules and sitemaps.
    Site(
        name="cdn",
        host="localhost",
        robots_txt=Reply(body="User-agent: *\nDisallow: /private/\n"),
        allowed=("/",),
        disallowed=("/private/sitemap.xml",),
        files={"/shop/sitemap.txt": Reply(body="{sitemaps}/shop/2\n{sitemaps}/shop/3\n")},
    ),
)
# A site with a delay that several workers keep together. Scrapy has one slot for all ports of a
# host, so its delay would slow down all sites of the other host.
PACED_SITE = Site(
    name="paced",
    host="localhost",
    robots_txt=Reply(body="User-agent: *\nCrawl-delay: 0.5\nDisallow: /drafts/\n"),
    allowed=("/", *(f"/page/{number}" for number in range(1, 9))),
    disallowed=("/drafts/one", "/drafts/two"),
)


# A site that states the allowed uses of its pages in every possible place.
PAGES_SITE = Site(
    name="pages",
    robots_txt=Reply(
        body="""\
License: {pages}/terms
User-agent: *
Content-Usage: /books/ train-ai=n
Content-Usage: /open/ train-ai=y
Content-Signal: search=yes, ai-input=no
"""
    ),
    allowed=(
        *("/", "/plain", "/books/1", "/open/1", "/open/2", "/data/1", "/nofollow", "/noindex"),
        *("/noai", "/field", "/old", "/otherbot"),
    ),
    disallowed=("/hidden", "/cart"),  # by the pages that link to them
    files={
        "/.well-known/tdmrep.json": Reply(
            body='[{{"location": "/data/*", "tdm-reservation": 1, "tdm-policy": "/terms"}}]'
        ),
    },
    says={
        "/": Reply(body='<a rel="nofollow" href="/cart">to the cart</a>'),
        "/open/2": Reply(fields=(("Content-Usage", "train-ai=n"),)),
        "/nofollow": Reply(
            head="<meta name=robots content=nofollow>", body='<a href="/hidden">more</a>'
        ),
        "/noindex": Reply(fields=(("X-Robots-Tag", "otherbot: none, demobot: noindex"),)),
        "/noai": Reply(head='<meta name=robots content="noai, noimageai">'),
        "/field": Reply(fields=(("Robots-Tag", "demobot;noindex, *;nosnippet"),)),
        "/old": Reply(fields=(("X-Robots-Tag", "unavailable_after: 25 Jun 2010"),)),
        "/otherbot": Reply(head="<meta name=otherbot content=none>"),
    },
)


class DemoWeb:
    """The extension that runs the sites while the crawl runs."""

    def __init__(self, sites: Iterable[Site] = SITES) -> None:
        self._servers = [_SiteServer(site, self) for site in sites]
        self.urls = {server.site.name: server.url for server in self._servers}
        """The URL of each site, without a path."""
        self.robots_txt_served: list[str] = []
        self.pages_served: list[str] = []
        self.trespasses: list[str] = []
        """The disallowed pages that the crawler fetched."""
        self.visits: dict[str, list[float]] = {url: [] for url in self.urls.values()}
        """Times of all requests to each site, robots.txt included; monotonic seconds."""
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DemoWeb:
        """Start the web before the spider starts, and stop it after."""
        web = cls()
        crawler.signals.connect(web.stop, signals.spider_closed)
        return web

    def stop(self) -> None:
        """Close every server."""
        for server in self._servers:
            server.shutdown()
            server.server_close()


class PagesWeb(DemoWeb):
    """The same with one site, which states the allowed uses of its pages."""

    def __init__(self) -> None:
        super().__init__([PAGES_SITE])


class _SiteServer(ThreadingHTTPServer):
    request_queue_size = 64
    # The system picks a free port, which must not be shared.
    allow_reuse_address = False
    allow_reuse_port = False

    def __init__(self, site: Site, web: DemoWeb) -> None:
        super().__init__(("127.0.0.1", 0), _SiteHandler)
        self.site = site
        self.web = web
        self.url = f"http://{site.host}:{self.server_address[1]}"
        self.files = {"/robots.txt": site.robots_txt, **site.files}

    def server_bind(self) -> None:
        # HTTPServer would also look up the host's name, which can take seconds.
        TCPServer.server_bind(self)


class _SiteHandler(BaseHTTPRequestHandler):
    server: _SiteServer

    def do_GET(self) -> None:
        self.server.web.visits[self.server.url].append(time.monotonic())
        site = self.server.site
        if self.path == "/robots.txt":
            self.server.web.robots_txt_served.append(self.server.url)
        if reply := self.server.files.get(self.path):
            self._send(reply, "text/plain")
        elif self.path in site.allowed or self.path in site.disallowed:
            url = self.server.url + self.path
            self.server.web.pages_served.append(url)
            if self.path in site.disallowed:
                self.server.web.trespasses.append(url)
            says = site.says.get(self.path, Reply())
            self._send(Reply(body=_page(site, self.path, says), fields=says.fields), "text/html")
        else:
            self._send(Reply(status=404, body="Not found"), "text/plain")

    def _send(self, reply: Reply, content_type: str) -> None:
        time.sleep(reply.delay)
        body = reply.body.format_map(self.server.web.urls).encode()
        body = gzip.compress(body) if reply.gzipped else body
        self.send_response(reply.status)
        if reply.location:
            self.send_header("Location", reply.location.format_map(self.server.web.urls))
        for name, value in reply.fields:
            self.send_header(name, value)
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing, because the summary of the crawl is the log."""


def _page(site: Site, path: str, says: Reply) -> str:
    forbidden = () if site.says else site.disallowed  # what pages forbid, they link to themselves
    links = (*site.allowed, *forbidden, *site.links) if path == "/" else ("/",)
    anchors = "\n".join(
        f'<li><a href="{html.escape(link)}">{html.escape(link)}</a>' for link in links
    )
    return (
        f"<!doctype html><title>{site.name} {html.escape(path)}</title>{says.head}\n"
        f"<ul>\n{anchors}\n</ul>\n{says.body}"
    )
