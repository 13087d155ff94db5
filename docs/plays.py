"""The sites and projects in which `make_outputs.py` runs the commands of each page."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from scrapy_rep.extras.identity.card import key_set
from scrapy_rep.protocol.access.origin import DIRECTORY_PATH
from tests.servers.answers import Answer, Scripted


@dataclass(frozen=True)
class Play:
    """The commands of a page.

    Attributes:
        before: for each block that shows output, what the shell does before the commands of the
            block; for a `text` block, what prints it. None: the block is no output. `@python2@` is
            the second block of Python in the page, `@console1@` the commands of the first block.
        sites: their answers by path, by the URL that the page shows. None: nothing listens there.
        files: those of the folder in which the shell begins.
    """

    before: tuple[str | None, ...]
    sites: Mapping[str, Mapping[str, Scripted] | None] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


_SPIDER = """
import os

import scrapy


class Pages(scrapy.Spider):
    name = "{name}"
    custom_settings = {{"CONCURRENT_REQUESTS": 1}}

    async def start(self):
        for url in os.environ["URLS"].split():
            yield scrapy.Request(url, meta={{"dont_obey_robotstxt": "EXEMPT" in os.environ}})

    def parse(self, response):
        yield from response.follow_all(css="a")
"""


def _project(name: str, agent: str, settings: str = "", spiders: str = "") -> dict[str, str]:
    return {
        "scrapy.cfg": "[settings]\ndefault = project.settings\n",
        "project/settings.py": (
            'ADDONS = {"scrapy_rep.Addon": 500}\n'
            "ROBOTSTXT_OBEY = True\n"
            f'SPIDER_MODULES = ["project.spiders"]\nUSER_AGENT = "{agent}"\n{settings}'
        ),
        "project/spiders.py": spiders or _SPIDER.format(name=name),
    }


def _file(*lines: str) -> Answer:
    return Answer(body="".join(f"{line}\n" for line in lines))


def _links(*paths: str) -> Answer:
    body = "".join(f'<a href="{path}">x</a>' for path in paths)
    return Answer(body=body, headers=[("Content-Type", "text/html")])


def _sitemap(*urls: str) -> Answer:
    """A sitemap of pages that changed 0, 1, 2... days ago."""
    now = datetime.now(timezone.utc)
    rows = "".join(
        f"<url><loc>{url}</loc><lastmod>{now - timedelta(age, 60):%Y-%m-%dT%H:%MZ}</lastmod></url>"
        for age, url in enumerate(urls)
    )
    return Answer(body=f"<urlset>{rows}</urlset>", headers=[("Content-Type", "text/xml")])


def _index(*urls: str) -> Answer:
    rows = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Answer(
        body=f"<sitemapindex>{rows}</sitemapindex>", headers=[("Content-Type", "text/xml")]
    )


def _shop(part: int) -> Answer:
    """1,000 URLs, of which 100 are in the cart and 50 to print."""
    kinds = (*["cart/"] * 2, "x/print?", *["item/"] * 17)
    urls = (f"https://shop.example/{kinds[n % 20]}{part}-{n}" for n in range(1000))
    return _sitemap(*urls)


_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
_PEM = _KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
_X = urlsafe_b64encode(_KEY.public_key().public_bytes_raw()).decode().rstrip("=")
_JWK = {"crv": "Ed25519", "kty": "OKP", "x": _X}

_TUTORIAL = "TutorialBot/1.0 (+https://example.com/bot)"
_AT_ONCE = "REP_UNREACHABLE_HOLD_SECONDS = 0\nREP_QUICK_RETRY_SECONDS = []\n"

PLAYS = {
    "first_steps.md": Play(
        (
            """
            @console2@
            @console3@
            sed -i '/^ADDONS/d' tutorial/settings.py
            cat >> tutorial/settings.py <<'END'
@python1@
END
            cat > tutorial/spiders/links.py <<'END'
@python2@
END
            @console4@""",
            "",
            "@console6@",
            "",
        ),
    ),
    "troubleshooting.md": Play(
        (
            "URLS=http://localhost:8002/ scrapy crawl my_spider -L INFO",
            "URLS=http://localhost:8001/ scrapy crawl my_spider -s REP_UNREACHABLE_HOLD_SECONDS=0",
            "export URLS='http://localhost:8000/ http://localhost:8003/'",
            "",
            "scrapy rep check http://localhost:8007/",
            "rm -r audit; export EXEMPT=yes URLS=http://localhost:8000/private/1.html",
            "rm -r audit; unset EXEMPT; URLS=http://localhost:8000/",
            "scrapy crawl my_spider",
            None,
        ),
        {
            "http://localhost:8000": {
                "/robots.txt": _file(
                    *("User-agent: *", "Disallow: /private/", "Disallow: /b", "Crawl-delay: 1", "")
                ),
                "/": _links("/a.html", "/b.html", "/private/1.html"),
            },
            "http://localhost:8001": {"/robots.txt": Answer(status=503)},
            "http://localhost:8002": {"/robots.txt": _file("User-agent: *", "Disallow: /")},
            "http://localhost:8003": {
                "/robots.txt": _file("User-agent: *", "Disallow:"),
                "/": _links(*(f"/{number}" for number in range(9))),
                "/1": [Answer(status=429), Answer()],
                "/2": [Answer(status=429), Answer()],
            },
            "http://localhost:8007": {
                "/robots.txt": _file("User-agent: *", "Disallow: /shop/", "Allow: /shop/press/")
            },
        },
        _project("my_spider", _TUTORIAL),
    ),
    "migration.md": Play(
        (
            """
            cp project/settings.py kept.py
            cat >> project/settings.py <<'END'
@python3@
END
            export URLS="$(echo http://localhost:8001/p{1..5}) http://localhost:8000/"
            scrapy crawl my_spider""",
            "cp kept.py project/settings.py; @console3@",
        ),
        {
            "http://localhost:8000": {
                "/robots.txt": _file("User-agent: *", "Disallow: /private/", "Crawl-delay: 0.2"),
                "/": _links(
                    *(f"/private/{number}.html" for number in range(1, 4)),
                    *(f"/{number}.html" for number in range(1, 7)),
                ),
            },
            "http://localhost:8001": {"/robots.txt": Answer(status=503)},
        },
        _project("my_spider", _TUTORIAL, _AT_ONCE),
    ),
    "audit.md": Play(
        (
            """
            export URLS=$(echo https://example.com/{private/x,shop/1,open})
            scrapy crawl pages -s REP_AUDIT_DIR=audit""",
            "rm -r .scrapy",
        ),
        {
            "https://example.com": {
                "/robots.txt": [
                    _file(
                        "# who may", "User-agent: *", "Disallow: /private", "Allow: /private/open"
                    ),
                    _file(
                        *("# who may", "User-agent: *", "Disallow: /shop/"),
                        "Content-Signal: search=yes, ai-train=no",
                    ),
                ],
            },
        },
        _project("pages", "FooBot/1.0 (+https://foo.example)"),
    ),
    "warc.md": Play(
        ("URLS=https://example.com/ scrapy crawl pages -s REP_WARC_DIR=warc",),
        {"https://example.com": {"/robots.txt": _file("User-agent: *", "Disallow:")}},
        _project("pages", "FooBot/1.0 (+https://foo.example)"),
    ),
    "report.md": Play(
        (
            """
            cp -r "$PYTHONPATH/example_project" example; cd example
            scrapy crawl polite -s REP_AUDIT_DIR=audit""",
        ),
    ),
    "use.md": Play(
        (
            """
            export URLS=$(echo https://example.com/{a,private/1,private/2} https://example.net/)
            touch block; scrapy crawl links""",
            """
            cat > block <<'END'
@pycon1@
END
            URLS=https://example.com/a scrapy crawl links""",
        ),
        {
            "https://example.com": {
                "/robots.txt": _file(
                    *("User-agent: *", "Disallow: /private", "Crawl-delay: 1"),
                ),
            },
            "https://example.net": None,
        },
        _project(
            "links",
            "FooBot/1.0 (+https://foo.example)",
            _AT_ONCE,
            _SPIDER.format(name="links")
            + """
    def closed(self, reason):
        import code

        console = code.InteractiveInterpreter({"crawler": self.crawler})
        for line in open("block"):
            if line.startswith(">>> "):
                print(line, end="", flush=True)
                console.runsource(line[4:])
""",
        ),
    ),
    "identity.md": Play(
        (
            "",
            """
            chmod 600 site.pem
            cat >> project/settings.py <<'END'
REP_SIGN_KEY = "site.pem"
REP_SIGN_AGENT = "https://bot.example"
END
            """,
            """python - <<'END' > request.txt
from scrapy_rep.extras.identity.keys import KeyPair
from scrapy_rep.extras.identity.signatures import Message, signed_fields

url = "https://example.com/a"
key = KeyPair.read("bot.pem").signing
fields = signed_fields(Message("GET", url), "https://bot.example", key, 1796000000)
print("GET", url)
for name, value in fields.items():
    print(f"{name}: {value}")
END
            """,
        ),
        {
            "https://bot.example": {
                "/robots.txt": _file("User-agent: *", "Disallow:"),
                "/bot.json": Answer(status=404),
                DIRECTORY_PATH: Answer(
                    body=json.dumps(key_set([_JWK])),
                    headers=[("Cache-Control", "max-age=3600")],
                ),
            },
        },
        {"site.pem": _PEM, **_project("pages", "FooBot/1.0 (+https://foo.example)")},
    ),
    "survey.md": Play((None,)),
    "plan.md": Play(
        ("", "scrapy crawl books"),
        {
            "https://shop.example": {
                "/robots.txt": _file(
                    *("User-agent: *", "Content-Signal: ai-train=no, search=yes"),
                    *("Disallow: /cart/", "Allow: /cart/help", "Disallow: /a", "Disallow: /b"),
                    *("Disallow: /c", "Disallow: /*/print", "Crawl-delay: 2"),
                    "Sitemap: https://shop.example/sitemap.xml",
                ),
                "/sitemap.xml": _index(*(f"https://shop.example/{part}.xml" for part in range(3))),
                **{f"/{part}.xml": _shop(part) for part in range(3)},
            },
            "https://news.example": {
                "/robots.txt": _file(
                    *("User-agent: foobot", "Disallow: /1", "Disallow: /2", "Disallow: /3"),
                    *("Disallow: /4", "Crawl-delay: 600"),
                ),
            },
            "https://books.example": {
                "/robots.txt": _file(
                    *("User-agent: *", "Disallow: /private"),
                    "Sitemap: https://books.example/sitemap.xml",
                ),
                "/sitemap.xml": _sitemap(
                    *(f"https://books.example/{path}" for path in ("a", "b", "c", "gone")),
                    *(f"https://books.example/private/{number}" for number in (1, 2)),
                ),
                "/gone": Answer(status=404),
            },
        },
        _project(
            "books",
            "FooBot/1.0 (+https://foo.example)",
            'REP_USES = ["train-ai"]\nREP_STORE = "memory"\nCONCURRENT_REQUESTS = 1\n',
            """
from scrapy_rep import RobotsSitemapSpider


class Books(RobotsSitemapSpider):
    name = "books"
    sites = ["https://books.example"]

    def parse(self, response):
        pass
""",
        ),
    ),
    "command.md": Play(
        (
            "scrapy rep doctor shop",
            None,
            None,
        ),  # the last is compared in tests/extras/fleet/commands/test_fleet.py
        {"https://example.com": {"/robots.txt": _file("User-agent: *", "Disallow:")}},
        {
            "scrapy.cfg": "[settings]\ndefault = shop.settings\n",
            "shop/settings.py": (
                'ADDONS = {"scrapy_rep.Addon": 500}\n'
                "ROBOTSTXT_OBEY = True\n"
                'SPIDER_MODULES = ["shop.spiders"]\n'
                'USER_AGENT = "ShopBot/1.0 (+https://shop.example/bot)"\n'
                'DOWNLOADER_MIDDLEWARES = {"shop.middlewares.Accounts": 500}\n'
            ),
            "shop/middlewares.py": """class Accounts:
    proxies = {
        "one": "http://10.0.0.1:3128",
        "two": "http://10.0.0.2:3128",
    }

    @classmethod
    def from_crawler(cls, crawler):
        return cls()

    def process_request(self, request):
        request.meta["proxy"] = self.proxies[request.meta["account"]]
""",
            "shop/spiders.py": """
import scrapy


class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["https://example.com/"]
""",
        },
    ),
}
