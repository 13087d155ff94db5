"""The effect of `scrapy rep format --mode compatible` on weak parsers, with real files.

::

    python benchmarks/compatible.py [--every 10] [--part 1/4]

Each parser that can be imported judges URLs with each file, before and after `compatible`, for a
crawler that no file names and for two crawlers that many files name. Our verdict on the original
file counts as right. Google's own matcher gives the same verdict, except where docs/semantics.md
explains the difference. The script prints the shares of right verdicts in all files, and in files
with at least one wrong verdict of the parser. A file that a parser cannot read counts as wrong.

The corpus is in ``../shared`` or ``$REP_SHARED``. Its URLs are close to the rules of each file. For
a random URL of a site, nearly all parsers are right.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import importlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise  # noqa: E402
from scrapy_rep.protocol.document import parse  # noqa: E402

AGENTS = ("ZyxwvBot", "Googlebot", "GPTBot")

Ask = Callable[[str, str], bool]
Read = Callable[[str], Ask]


def urllib() -> Read:
    make = importlib.import_module("urllib.robotparser").RobotFileParser

    def read(text: str) -> Ask:
        parser = make()
        parser.parse(text.splitlines())
        return lambda agent, url: bool(parser.can_fetch(agent, url))

    return read


def rerp() -> Read:
    make = importlib.import_module("robotexclusionrulesparser").RobotExclusionRulesParser

    def read(text: str) -> Ask:
        parser = make()
        parser.parse(text)
        return lambda agent, url: bool(parser.is_allowed(agent, url))

    return read


def robotspy() -> Read:
    make = importlib.import_module("robots").RobotsParser.from_string

    def read(text: str) -> Ask:
        parser = make(text)
        return lambda agent, url: bool(parser.can_fetch(agent, url))

    return read


def protego() -> Read:
    make = importlib.import_module("protego").Protego.parse

    def read(text: str) -> Ask:
        parser = make(text)
        return lambda agent, url: bool(parser.can_fetch(url, agent))

    return read


PARSERS: dict[str, tuple[str, Callable[[], Read]]] = {
    "urllib.robotparser": ("urllib.robotparser", urllib),
    "robotexclusionrulesparser": ("robotexclusionrulesparser", rerp),
    "robotspy": ("robots", robotspy),
    "protego": ("protego", protego),
}
"""By name: the module, and what reads a file with it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--every", type=int, default=1, help="take one file of so many")
    parser.add_argument("--part", default="1/1", help="take the first, say, of 4 parts: 1/4")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    readers = dict(_importable())
    counts: Counter[tuple[str, ...]] = Counter()
    for body, urls in list(_files())[:: options.every][part - 1 :: parts]:
        counts["files",] += 1
        policy = parse(body)
        right = [policy.verdict(url, agent).allowed for agent in AGENTS for url in urls]
        texts = [text_of(body), text_of(normalise(body, Mode.COMPATIBLE))]
        for name, read in readers.items():
            before, after = (_rightly(read, text, urls, right) for text in texts)
            kinds = ["all"] if before == len(right) else ["all", "wrong"]
            for kind in kinds:
                counts[name, kind, "files"] += 1
                counts[name, kind, "urls"] += len(right)
                counts[name, kind, "before"] += before
                counts[name, kind, "after"] += after
    _show(counts, readers)


def _show(counts: Counter[tuple[str, ...]], names: Any) -> None:
    print(f"{counts['files',]:,} files; right verdicts as the file is, and as compatible writes it")
    for name in names:
        for kind, words in (("all", "all files"), ("wrong", "files with a wrong verdict")):
            urls = counts[name, kind, "urls"]
            before, after = (100 * counts[name, kind, when] / urls for when in ("before", "after"))
            print(
                f"  {name:26} {words:26} {before:6.2f} % -> {after:6.2f} %   "
                f"{counts[name, kind, 'files']:6,} files, {urls:9,} verdicts"
            )


def _rightly(read: Read, text: str, urls: Sequence[str], right: Sequence[bool]) -> int:
    try:
        ask = read(text)
        answers = [ask(agent, url) for agent in AGENTS for url in urls]
    except Exception:
        return 0
    return sum(answer is verdict for answer, verdict in zip(answers, right, strict=True))


def text_of(body: bytes) -> str:
    """Decode a robots.txt as Scrapy does."""
    return body.decode("utf-8-sig", "ignore")


def _importable() -> Iterator[tuple[str, Read]]:
    for name, (module, make) in PARSERS.items():
        if find_spec(module) is None:
            print(f"{name} is not installed")
        else:
            yield name, make()


def _files() -> Iterator[tuple[bytes, list[str]]]:
    corpus = Path(os.environ.get("REP_SHARED", ROOT.parent / "shared")) / "corpus"
    urls: dict[str, list[str]] = {}
    with gzip.open(corpus / "verdicts.jsonl.gz", "rb") as rows:
        for row in map(json.loads, rows):
            urls[row["host"]] = row["urls"]
    with gzip.open(corpus / "robots.jsonl.gz", "rb") as rows:
        for row in map(json.loads, rows):
            if row["host"] in urls:
                yield base64.b64decode(row["body_b64"]), urls[row["host"]]


if __name__ == "__main__":
    main()
