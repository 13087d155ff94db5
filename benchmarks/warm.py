"""The time of a request in the middleware if the policy of its origin is in memory.

    python benchmarks/warm.py [--rounds 15] [--requests 5000]

`process_request` of scrapy-rep's middleware and of Scrapy's own (with Protego, its default)
alternate in one process, with new requests to one origin, and to a thousand origins. Figures are
minima of CPU time per request. Compare ratios, because times depend on the machine. Nothing is
downloaded.

The robots.txt is a usual one: 14 rules, no Crawl-delay.
"""

from __future__ import annotations

import gc
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from scrapy import Request
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.test import get_crawler

from scrapy_rep import Origin, RepMiddleware, parse
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning

_RULES = [
    *["Disallow: /admin/", "Disallow: /cart", "Disallow: /search", "Disallow: /*?sort="],
    *["Disallow: /account/", "Disallow: /wp-admin/", "Allow: /wp-admin/admin-ajax.php"],
    *["Disallow: /tmp/", "Disallow: /*.pdf$", "Disallow: /private", "Allow: /private/open"],
    *["Disallow: /login", "Disallow: /checkout/", "Disallow: /*?print="],
]
_SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "USER_AGENT": "ExampleBot/1.0 (+https://example.com)",
    "REP_STORE": "memory",
    "DOWNLOADER_MIDDLEWARES": {RobotsTxtMiddleware: None},
}

Process = Callable[[Request], None]


def hosts(count: int) -> list[str]:
    """The hosts that are visited."""
    return [f"www{number}.example" for number in range(count)]


def requests(names: Sequence[str], count: int) -> list[Request]:
    """New allowed requests with the default User-Agent."""
    return [
        Request(
            f"https://{names[number % len(names)]}/articles/{number}/a-title-of-some-words?page=2",
            headers={"User-Agent": _SETTINGS["USER_AGENT"]},
        )
        for number in range(count)
    ]


def _crawler() -> Any:
    crawler = get_crawler(settings_dict=_SETTINGS)
    crawler.engine = SimpleNamespace(  # type: ignore[assignment]
        downloader=SimpleNamespace(slots={}, active=set()), spider=crawler.spider
    )
    return crawler


def scrapys(names: Sequence[str], octets: bytes) -> Process:
    """Scrapy's own middleware, after it has read the robots.txt of all hosts."""
    crawler = _crawler()
    middleware = RobotsTxtMiddleware(crawler)
    for name in names:
        parser = ProtegoRobotParser.from_crawler(crawler, octets)
        middleware._parsers[name] = parser  # noqa: SLF001 - as a fetch leaves it
    return _awaited(middleware.process_request)


def ours(names: Sequence[str], octets: bytes) -> Process:
    """Our middleware, after it has read the same files."""
    crawler = _crawler()
    middleware = RepMiddleware(crawler)
    middleware._spider_opened()  # noqa: SLF001 - here and below: as a crawl does it
    for name in names:
        origin = Origin("https", name, 443)
        file = parse(octets, origin.robots_txt_uri)
        reading = Reading(file, file)
        tokens = middleware._identity.tokens  # noqa: SLF001
        policy = Policy(origin, 200, Meaning.RULES, reading, tokens)
        middleware.policies._keep(policy)  # noqa: SLF001
    return _awaited(middleware.process_request)


def _awaited(process: Callable[[Request], Any]) -> Process:
    def run(request: Request) -> None:
        try:
            process(request).send(None)
        except StopIteration:
            return
        raise AssertionError("a warm request does not wait")

    return run


def microseconds(process: Process, made: Sequence[Request]) -> float:
    """CPU time per request."""
    gc.collect()
    gc.disable()
    began = time.process_time()
    for request in made:
        process(request)
    seconds = time.process_time() - began
    gc.enable()
    return seconds / len(made) * 1e6


def main() -> None:
    """Measure and print a table."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--requests", type=int, default=5000)
    options = parser.parse_args()
    octets = "\n".join(["User-agent: *", *_RULES, ""]).encode()
    print("| origins | Scrapy's own | scrapy-rep | ratio |")
    print("| ---: | ---: | ---: | ---: |")
    for count in (1, 1000):
        names = hosts(count)
        sides = {"theirs": scrapys(names, octets), "ours": ours(names, octets)}
        best = dict.fromkeys(sides, float("inf"))
        for _ in range(options.rounds + 1):  # the first round warms both up
            for side, process in sides.items():
                made = requests(names, options.requests)
                best[side] = min(best[side], microseconds(process, made))
        ratio = best["ours"] / best["theirs"]
        print(f"| {count:,} | {best['theirs']:.1f} us | {best['ours']:.1f} us | {ratio:.2f}x |")


if __name__ == "__main__":
    main()
