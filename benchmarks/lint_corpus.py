"""Lint, rewriting and its proof on real files.

::

    python benchmarks/lint_corpus.py ../shared/corpus/robots.jsonl.gz [--every 10]

The corpus is a gzipped file of JSON lines with ``host`` and ``body_b64``. The script prints
findings per file by severity, the most frequent codes, and the times. It also prints every file
without a proof that it means the same in some mode, and every file that a second rewrite changes.
The exit status is 1 if there is such a file.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.extras.webmaster.checks.codes import DEFAULT, GROUPS, Code, Severity
from scrapy_rep.extras.webmaster.effect.differences import differences
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one file of so many")
    options = parser.parse_args()
    files = list(_files(options.corpus))[:: options.every]
    octets = sum(len(body) for _, body in files)
    print(f"{len(files):,} files, {octets:,} octets")
    _lint(files)
    return _rewrite(files)


def _files(corpus: Path) -> Iterator[tuple[str, bytes]]:
    with gzip.open(corpus, "rb") as rows:
        for row in map(json.loads, rows):
            yield f"https://{row['host']}/robots.txt", base64.b64decode(row["body_b64"])


def _lint(files: list[tuple[str, bytes]]) -> None:
    found: Counter[Code] = Counter()
    having: Counter[Code] = Counter()
    kinds = {
        "all": Counter[str](),
        "default": Counter[str](),
        "default, a line each": Counter[str](),
    }
    slowest = (0.0, "")
    started = time.perf_counter()
    for uri, body in files:
        before = time.perf_counter()
        codes = [finding.code for finding in lint(body, uri)]
        slowest = max(slowest, (time.perf_counter() - before, uri))
        found.update(codes)
        having.update(set(codes))
        default = [code for code in codes if code in GROUPS[DEFAULT]]
        for name, told in zip(kinds, (codes, default, set(default)), strict=True):
            kinds[name].update(code.severity.value for code in told)
    seconds = time.perf_counter() - started
    print(f"lint: {seconds:.1f} s, slowest {slowest[0]:.2f} s ({slowest[1]})")
    print("a file, by severity:")
    for name, counts in kinds.items():
        per_file = ", ".join(
            f"{severity.value} {counts[severity.value] / len(files):.2f}" for severity in Severity
        )
        print(f"  {name:22} {per_file}, together {counts.total() / len(files):.2f}")
    print(f"{found.total():,} findings of {len(found)} codes; the most frequent:")
    for code, count in found.most_common(10):
        print(f"  {code.value} {code.slug:22} {count:7,} in {having[code]:5,} files")


def _rewrite(files: list[tuple[str, bytes]]) -> int:
    wrong = 0
    writing = proving = 0.0
    octets: Counter[str] = Counter()
    for uri, body in files:
        old = parse(body, uri)
        octets["as they count"] += len(old.octets)
        for mode in Mode:
            before = time.perf_counter()
            written = normalise(body, mode, uri)
            is_settled = normalise(written, mode, uri) == written
            between = time.perf_counter()
            new = parse(written, uri)
            is_same = next(differences(old, new), None) is None and old.sitemaps == new.sitemaps
            writing += between - before
            proving += time.perf_counter() - between
            octets[mode.value] += len(written)
            if not (is_settled and is_same):
                wrong += 1
                print(f"  {uri} {mode.value}: settled {is_settled}, the same {is_same}")
    print(f"format, each file twice in {len(Mode)} modes: {writing:.1f} s; proof: {proving:.1f} s")
    print("octets: " + ", ".join(f"{name} {count:,}" for name, count in octets.items()))
    print(f"not the same, or not settled: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
