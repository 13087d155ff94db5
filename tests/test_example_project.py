"""The example project: crawled as its README says, and its parts alone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.extras import needs
from tests.processes import Scrapy
from tests.redis_server import needs_redis

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "example_project"


def crawl(spider: str) -> str:
    done = Scrapy("crawl", spider, environment=os.environ, folder=PROJECT).end(60)
    assert done.returncode == 0, done.stderr
    assert b"ERROR" not in done.stderr
    assert b"Traceback" not in done.stderr
    return done.stdout.decode()


# What the summary says of each site: access result, pages allowed and dropped; then the details.
EXPECTED = {
    "rules": """\
        SUCCESSFUL (200) 3 3
        line 5 (Disallow: /private/) dropped /private/, /private/report
        line 7 (Disallow: /search) dropped /search?q=robots""",
    "port": """\
        SUCCESSFUL (200) 4 2
        line 2 (Disallow: /about) dropped /about
        line 3 (Disallow: /private/press/) dropped /private/press/kit""",
    "wildcards": """\
        SUCCESSFUL (200) 3 3
        line 2 (Disallow: /*.pdf$) dropped /manual.pdf, /press/2024.pdf
        line 3 (Disallow: /*?sort=) dropped /shop?sort=name""",
    "missing": "UNAVAILABLE (404) 3 0",
    "forbidden": "UNAVAILABLE (403) 2 0",
    "broken": """\
        UNREACHABLE (503) 0 2
        no line (REASON) dropped /, /status""",
    "moved": """\
        SUCCESSFUL (200) 2 2
        redirected to {missing}/policy
        line 2 (Disallow: /drafts/) dropped /drafts/one, /drafts/two
        sitemap {moved}/sitemap.xml""",
    "slow": """\
        SUCCESSFUL (200) 2 12
        line 2 (Disallow: /archive/) dropped /archive/2001, /archive/2002, /archive/2003 and 9 more
    """,
    "sitemaps": """\
        SUCCESSFUL (200) 5 1
        line 3 (Disallow: /cart) dropped /cart
        sitemap {sitemaps}/sitemap.xml
        sitemap {sitemaps}/news/sitemap.xml
        sitemap {cdn}/shop/sitemap.txt
        sitemap {cdn}/private/sitemap.xml""",
    "cdn": """\
        SUCCESSFUL (200) 1 1
        line 2 (Disallow: /private/) dropped /private/sitemap.xml""",
}


def test_polite_spider_prints_what_it_skips() -> None:
    """The first spider: what is allowed of each site, and why the others are dropped."""
    printed = crawl("polite")
    urls = dict(re.findall(r"^(\w+) +(http://\S+:\d+) ", printed, re.MULTILINE))
    for site, expected in EXPECTED.items():
        found = re.search(rf"^{site} +http\S+ (.*\n(?: +.*\n)*)", printed, re.MULTILINE)
        assert found, printed
        said = [" ".join(line.split()) for line in found[1].splitlines()]
        said = [re.sub(r"^no line \(.+\)", "no line (REASON)", line) for line in said]
        assert said == textwrap.dedent(expected.format_map(urls)).splitlines()
    assert printed.endswith(
        "The crawler fetched 25 pages and dropped 26.\n"
        "The servers saw 25 page requests, 0 of them disallowed.\n"
    )


class TestSitemaps:
    """The second spider: nested, gzipped, a feed, another host, a redirected robots.txt."""

    def test_what_came_of_each(self) -> None:
        table, _, counts = crawl("sitemaps").partition("\n\n")
        said = [line.split(maxsplit=3) for line in table.splitlines()[1:]]
        assert said == [
            ["sitemap", "cdn", "/private/sitemap.xml", "dropped by line 2 (Disallow: /private/)"],
            ["sitemap", "cdn", "/shop/sitemap.txt", "read"],
            ["sitemap", "moved", "/sitemap.xml", "read"],
            ["sitemap", "sitemaps", "/maps/all.xml", "read"],
            ["sitemap", "sitemaps", "/maps/shop.xml.gz", "read"],
            ["sitemap", "sitemaps", "/news/sitemap.xml", "read"],
            ["sitemap", "sitemaps", "/sitemap.xml", "read"],
            ["page", "moved", "/contact", "fetched"],
            ["page", "moved", "/drafts/one", "dropped by line 2 (Disallow: /drafts/)"],
            ["page", "sitemaps", "/cart", "dropped by line 3 (Disallow: /cart)"],
            ["page", "sitemaps", "/news/", "fetched"],
            *(["page", "sitemaps", f"/shop/{number}", "fetched"] for number in (1, 2, 3)),
        ]
        assert counts == (
            "robots.txt was fetched 3 times from 3 sites.\n"
            "The servers saw 5 page requests, 0 of them disallowed.\n"
        )


@needs("pages")
class TestPages:
    """The third spider: what pages and their site withhold, and which statement says so."""

    def test_what_was_withheld_and_why(self) -> None:
        kept, withheld, counts = crawl("pages").split("\n\n")
        usual = "search=y, ai-input=n"
        assert [line.split(maxsplit=1) for line in kept.splitlines()[1:]] == [
            ["/", usual],
            ["/nofollow", f"nofollow=True, {usual}"],
            ["/open/1", f"train-ai=y, {usual}"],
            ["/otherbot", usual],
            ["/plain", usual],
        ]
        assert [re.split("  +", line) for line in withheld.splitlines()[1:]] == [
            ["/", "link to /cart", "rel-nofollow by link"],
            *([page, "item", because] for page, because in _WITHHELD_ITEMS if page < "/n"),
            ["/noai", "item", "train-ai=n by meta 1, line 1: noai, noimageai"],
            *(
                ["/nofollow", f"link to {to}", "nofollow by meta 1, line 1"]
                for to in ("/", "/hidden")
            ),
            *([page, "item", because] for page, because in _WITHHELD_ITEMS if page > "/nof"),
        ]
        assert counts == (
            "The crawler kept 5 items; 10 items and links were withheld.\n"
            "The servers saw 12 page requests, 0 of them disallowed.\n"
        )


_WITHHELD_ITEMS = (
    ("/books/1", "train-ai=n by Content-Usage, line 3 of /robots.txt: /books/ train-ai=n"),
    (
        "/data/1",
        "train-ai=n by tdmrep.json 1 of /.well-known/tdmrep.json: /data/* tdm-reservation=1",
    ),
    ("/field", "noindex by Robots-Tag 1"),
    ("/noindex", "noindex by X-Robots-Tag 1"),
    ("/old", "unavailable_after: 1277424000 by X-Robots-Tag 1"),
    ("/open/2", "train-ai=n by Content-Usage: train-ai=n"),
)


class TestFleet:
    """Three workers, a Redis and the web, and none of them afterwards."""

    @pytest.fixture
    def start(self, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
        """Starts the command; its children and files are known by the folder."""
        with ExitStack() as undo:

            def started(**environment: str) -> subprocess.Popen[str]:
                path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
                process = subprocess.Popen(
                    [sys.executable, "-m", "demo.fleet"],
                    cwd=PROJECT,
                    env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path), **environment},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                undo.enter_context(process)  # which closes its streams, and waits
                undo.callback(process.terminate)
                return process

            yield started
            assert self._left(tmp_path) == [], "no process, so no port either"
            assert list(tmp_path.iterdir()) == []

    @needs_redis
    @pytest.mark.slow
    def test_what_comes_of_it(self, start: Callable[..., subprocess.Popen[str]]) -> None:
        out, err = start().communicate(timeout=150)
        assert err == ""
        head, table, counts, trails = re.split(r"^SITE .*\n|\n\n", out, flags=re.MULTILINE)
        assert head == "3 workers crawl 11 sites; this takes some seconds\n"
        assert max(map(len, out.splitlines())) <= 80
        rows = {line.split()[0]: line for line in table.splitlines()}
        for site, said in EXPECTED.items():
            assert rows[site].split()[1] == "1", "robots.txt fetches"
            assert rows[site].split()[-2:] == said.strip().splitlines()[0].split()[-2:], site
        paced = re.fullmatch(r"paced +1 +Crawl-delay: 0\.5 +(\S+) s +9 +2", rows["paced"])
        assert paced
        assert float(paced[1]) >= 0.475, "over all workers, as the site sees them"
        fetched = re.fullmatch(
            r"3 workers fetched (\d+) \+ (\d+) \+ (\d+) pages and dropped 28\.\n"
            r"The servers saw 34 page requests, 0 of them disallowed\.",
            counts,
        )
        assert fetched, counts
        assert sum(map(int, fetched.groups())) == 34
        assert " ".join(trails.split()) == (
            "Their audit trails, as one: - 62 requests were checked (55 by the rules of a "
            "robots.txt, 7 by a policy or setting, because there were no rules); 28 were "
            "disallowed. None of these was sent: no request was sent against a robots.txt. - 1 "
            "origin set a delay between requests, and no request came too soon. - Each of the "
            "3 trails is complete: every digest, number and total in it is right. - Each of 62 "
            "decisions was made again from the octets in the trail, with the same result."
        )

    @needs_redis
    @pytest.mark.slow
    def test_it_is_interrupted(
        self, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
    ) -> None:
        process = start()
        assert process.stdout
        assert "3 workers crawl" in process.stdout.readline()
        assert len(self._left(tmp_path)) == 5, "itself, Redis, and three workers"
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (128 + signal.SIGINT, "")
        assert err == "ended before it was done; nothing is left behind\n"

    def test_no_server_is_installed(
        self, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
    ) -> None:
        process = start(PATH=str(tmp_path))
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (69, "")
        assert err.startswith("neither redis-server nor valkey-server is installed")
        assert "apt install redis-server" in err

    def _left(self, folder: Path) -> list[int]:
        """The processes that were told of the folder, or are in it, as Redis is."""
        if not Path("/proc/self/environ").exists():
            pytest.skip("processes can't be told apart without /proc")
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                place = os.readlink(process / "cwd")
            except OSError:  # of another user, or it has ended
                continue
            if f"TMPDIR={folder}\0".encode() in environment or place.startswith(f"{folder}/"):
                found.append(int(process.name))
        return found
