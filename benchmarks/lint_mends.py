"""Advice of the linter on real files: each is followed alone and all at once, and proved.

::

    python benchmarks/lint_mends.py ../shared/corpus/robots.jsonl.gz [--every 10] [--part 1/20]
        [--hosts example.com,example.org]

The corpus is a gzipped file of JSON lines with ``host`` and ``body_b64``. The script first follows
each advice alone that should keep all verdicts. It compares the two files by `differences`, by the
slow model of the tests, and by their Sitemap lines, delays and preferences. Then it
follows all advice at once, and compares the files again. It prints findings by severity and by the
effect of their advice, and every wrong advice. The exit status is 1 if there is wrong advice.
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

from scrapy_rep.extras.webmaster.checks.codes import Effect
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.mending import edited
from scrapy_rep.extras.webmaster.rewrite.normal import normalise
from tests.extras.webmaster.linting.proving import prove


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one file of so many")
    parser.add_argument("--part", default="1/1", help="take the first, say, of 20 parts: 1/20")
    parser.add_argument("--hosts", default="", help="take the files of these, with commas")
    options = parser.parse_args()
    hosts = frozenset(f"https://{host}/robots.txt" for host in options.hosts.split(",") if host)
    part, parts = map(int, options.part.split("/"))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    started = time.process_time()
    files = [file for file in _files(options.corpus) if not hosts or file[0] in hosts]
    for uri, body in files[:: options.every][part - 1 :: parts]:
        counts["files"] += 1
        wrong += _one_by_one(uri, body, counts)
        counts["fixed files"] += 1
        try:
            prove(body, fixed(body, uri)[0], uri)
        except AssertionError as error:
            wrong.append(f"{uri} fixed as a whole: {error!r}")
    for name, count in sorted(counts.items()):
        print(f"{name:32} {count:9,}  {count / counts['files']:8.3f} a file")
    print(f"{time.process_time() - started:,.0f} s; wrong: {len(wrong)}")
    for line in wrong[:20]:
        print(f"  {line}")
    return 1 if wrong else 0


def _one_by_one(uri: str, body: bytes, counts: Counter[str]) -> Iterator[str]:
    formatted = False
    for finding in lint(body, uri):
        counts[f"severity {finding.severity.value}"] += 1
        counts[f"effect {finding.effect.value}"] += 1
        try:
            if finding.effect is Effect.KEEPS:
                assert finding.proposal is not None
                assert finding.proposal.edits
                prove(body, edited(body, finding.proposal.edits), uri)
                counts["proved"] += 1
            elif finding.effect is Effect.FORMATS:
                if not formatted:
                    formatted = True
                    prove(body, normalise(body, uri=uri), uri)
                counts["proved"] += 1
        except AssertionError as error:
            yield f"{uri} {finding}: {finding.mend}: {error!r}"


def _files(corpus: Path) -> Iterator[tuple[str, bytes]]:
    with gzip.open(corpus, "rb") as rows:
        for row in map(json.loads, rows):
            yield f"https://{row['host']}/robots.txt", base64.b64decode(row["body_b64"])


if __name__ == "__main__":
    raise SystemExit(main())
