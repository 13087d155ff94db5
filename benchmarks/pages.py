"""The time to read the rules of pages, compared with decoding and parsing the same pages.

Run ``python benchmarks/pages.py [--rounds 7]``. The pages are the HTML among the shared corpus'
answers (from ``../shared/corpus`` or ``$REP_SHARED/corpus``), median about 24 kB: error pages and
home pages of real sites. CPU time: the least of the rounds for each page, then the sum over all
pages. The readings alternate within a round. Each comes right after its own parse, because the tree
is also warm in a crawl.

*decode + parse* is the cost of `response.selector`, which a callback that reads the page pays
anyway. The other columns read from that selector:

* *elements*: `page_rules`, with one field;
* *all page rules*: that, and the links that `rel` forbids;
* *usage*: `usage_of` with a robots.txt that has preferences, in addition to the page rules;
* *hrefs*: ``response.css("a::attr(href)").getall()``, for comparison.

*fields alone* is `page_rules` of a response that is not a page, with two lines of X-Robots-Tag.

A site sends the same fields with each page, and their meaning is kept. *all, new fields* and
*fields alone, new* use fields that no page had before.
"""

from __future__ import annotations

import argparse
import base64
import gc
import gzip
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy.http import HtmlResponse, Response

from scrapy_rep import page_rules, parse, usage_of
from scrapy_rep.extras.pages.readings import refused_links

URL = "https://www.example.com/dir/page"
TOKENS = ("FooBot",)
FIELDS = {"X-Robots-Tag": ["noarchive", "otherbot: noindex, nofollow, max-snippet: 20"]}
ROBOTS = parse(b"User-agent: *\nContent-Usage: train-ai=n\nContent-Signal: search=yes\nAllow: /\n")
TIMES = 10_000
MOST_OF_PARSING = 0.25
MOST_MICROSECONDS = 20
NEW = "all, new fields"


def bodies() -> Iterator[bytes]:
    """The HTML pages of the corpus."""
    shared = Path(os.environ.get("REP_SHARED", Path(__file__).parents[2] / "shared"))
    with gzip.open(shared / "corpus" / "robots.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            body = base64.b64decode(row["body_b64"])
            if b"<html" in body[:2000].lower():
                yield body


def fields_of(kind: str, *, are_new: bool = False) -> dict[str, str | list[str]]:
    """The fields of a response; its X-Robots-Tag differs each time, with the same length."""
    lines = FIELDS["X-Robots-Tag"]
    if are_new:
        lines = [lines[0], lines[1].replace("20", f"{next(_numbers)}")]
    return {"Content-Type": kind, "X-Robots-Tag": lines}


_numbers = count(100)


def response(body: bytes, *, are_fields_new: bool = False) -> HtmlResponse:
    return HtmlResponse(URL, body=body, headers=fields_of("text/html", are_new=are_fields_new))


def cpu(work: Callable[[], Any]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def all_rules(page: Response) -> None:
    page_rules(page, TOKENS)
    refused_links(page)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=7)
    rounds = arguments.parse_args().rounds
    pages = [*bodies()]
    print(f"{len(pages)} pages, median {sorted(map(len, pages))[len(pages) // 2]:,} octets")
    works: dict[str, Callable[[HtmlResponse], Any]] = {
        "elements": lambda page: page_rules(page, TOKENS),
        "all page rules": all_rules,
        NEW: all_rules,
        "usage": lambda page: usage_of(page, ROBOTS, product_tokens=TOKENS),
        "hrefs": lambda page: page.css("a::attr(href)").getall(),
    }
    least = {name: [float("inf")] * len(pages) for name in ("decode + parse", *works)}
    gc.disable()  # otherwise each reading pays for the trees of others
    for _ in range(rounds):
        for at, body in enumerate(pages):
            for name, work in works.items():
                page = response(body, are_fields_new=name == NEW)
                parsing = cpu(lambda page=page: page.selector)  # type: ignore[misc]
                reading = cpu(lambda page=page, work=work: work(page))  # type: ignore[misc]
                least["decode + parse"][at] = min(least["decode + parse"][at], parsing)
                least[name][at] = min(least[name][at], reading)
    totals = {name: sum(times) for name, times in least.items()}
    whole = totals["decode + parse"]
    for name, seconds in totals.items():
        print(f"{name:16} {seconds / len(pages) * 1e6:9.0f} us a page {seconds / whole:8.3f}")
    fields = min(_fields_alone() for _ in range(rounds))
    new = min(_fields_alone(are_new=True) for _ in range(rounds))
    print(f"{'fields alone':16} {fields:9.1f} us")
    print(f"{'fields alone, new':16} {new:8.1f} us")
    ratio, at_first = totals["all page rules"] / whole, totals[NEW] / whole
    most = f"of decode + parse (at most {MOST_OF_PARSING})"
    print(f"all page rules: {ratio:.3f}, with new fields {at_first:.3f} {most}")
    print(f"fields alone: {fields:.1f} us, new {new:.1f} us (at most {MOST_MICROSECONDS})")


def _fields_alone(*, are_new: bool = False) -> float:
    """Microseconds for the fields of a response that is not a page."""
    headers = (fields_of("image/png", are_new=are_new) for _ in range(TIMES))
    made = [Response(URL, headers=one) for one in headers]
    return cpu(lambda: [page_rules(one, TOKENS) for one in made]) / TIMES * 1e6


if __name__ == "__main__":
    main()
