"""Large files in the memory of policies: evictions, and the CPU time to read the files again.

    python benchmarks/memory.py [--octets 8388608] [--files 50] [--rounds 5]

A crawl visits hosts with files of 500 KiB, and many hosts with ordinary files, in turn. Each visit
judges one URL. A file that is no longer in memory is read again, as from a store. "before" counts
three times the octets of each file and evicts the least recently used file, as the first version
did; "now" is the current package. Times are CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import random
import string
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from scrapy_rep.cache.memory import Lru
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.protocol.document import parse
from scrapy_rep.settings import SETTINGS

_FILE_OCTETS = 511_000
_POLICY_OCTETS = 2500
_ORDINARY = b"User-agent: *\nDisallow: /private\n" * 60
_TOKENS = ("examplebot",)


class OldMemory:
    """The first version: one queue for all files."""

    def __init__(self, limit_octets: int) -> None:
        self.limit_octets = limit_octets
        self.octets = self.evicted_count = 0
        self.values: OrderedDict[str, tuple[Reading, int]] = OrderedDict()

    def get(self, key: str) -> Reading | None:
        """Do as `Lru` does."""
        if key not in self.values:
            return None
        self.values.move_to_end(key)
        return self.values[key][0]

    def put(self, key: str, value: Reading, octets: int) -> None:
        """Do as `Lru` did in the first version."""
        self.values[key] = (value, octets)
        self.octets += octets
        while self.octets > self.limit_octets and len(self.values) > 1:
            self.octets -= self.values.popitem(last=False)[1][1]
            self.evicted_count += 1


def read_before(body: bytes) -> tuple[Reading, int]:
    file = parse(body)
    return Reading(file, file), _POLICY_OCTETS + 3 * len(body)


def read_now(body: bytes) -> tuple[Reading, int]:
    file = parse(body)
    reading = Reading(file, file)
    reading.settle(_TOKENS)
    return reading, _POLICY_OCTETS + reading.octets


def _lines(line: Callable[[random.Random], str], seed: int) -> bytes:
    lots, lines, octets = random.Random(seed), ["User-agent: *"], 14
    while octets < _FILE_OCTETS:
        lines.append(line(lots))
        octets += len(lines[-1]) + 1
    return "\n".join(lines).encode()


def _word(lots: random.Random, count: int) -> str:
    return "".join(lots.choices(string.ascii_lowercase + string.digits, k=count))


_KINDS: dict[str, Callable[[random.Random], str]] = {
    "comments": lambda _: "# nothing is said here",
    "sitemaps": lambda lots: f"Sitemap: https://example.com/{_word(lots, 12)}.xml",
    "others' groups": lambda lots: f"User-agent: x{_word(lots, 5)}\nDisallow: /{_word(lots, 9)}",
    "numbered rules": lambda lots: f"Disallow: /p{lots.randrange(10**6)}/",
    "random rules": lambda lots: f"Disallow: /{_word(lots, 12)}",
    "wildcard rules": lambda lots: f"Disallow: /*{_word(lots, 8)}*{_word(lots, 3)}",
}


def crawl(
    memory: Any, read: Callable[[bytes], tuple[Reading, int]], files: list[bytes], rounds: int
) -> tuple[int, int, float]:
    """Evictions, how often an ordinary file was read again, and CPU seconds."""
    ordinary_again, began = 0, time.process_time()
    for number in range(rounds):
        for index, body in enumerate(files):
            # Ordinary hosts are visited between the large ones, four for each of them.
            visits = [
                (f"large{index}", body),
                *((f"o{4 * index + k}", _ORDINARY) for k in range(4)),
            ]
            for key, octets in visits:
                reading = memory.get(key)
                if reading is None:
                    reading, cost = read(octets)
                    memory.put(key, reading, cost)
                    ordinary_again += number > 0 and octets is _ORDINARY
                reading.rules.verdict(f"https://example.com/{key}", _TOKENS)
    return memory.evicted_count, ordinary_again, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octets", type=int, default=SETTINGS["REP_MEMORY_OCTETS"].default)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.files} files of 500 KiB, {options.rounds} rounds, {options.octets:,} octets")
    print("                  evictions        ordinary again   CPU seconds      once")
    print("                  before    now    before    now    before    now")
    for name, line in _KINDS.items():
        files = [_lines(line, seed) for seed in range(options.files)]
        before = crawl(OldMemory(options.octets), read_before, files, options.rounds)
        lru: Lru[str, Reading] = Lru(options.octets)
        now = crawl(lru, read_now, files, options.rounds)
        *_, once = crawl(OldMemory(1 << 40), read_before, files, options.rounds)
        print(
            f"{name:<16}{before[0]:>8}{now[0]:>7}{before[1]:>10}{now[1]:>7}"
            f"{before[2]:>10.2f}{now[2]:>7.2f}{once:>10.2f}"
        )


if __name__ == "__main__":
    main()
