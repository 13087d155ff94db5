"""`scrapy rep lint`, `format`, `diff` and `check` on real files, with one call for each.

::

    python benchmarks/command_corpus.py ../shared/corpus/robots.jsonl.gz [--every 10] [--tree OTHER]

The corpus is a gzipped file of JSON lines with ``host`` and ``body_b64``. The script calls each
command for each file in this process: `lint` with all codes, as JSON, `format` in every mode,
`diff` with the rewritten file and with one more rule, and `check` for some URLs and agents. It
prints the CPU seconds of each command, and every call that ends with an exception or an unexpected
status. The exit status is 1 if there is such a call. ``--tree`` is another working tree of this
repository for a comparison.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

_URLS = ("/", "/private/x", "/search?q=1", "/wp-admin/admin-ajax.php", "/a/../b%20c")
_AGENTS = ("*", "Googlebot", "GPTBot")
_FINE = {"lint": {0, 1}, "format": {0}, "diff": {0, 1}, "check": {0, 1}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one file of so many")
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args()
    sys.path.insert(0, str(options.tree))
    rep: Any = import_module("tests.commands.calling").rep
    seconds = dict.fromkeys(_FINE, 0.0)
    statuses: Counter[tuple[str, int]] = Counter()
    wrong: list[str] = []
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "robots.txt"), Path(folder, "new.txt")
        for host, body in list(_files(options.corpus))[:: options.every]:
            count += 1
            old.write_bytes(body)
            for name, arguments in _calls(rep, old, new, body):
                started = time.process_time()
                try:
                    status = rep(name, *arguments).status
                except Exception as error:
                    wrong.append(f"{host}: {name}: {error!r}")
                    continue
                seconds[name] += time.process_time() - started
                statuses[name, status] += 1
                if status not in _FINE[name]:
                    wrong.append(f"{host}: {name} {arguments}: status {status}")
    print(f"{count:,} files, {options.tree}")
    for name, fine in _FINE.items():
        told = ", ".join(f"{statuses[name, status]:,} with {status}" for status in sorted(fine))
        print(f"  {name:7} {seconds[name]:7.1f} s CPU; calls by status: {told}")
    print(f"wrong: {len(wrong)}")
    for line in wrong[:20]:
        print(f"  {line}")
    return 1 if wrong else 0


def _calls(rep: Any, old: Path, new: Path, body: bytes) -> Iterator[tuple[str, list[object]]]:
    yield "lint", [old, "--select", "REP", "--json"]
    for mode in ("normal", "compact", "compatible"):
        yield "format", [old, "--mode", mode]
    new.write_bytes(rep("format", old, "--mode", "compact").out.encode("utf-8", "surrogateescape"))
    yield "diff", [old, new]
    new.write_bytes(body + b"\nUser-agent: *\nDisallow: /*added\n")
    yield "diff", [old, new]
    agents = [word for agent in _AGENTS for word in ("--agent", agent)]
    yield "check", [*_URLS, "--robots", old, *agents]


def _files(corpus: Path) -> Iterator[tuple[str, bytes]]:
    with gzip.open(corpus, "rb") as rows:
        for row in map(json.loads, rows):
            yield row["host"], base64.b64decode(row["body_b64"])


if __name__ == "__main__":
    raise SystemExit(main())
