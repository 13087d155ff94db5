"""Hostile robots.txt files: what the worst of them cost, at full size and at half of it.

Run ``python benchmarks/hostile.py``. Per file:

* *octets* of the file;
* *first*: milliseconds for parse + first verdict; at most 100 for 500 KiB;
* *x2*: that, over the same at half size: 2 is linear, 4 is quadratic;
* *2 KB*, *8 KB*: milliseconds of the slowest of some warm verdicts on nasty URLs of that length;
* *kept* and *peak*: octets allocated after and during parse + first, over the octets of the file,
  which are counted with what is kept; at most 4 kept;
* *protego*: parse + first, where it ends within `PROTEGO_SECONDS`, in a process of its own.

Worst cases that follow from the design: a verdict is linear in the octets of the URL times the
wildcard rules whose literal prefix begins the URL's path and, where they are many, whose longest
part begins as something in it: so 500 KiB of rules that all begin alike are the slowest. All else
is linear in the octets of the file, times the logarithm of its rules.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import multiprocessing
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
KEPT_RATIO = 4
REPEATS = 3

Make = Callable[[int], bytes]


def words(alphabet: str = string.ascii_lowercase, shortest: int = 1) -> Iterator[str]:
    """a, b, ... z, aa, ab, ...: all different."""
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
    """One group of that many user-agent lines and rules at full size, as many as fit for 0."""

    def make(octets: int) -> bytes:
        number = count * octets // FULL_OCTETS or octets // 36
        agents = "".join(f"User-agent: {word}\n" for word in islice(words(shortest=3), number))
        found = "".join(f"Disallow: /{word}\n" for word in islice(words(shortest=3), number))
        return f"{agents}User-agent: *\n{found}".encode()

    return make


def groups(count: int, name: Callable[[int, str], str]) -> Make:
    """That many groups at full size."""

    def make(octets: int) -> bytes:
        number = count * octets // FULL_OCTETS
        lines = (
            f"user-agent:{name(index, word)}\nallow:/{word}\n"
            for index, word in enumerate(islice(words(), number))
        )
        return "".join(lines).encode()

    return make


def odd_rules(octets: int) -> bytes:
    """Octets that take three times their space in normal form, as many rules as there can be."""
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
    """URLs that come near to matching, or need writing anew."""
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


def milliseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        gc.collect()
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best * 1000


def first(body: bytes) -> RobotsTxt:
    robots_txt = parse(body)
    robots_txt.verdict(AGENT, "https://example.com/aaaa/index.html?q=1")
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


def main() -> None:
    options = argparse.ArgumentParser(description="What hostile robots.txt files cost.")
    options.add_argument("files", nargs="*", help="parts of names; default: all")
    options.add_argument("--no-protego", action="store_true", help="measure only ours")
    given = options.parse_args()
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
        warm = [
            max(
                milliseconds(lambda: robots_txt.verdict(AGENT, url))  # noqa: B023 - called at once
                for url in nasty_urls(octets)
            )
            for octets in (2048, 8192)
        ]
        kept, peak = octets_kept_and_at_peak(body)
        protego = by_protego(body) if with_protego else "-"
        print(
            f"{name:26}{len(body):9,}{taken:9.1f}{taken / half:9.1f}{warm[0]:9.3f}{warm[1]:9.3f}"
            f"{kept / len(body):9.2f}{peak / len(body):9.2f}{protego:>9}",
            flush=True,
        )
        missed += [f"{name}: {taken:.0f} ms"] * (taken > FIRST_MS)
        missed += [f"{name}: keeps {kept / len(body):.1f}"] * (kept > KEPT_RATIO * len(body))

    robots_txt = first(rules("Allow:/{}\n")(FULL_OCTETS))
    print("\na URL of 1 MB over tiny literals, ms:", end="")
    for url in nasty_urls(1 << 20):
        print(f" {milliseconds(lambda: robots_txt.verdict(AGENT, url)):.1f}", end="")  # noqa: B023
    print(f"\n\nover {FIRST_MS} ms or {KEPT_RATIO} times the octets: ", end="")
    print("; ".join(missed) or "none")


if __name__ == "__main__":
    main()
