"""Hostile robots.txt files: the cost of the worst ones, at full size and at half size.

Run ``python benchmarks/hostile.py``. Per file:

* *octets* of the file;
* *first*: milliseconds for parse + first verdict; at most 100 for 500 KiB. In a crawl, a thread
  does this for files of 64 KiB and more, so that other requests need not wait;
* *x2*: the ratio of *first* to the time at half size: 2 is linear, 4 is quadratic;
* *2 KB*, *8 KB*: CPU milliseconds of the slowest of some warm verdicts on nasty URLs of 2,083 and
  of 8,192 characters, some made from the rules of the file; at most 10 and 40;
* *kept* and *peak*: octets allocated after and during parse + first, divided by the octets of the
  file, which are included; at most 4 for *kept*;
* *protego*: parse + first in its own process, if it ends within `PROTEGO_SECONDS`.

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
import importlib.util
import multiprocessing
import random
import string
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.protocol.document import RobotsTxt, parse

AGENT = "ExampleBot"
FULL_OCTETS = 500 * 1024
PROTEGO_SECONDS = 5
FIRST_MS = 100
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
    from scrapy_rep.analysis.effect.differences import TooMuchToCompare, differences
    from scrapy_rep.analysis.findings import findings
    from scrapy_rep.analysis.lint.linter import lint
    from scrapy_rep.analysis.rewrite.normal import normalise
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


def _cpu_milliseconds(work: Callable[[bytes], object], body: bytes) -> float:
    gc.collect()
    began = time.process_time()
    work(body)
    return (time.process_time() - began) * 1000


def main() -> None:
    options = argparse.ArgumentParser(description="What hostile robots.txt files cost.")
    options.add_argument("files", nargs="*", help="parts of names; default: all")
    options.add_argument("--no-protego", action="store_true", help="measure only ours")
    options.add_argument("--comparing", action="store_true", help="findings, lint, format, diff")
    options.add_argument("--grammars", type=int, default=40)
    given = options.parse_args()
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
