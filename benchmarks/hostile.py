"""What hostile sites cost: the worst robots.txt files, pages and sitemaps that we know.

Run ``python benchmarks/hostile.py``. Per robots.txt, at full size and at half size:

* *octets* of the file;
* *first*: milliseconds for parse + first verdict; at most 100 for 500 KiB;
* *x2*: the ratio of *first* to the time at half size: 2 is linear, 4 is quadratic;
* *2 KB*, *8 KB*: CPU milliseconds of the slowest of some warm verdicts on nasty URLs of 2,083 and
  of 8,192 characters, some made from the rules of the file; at most 10 and 40;
* *kept* and *peak*: octets allocated after and during parse + first, divided by the octets of the
  file, which are included; at most 4 for *kept*;
* *protego*: parse + first in its own process, if it ends within `PROTEGO_SECONDS`.

``--sites`` instead shows the other files, of 500 KB and of 5 MB: pages, header fields, sitemaps,
tdmrep.json, License and other records about the use of content, cards, and directories of keys.
Per file:

* *plain*: CPU milliseconds of a plain parse of the same octets, by lxml or json; for a page, this
  makes the tree that callbacks share;
* *call*: those of our longest single call in the event loop; at most 100. Pages and tdmrep.json
  files of 64 KiB and more are read in a thread, except by callbacks that call `page_rules`;
* *all*: those of all our calls, threads included;
* *ratio* of *all* to *plain*.

``--comparing`` instead shows the cost of linting, rewriting and comparing such files, and how it
grows. It is limited by counted work.

The worst case by design is a file with many wildcard rules that do not match, although the URL
contains their longest parts. There, the number of steps is limited, and a URL that needs more is
disallowed. Other costs are linear in the octets of the file, times the logarithm of its rules.

At the end, the script measures verdicts with generated grammars: files of 500 KiB with rules from a
random template, and the same URLs. ``--grammars`` sets their number.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import importlib.util
import json
import logging
import multiprocessing
import random
import string
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS

AGENT = "ExampleBot"
FULL_OCTETS = 500 * 1024
PROTEGO_SECONDS = 5
FIRST_MS = 100
CALL_MS = 100
WARM_MS = {2083: 10, 8192: 40}  # by characters of the URL
KEPT_RATIO = 4
REPEATS = 3

Make = Callable[[int], bytes]


def words(alphabet: str = string.ascii_lowercase, shortest: int = 1) -> Iterator[str]:
    """Different words: a, b, ... z, aa, ab, ..."""
    length = shortest
    while True:
        yield from map("".join, product(alphabet, repeat=length))
        length += 1


def fill(
    octets: int, lines: Iterator[str], head: str = "User-agent: *\n", encoding: str = "utf-8"
) -> bytes:
    """As many lines as fit."""
    taken, size = [head], len(head)
    for line in lines:
        size += len(line)
        if size > octets:
            break
        taken.append(line)
    return "".join(taken).encode(encoding)


def rules(form: str) -> Make:
    return lambda octets: fill(octets, (form.format(word) for word in words()))


def same(line: str) -> Make:
    return lambda octets: fill(octets, iter(lambda: line, None))


def nested(octets: int) -> bytes:
    return fill(octets, (f"Allow:/{'a' * depth}\n" for depth in range(octets)))


def same_prefix(octets: int) -> bytes:
    prefix = "/" + "a" * 50
    return fill(octets, (f"Allow:{prefix}{word}\n" for word in words()))


def stars(octets: int) -> bytes:
    return fill(octets, (f"Allow:/{'*a' * 20}*{word}b\n" for word in words()))


def short_parts(octets: int) -> bytes:
    return fill(octets, (f"Allow:/*{'*'.join(word)}*-\n" for word in words()))


def same_gram(octets: int) -> bytes:
    return fill(octets, (f"Allow:/*aaa{word}-\n" for word in words()))


def long_stars(octets: int) -> bytes:
    return b"User-agent: *\nAllow: /" + b"*a" * (octets // 2) + b"*b\n"


def agents_and_rules(count: int) -> Make:
    """One group with this many user-agent lines and rules at full size; 0 means as many as fit."""

    def make(octets: int) -> bytes:
        number = count * octets // FULL_OCTETS or octets // 36
        agents = "".join(f"User-agent: {word}\n" for word in islice(words(shortest=3), number))
        found = "".join(f"Disallow: /{word}\n" for word in islice(words(shortest=3), number))
        return f"{agents}User-agent: *\n{found}".encode()

    return make


def groups(count: int, name: Callable[[int, str], str]) -> Make:
    """This many groups at full size; 0 means as many as fit."""

    def make(octets: int) -> bytes:
        number = count * octets // FULL_OCTETS or octets // 36
        lines = (
            f"user-agent:{name(index, word)}\nallow:/{word}\n"
            for index, word in enumerate(islice(words(), number))
        )
        return "".join(lines).encode()

    return make


def odd_rules(octets: int) -> bytes:
    """As many rules as possible, with octets that are three times as long in normal form."""
    lines = (f"Allow:/{word}*\n" for word in words("".join(map(chr, range(128, 256))), 2))
    return fill(octets, lines, encoding="latin-1")


def no_groups(octets: int) -> bytes:
    return fill(octets, (f"agent{word}\n" for word in words()), head="")


def user_agents(octets: int) -> bytes:
    return fill(octets, (f"user-agent:{word}\n" for word in words()), head="")


def utf16(octets: int) -> bytes:
    return rules("Allow:/{}\n")(octets // 2).decode().encode("utf-16")


FILES: dict[str, Make] = {
    "tiny literals /ab": rules("Allow:/{}\n"),
    "one rule again and again": same("Allow:/ab\n"),
    "nested /a /aa /aaa": nested,
    "same 50 octets, then /ab": same_prefix,
    "escapes /%41ab%": rules("Allow:/%41{}%\n"),
    "odd octets, wildcards": odd_rules,
    "non-ASCII": rules("Allow:/é{}\n"),
    "anchored /ab$": rules("Allow:/{}$\n"),
    "wildcards /*ab": rules("Allow:/*{}\n"),
    "wildcards *ab": rules("Allow:*{}\n"),
    "wildcards /ab*c": rules("Allow:/{}*c\n"),
    "wildcards, trailing /ab*": rules("Allow:/{}*\n"),
    "wildcards, short parts": short_parts,
    "wildcards, alike": same_gram,
    "wildcards, /*%2Fab": rules("Allow:/*%2F{}\n"),
    "wildcards, /*%2F*ab^": rules("Allow:/*%2F*{}^\n"),
    "wildcards, long and alike": rules(f"Allow:/*{'a' * 30}{{}}b{'a' * 30}\n"),
    "wildcards, /*ab*^": rules("Allow:/*{}*^\n"),
    "wildcards, /a*ab": rules("Allow:/a*{}\n"),
    "few and long /*aaaabaaaa": rules(f"Allow:/*{'a' * 240}{{}}b{'a' * 240}\n"),
    "/*a*a*a ... *b, many": stars,
    "/*a*a*a ... *b, one line": long_stars,
    "index.htm": rules("Allow:/{}/index.htm\n"),
    "4,000 agents, 4,000 rules": agents_and_rules(4000),
    "agents and rules that fit": agents_and_rules(0),
    "user-agent lines alone": user_agents,
    "15,000 groups": groups(15_000, lambda _, word: word),
    "20,000 groups for *": groups(20_000, lambda *_: "*"),
    "20,000 groups, * in turn": groups(20_000, lambda index, word: "*" if index % 2 else word),
    "'agent' without a record": no_groups,
    "one line": lambda octets: b"User-agent: *\nDisallow: /" + b"a" * octets,
    "one line of blanks": lambda octets: b"User-agent: *\nDisallow" + b" " * octets,
    "blank lines (5 MB)": lambda octets: b"\n" * (10 * octets),
    "CR (5 MB)": lambda octets: b"\r" * (10 * octets),
    "comments": same("#\n"),
    "lines without colon": same("a b c\n"),
    "NUL": lambda octets: b"\0" * octets,
    "NUL on each line": same("Allow:/\0a\n"),
    "invalid UTF-8": lambda octets: b"User-agent:*\n" + b"Allow:/\xff\xc3\n" * (octets // 10),
    "UTF-16": utf16,
    "UTF-16, odd and broken": lambda octets: b"\xff\xfe" + b"\x00\xd8" * (octets // 2),
    "byte order marks": lambda octets: b"\xef\xbb\xbf" * (octets // 3),
    "misspelt keys": rules("dissallow :/{} #\n"),
    "other records": rules("a{}:1\n"),
    "other records, an agent": lambda octets: same("a:\n")(octets - 13) + b"User-agent:*\n",
}


def nasty_urls(octets: int) -> list[str]:
    """URLs that nearly match, or must be normalised."""
    return [
        "/" + "a" * octets,
        "/" + "ab" * (octets // 2),
        "/" + "zz" * (octets // 2),
        "/" + "".join(islice(words(shortest=3), octets // 3)),
        "/" + "%41" * (octets // 3),
        "/" + "%" * octets,
        "/" + "é" * octets,
        "/?" + "*$" * (octets // 2),
        "/" + "/" * octets,
        "https://" + "a" * octets,
        "https://example.com/" + "?" * octets,
    ]


def urls_from(body: bytes, octets: int) -> list[str]:
    """URLs with as many parts of rules as fit, in the path and in the query."""
    rules_read = [line.partition(b":")[2] for line in body[: 20 * octets].split(b"\n")[1:]]
    parts = [part.decode("latin-1").strip() for rule in rules_read for part in rule.split(b"*")]
    held = "".join(dict.fromkeys(part for part in parts if part not in ("", "/")))[:octets]
    first = parts[1][:12] if len(parts) > 1 and parts[1] else "a"
    return [f"/{held}", f"/?{held}", f"/{held.replace('%2F', '/')}", "/" + first * octets][:octets]


def grammar(draw: random.Random) -> Make:
    """Files with rules from one template: literals, wildcards, escapes, and short words."""
    alphabet = string.ascii_lowercase[: draw.choice([1, 2, 3, 26])]
    shortest = draw.choice([1, 2, 3, 6, 20])
    pieces = ["{0}", "*", "*", draw.choice("ab/") * draw.choice([1, 3, 30, 300])]
    pieces += [draw.choice(["%2F", "%3F", "é", "/", "?", "=", "*%2F"])]
    form = "".join(draw.choices([*pieces, "*{0}"], k=draw.randint(2, 8)))
    form = f"/{form}" if "{0}" in form else f"/{form}*{{0}}"
    end = draw.choice(["", "^", "*^", "$", "*", "b"])

    def make(octets: int) -> bytes:
        return fill(octets, (f"Allow:{form.format(w)}{end}\n" for w in words(alphabet, shortest)))

    return make


def slowest(robots_txt: RobotsTxt, body: bytes) -> list[float]:
    """The slowest warm verdict on nasty URLs, by their length."""
    return [
        max(
            milliseconds(lambda: robots_txt.verdict(url[:octets], AGENT))  # noqa: B023
            for url in [*nasty_urls(octets), *urls_from(body, octets)]
        )
        for octets in WARM_MS
    ]


def measure_grammars(count: int) -> list[str]:
    """The slowest verdicts with generated grammars, and those over the limit."""
    missed = []
    worst = dict.fromkeys(WARM_MS, 0.0)
    for seed in range(count):
        body = grammar(random.Random(seed))(FULL_OCTETS)
        for octets, taken in zip(WARM_MS, slowest(first(body), body), strict=True):
            worst[octets] = max(worst[octets], taken)
            if taken > WARM_MS[octets]:
                missed.append(f"grammar {seed}: {taken:.0f} ms for {octets} ({body[14:60]!r})")
    told = ", ".join(f"{taken:.1f} ms for {octets}" for octets, taken in worst.items())
    print(f"\n{count} grammars, slowest verdict by characters of the URL: {told}")
    return missed


def milliseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        gc.collect()
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1000


def first(body: bytes) -> RobotsTxt:
    robots_txt = parse(body)
    robots_txt.verdict("https://example.com/aaaa/index.html?q=1", AGENT)
    return robots_txt


def octets_kept_and_at_peak(body: bytes) -> tuple[int, int]:
    gc.collect()
    tracemalloc.start()
    own_copy = bytes(bytearray(body))
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    robots_txt = first(own_copy)
    del own_copy
    gc.collect()  # empties the free lists of the interpreter, 128 KB of tuples alone
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del robots_txt
    return kept, max(peak, before)


def _first_by_protego(body: bytes, answer: multiprocessing.SimpleQueue[float]) -> None:
    protego = importlib.import_module("protego").Protego
    started = time.perf_counter()
    protego.parse(body.decode("utf-8", "ignore")).can_fetch("https://example.com/aaaa", AGENT)
    answer.put((time.perf_counter() - started) * 1000)


def by_protego(body: bytes) -> str:
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    process = context.Process(target=_first_by_protego, args=(body, answer))
    process.start()
    process.join(PROTEGO_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        return f"> {PROTEGO_SECONDS} s"
    return "raised" if answer.empty() else f"{answer.get():,.0f}"


def is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


# Lint, format and diff have limited work, so a large file may end as "not settled".

COMPARED_OCTETS = 64 * 1024
COMPARED_FILES: dict[str, Make] = {
    "/~** tails": rules("allow:/~**{}\n"),
    "pairs of wildcards": lambda octets: fill(
        octets, (f"disallow:/*{word}*{word[::-1]}\n" for word in words())
    ),
    "many agents, /?%2A": groups(0, lambda _, word: f"{word}\nallow:/?%2A{word}#"),
    "one rule, many agents": groups(0, lambda _, word: f"{word}\nallow:/?%2A#"),
    "agents and rules that fit": agents_and_rules(0),
    "wildcards /*ab": rules("Allow:/*{}\n"),
    "nested /a /aa /aaa": nested,
    "/*a*a*a ... *b, many": stars,
    "/*a*a*a ... *b, lines": lambda octets: fill(
        octets, (f"Allow:/{'*a' * 4000}{word}\n" for word in words())
    ),
    "sitemaps": rules("Sitemap:/{}\n"),
    "clean-param": rules("Clean-param:{} /*a*\n"),
}


def comparing() -> None:
    """Print the table of findings, lint, format, diff and clean-param."""
    from scrapy_rep.extras.webmaster.effect.differences import TooMuchToCompare, differences
    from scrapy_rep.extras.webmaster.findings import findings
    from scrapy_rep.extras.webmaster.linting.linter import lint
    from scrapy_rep.extras.webmaster.rewrite.normal import normalise
    from scrapy_rep.protocol.extensions.clean_params import CleanParams

    def diff(body: bytes) -> bool:
        try:
            for _ in differences(parse(body), parse(body + b"\nuser-agent:*\ndisallow:/new\n")):
                pass
        except TooMuchToCompare:
            return False
        return True

    works: dict[str, Callable[[bytes], object]] = {
        "findings": lambda body: findings(parse(body)),
        "lint": lint,
        "normal": normalise,
        "compact": lambda body: normalise(body, "compact"),
        "compatible": lambda body: normalise(body, "compatible"),
        "diff": diff,
        "sitemaps": lambda body: parse(body, "https://h/robots.txt").sitemaps,
        "clean": lambda body: CleanParams.of(parse(body).other_records).canonical(
            "https://h/a?b=1&c=2"
        ),
    }
    print(f"\nmilliseconds of CPU for {COMPARED_OCTETS:,} octets, and over those for half of them")
    print(f"{'':26}" + "".join(f"{name:>15}" for name in works) + "  settled")
    for name, make in COMPARED_FILES.items():
        cells = []
        for work in works.values():
            whole, half = (
                _cpu_milliseconds(work, make(octets))
                for octets in (COMPARED_OCTETS, COMPARED_OCTETS // 2)
            )
            cells.append(f"{whole:9,.0f} x{whole / max(half, 0.1):4.1f}")
        is_settled = diff(make(COMPARED_OCTETS))
        print(f"{name:26}{''.join(cells)}  {'yes' if is_settled else 'no'}", flush=True)


def _cpu_milliseconds(work: Callable[[Any], object], body: Any) -> float:
    gc.collect()
    began = time.process_time()
    work(body)
    return (time.process_time() - began) * 1000


# Pages, sitemaps and other files of sites

SITE_OCTETS = (500_000, 5_000_000)
_HTML = {"Content-Type": "text/html"}
_URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'

Cost = tuple[float, float, float]
"""Milliseconds: of a plain parse, of the longest call in the event loop, and of all calls."""


def again(piece: str, head: str = "", tail: str = "") -> Make:
    return lambda octets: f"{head}{piece * (octets // len(piece))}{tail}".encode()


def numbered(piece: str, head: str = "", tail: str = "") -> Make:
    def make(octets: int) -> bytes:
        count = octets // (len(piece) + 3)
        return f"{head}{''.join(map(piece.format, range(count)))}{tail}".encode()

    return make


def _once(work: Callable[[], object]) -> float:
    """CPU milliseconds, the better of two calls."""
    return min(_cpu_milliseconds(lambda _: work(), b"") for _ in range(2))


def _page(body: bytes, **fields: bytes) -> Any:
    from scrapy.http import HtmlResponse

    headers = {**_HTML, **{name.replace("_", "-"): value for name, value in fields.items()}}
    return HtmlResponse("https://example.com/", body=body, headers=headers)


def _costs_of_page(body: bytes) -> Cost:
    from scrapy_rep.extras.pages.readings import page_rules, refused_links, usage_of

    def parsed() -> Any:
        response = _page(body)
        assert response.selector is not None
        return response

    reads: list[Callable[[Any], object]] = [
        lambda page: page_rules(page, "FooBot"),
        lambda page: usage_of(page, b"", product_tokens="FooBot"),
    ]
    taken = [min(_cpu_milliseconds(read, parsed()) for _ in range(2)) for read in reads]
    links = _cpu_milliseconds(refused_links, parsed())
    in_loop = taken if len(body) >= 1 << 16 else [*taken, links]
    return _once(lambda: _page(body).selector), max(in_loop), sum(taken) + links


def _costs_of_field(name: str) -> Callable[[bytes], Cost]:
    from scrapy_rep.extras.pages.readings import usage_of

    def costs(value: bytes) -> Cost:
        taken = _once(
            lambda: usage_of(_page(b"<p>", **{name: value}), b"", product_tokens="FooBot")
        )
        return _once(lambda: value.decode().split(",")), taken, taken

    return costs


def _costs_of_sitemap(body: bytes) -> Cost:
    from lxml import etree

    from scrapy_rep.sitemaps.reader import Sitemap

    began = time.process_time()
    sitemap = Sitemap(body)
    taken = [(time.process_time() - began) * 1000]
    entries = iter(sitemap)
    is_over = False
    while not is_over:
        began = time.process_time()
        if not sitemap.step():
            is_over = next(entries, None) is None
        taken.append((time.process_time() - began) * 1000)
    parser = etree.XMLParser(recover=True, huge_tree=True)
    plain = _once(lambda: etree.fromstring(gzip.decompress(body), parser))
    return plain, max(taken), sum(taken)


def _costs_of_json(read: Callable[[bytes], object], *, is_in_thread: bool) -> Callable[..., Cost]:
    def costs(body: bytes) -> Cost:
        taken = _once(lambda: read(body))
        return _once(lambda: json.loads(body)), 0.0 if is_in_thread else taken, taken

    return costs


def _costs_of_robots_txt(body: bytes) -> Cost:
    file = parse(body, "https://example.com/robots.txt")
    reads = [
        lambda: file_usage(file, "/", "FooBot"),
        lambda: file.sitemaps,
        lambda: file.invalid_sitemaps,
    ]
    taken = [_once(read) for read in reads]
    return _once(lambda: [line.partition(b":") for line in body.split()]), max(taken), sum(taken)


def site_files() -> Iterator[tuple[str, Make, Callable[[bytes], Cost]]]:
    """A name, how to make the file in a size, and how to measure it."""
    from scrapy_rep.extras.identity.card import card_problems, key_set_problems
    from scrapy_rep.extras.identity.signatures import wish_of
    from scrapy_rep.extras.pages.usage.tdmrep import TdmFile

    body = "<html><head></head><body>"
    pages = {
        "2,000 nested, metas": again("<meta name=a>", body + "<div>" * 2_000),
        "nested again, metas": again("<i>" * 900 + "<meta name=a>" + "</i>" * 900),
        "metas": again("<meta name=a>", "<head>"),
        "metas of many names": numbered("<meta name=a{}>", "<head>"),
        "metas for us": again("<meta name=robots content=index>", "<head>"),
        "content a:b,": again("a:b,", "<meta name=robots content='", "'>"),
        "content no": again("no ", "<meta name=robots content='", "'>"),
        "content of dates": again("unavailable_after:Wed,", "<meta name=robots content='", "'>"),
        "links": numbered("<a href={}>x</a>", f"{body}<a href=/a rel=nofollow>"),
        "licence elements": numbered("<link rel=license href={}>", "<head>"),
        "one licence again": again("<link rel=license href=/a>", "<head>"),
        "elements": again("<b></b>", body),
    }
    for name, make in pages.items():
        yield f"page: {name}", make, _costs_of_page
    small = "page of 65,535 octets: links"
    yield small, lambda _: pages["links"](66_500)[:65_535], _costs_of_page
    fields = {
        "X_Robots_Tag": "a:b,",
        "Robots_Tag": "*;a,",
        "Content_Usage": "a=n,",
        "Content_Signal": "a,",
        "Link": "<a>;rel=license,",
        "tdm_reservation": "1,",
    }
    for name, piece in fields.items():
        yield f"field: {name}", again(piece), _costs_of_field(name)
    sitemaps = {
        "pages": again("<url><loc>http://a/</loc></url>", _URLSET),
        "empty entries": again("<url></url>", _URLSET),
        "no entries": again("<a/>", _URLSET),
        "nested": again("<a>", _URLSET),
        "&": again("&", _URLSET),
        "<": again("<", _URLSET),
        "values": again("<a>b</a>", _URLSET + "<url><loc>http://a/</loc>"),
        "alternates": again(
            "<url><loc>http://a/</loc>" + "<link href='a'/>" * 500 + "</url>", _URLSET
        ),
        "an open comment": again("<!-", _URLSET + "<!--"),
        "]]": again("]]", _URLSET + "<![CDATA["),
        "text": again("http://a/\n"),
        "text, blank": again("\n", "http://a/\n"),
        "nothing": again("a"),
    }
    for name, make in sitemaps.items():
        yield f"sitemap: {name}", _gzipped(make), _costs_of_sitemap
    tdm = {
        "rules": again('{"location":"/","tdm-reservation":1},', "[", "1]"),
        "numbers": again("1,", "[", "1]"),
        "locations": again('"location":"/",', '[{"tdm-reservation":1,', '"a":1}]'),
        "policy": again("a/", '[{"location":"/","tdm-reservation":1,"tdm-policy":"', '"}]'),
    }
    for name, make in tdm.items():
        uri = "https://example.com/.well-known/tdmrep.json"
        read = partial(TdmFile.of, uri=uri, limit_octets=max(SITE_OCTETS) * 2)
        yield f"tdmrep.json: {name}", make, _costs_of_json(read, is_in_thread=True)
        small_make = lambda _, make=make: make(65_000)  # noqa: E731
        yield f"tdmrep.json of 64 KB: {name}", small_make, _costs_of_json(read, is_in_thread=False)
    for line in (
        *(
            "License: /{}",
            "License: {}",
            "Content-Usage: /{} train-ai=n",
            "Content-Signal: /{} a=b",
        ),
        *("Sitemap: {}", "Sitemap:http://a/{}", "Sitemap: www.a{}.b/"),
    ):
        yield f"robots.txt: {line}", numbered(f"{line}\n", "User-agent: *\n"), _costs_of_robots_txt

    def published(make: Make) -> Make:  # a larger file is not read
        return lambda octets: make(min(octets, PARSE_LIMIT_OCTETS))

    keys = _costs_of_json(lambda body: key_set_problems(json.loads(body)), is_in_thread=False)
    yield "directory: {}", published(again("{},", '{"keys":[', "1]}")), keys
    key = '{"kty":"OKP","crv":"Ed25519","x":"a","kid":"a"},'
    yield "directory: keys", published(again(key, '{"keys":[', "1]}")), keys
    card = _costs_of_json(lambda body: card_problems(json.loads(body), "a"), is_in_thread=False)
    yield "card: contacts", published(again('"a:",', '{"contacts":[', '"a:"]}')), card

    def wish(value: bytes) -> Cost:
        taken = _once(lambda: wish_of(value.decode()))
        return _once(lambda: value.decode().split(",")), taken, taken

    yield "Accept-Signature", again("a=(),", "", "b"), wish


def _gzipped(make: Make) -> Make:
    return lambda octets: gzip.compress(make(octets), 1)


def sites(parts: list[str]) -> None:
    """Print the table of pages, sitemaps and other files."""
    logging.disable(logging.WARNING)
    print(
        f"{'':42}" + "".join(f"{name:>9}" for name in ("octets", "plain", "call", "all", "ratio"))
    )
    missed = []
    for name, make, costs in site_files():
        if parts and not any(part in name for part in parts):
            continue
        for octets in SITE_OCTETS:
            body = make(octets)
            plain, call, all_ = costs(body)
            told = f"{name[:42]:42}{octets:9,}{plain:9.1f}{call:9.1f}{all_:9.1f}"
            print(f"{told}{all_ / max(plain, 0.1):9.1f}", flush=True)
            missed += [f"{name}, {octets:,}: {call:.0f} ms"] * (call > CALL_MS)
    print(f"\nover {CALL_MS} ms: " + ("; ".join(missed) or "none"))


def main() -> None:
    options = argparse.ArgumentParser(description="What hostile sites cost.")
    options.add_argument("files", nargs="*", help="parts of names; default: all")
    options.add_argument("--no-protego", action="store_true", help="measure only ours")
    options.add_argument("--comparing", action="store_true", help="findings, lint, format, diff")
    options.add_argument("--grammars", type=int, default=40)
    options.add_argument("--sites", action="store_true", help="pages, sitemaps and other files")
    given = options.parse_args()
    if given.sites:
        sites(given.files)
        return
    if given.comparing:
        comparing()
        return
    with_protego = not given.no_protego and is_installed("protego")

    head = ("octets", "first", "x2", "2 KB", "8 KB", "kept", "peak", "protego")
    print(f"{'':26}" + "".join(f"{title:>9}" for title in head))
    missed = []
    for name, make in FILES.items():
        if given.files and not any(part in name for part in given.files):
            continue
        body = make(FULL_OCTETS)
        half_body = make(FULL_OCTETS // 2)
        taken = milliseconds(lambda: first(body))  # noqa: B023 - called at once
        half = milliseconds(lambda: first(half_body))  # noqa: B023 - called at once
        robots_txt = first(body)
        warm = slowest(robots_txt, body)
        kept, peak = octets_kept_and_at_peak(body)
        protego = by_protego(body) if with_protego else "-"
        print(
            f"{name:26}{len(body):9,}{taken:9.1f}{taken / half:9.1f}{warm[0]:9.3f}{warm[1]:9.3f}"
            f"{kept / len(body):9.2f}{peak / len(body):9.2f}{protego:>9}",
            flush=True,
        )
        missed += [f"{name}: {taken:.0f} ms"] * (taken > FIRST_MS)
        missed += [
            f"{name}: {ms:.0f} ms for a URL of {octets}"
            for ms, (octets, most) in zip(warm, WARM_MS.items(), strict=True)
            if ms > most
        ]
        missed += [f"{name}: keeps {kept / len(body):.1f}"] * (kept > KEPT_RATIO * len(body))

    missed += measure_grammars(given.grammars)
    robots_txt = first(rules("Allow:/{}\n")(FULL_OCTETS))
    print("\na URL of 1 MB over tiny literals, ms:", end="")
    for url in nasty_urls(1 << 20):
        print(f" {milliseconds(lambda: robots_txt.verdict(url, AGENT)):.1f}", end="")  # noqa: B023
    print(f"\n\nover {FIRST_MS} ms, {WARM_MS} ms, or {KEPT_RATIO} times the octets: ", end="")
    print("; ".join(missed) or "none")


if __name__ == "__main__":
    main()
