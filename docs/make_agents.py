"""Writes scrapy_rep/analysis/agents/crawler_table.py from a list of known crawlers.

::

    python docs/make_agents.py AGENTS.JSONL [FILE]

Each line of the list is an object with the fields of `Crawler`. Its ``note`` may name fields
without a source after ``mem:``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

_HERE = (
    Path(__file__).resolve().parents[1] / "scrapy_rep" / "analysis" / "agents" / "crawler_table.py"
)
_MEMORY = re.compile(r"mem: ([a-z_, ]+)")
_FLAGS = {"user_triggered": "asked", "policy_token": "policy", "obsolete": "obsolete"}

_HEAD = '''\
# ruff: noqa: E501 - a crawler a line
"""Known crawlers, by a list of {date}. Made by `python docs/make_agents.py`.

Columns: token; operator; purpose; whether it obeys; whether it obeys Crawl-delay; whether it reads
wildcards; the source of these statements and its date; flags; the token of the group that it takes
before ``*``; the fields that are from memory; other spellings.
"""

DATED = "{date}"

ROWS = """\\
'''


def table(lines: list[str], date: str) -> str:
    """The module."""
    rows = [_row(json.loads(line)) for line in lines if line.strip()]
    return _HEAD.format(date=date) + "\n".join(rows) + '\n"""\n'


def _row(crawler: dict[str, Any]) -> str:
    remembered = _MEMORY.search(crawler["note"])
    fields = re.findall(r"[a-z_]+", remembered[1]) if remembered else []
    cells = [
        crawler["token"],
        crawler["operator"],
        crawler["purpose"],
        crawler["obeys"],
        crawler["crawl_delay"],
        crawler["wildcards"],
        f"{crawler['source_kind']} {crawler['seen']}".strip(),
        " ".join(word for name, word in _FLAGS.items() if crawler[name]),
        crawler["fallback"] or "",
        " ".join(field for field in fields if field in crawler),
        ", ".join(crawler["other_spellings"]),
    ]
    if any("|" in cell for cell in cells):
        raise ValueError(crawler)
    return " | ".join(cell or "-" for cell in cells).replace("\\", "\\\\")


def main() -> None:
    """Write the module."""
    source = Path(sys.argv[1])
    date = re.search(r"compiled (\d{4}-\d\d-\d\d)", source.with_suffix(".md").read_text())
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else _HERE  # noqa: PLR2004
    lines = source.read_text(encoding="utf-8").splitlines()
    target.write_text(table(lines, date[1] if date else "an unknown date"), encoding="utf-8")


if __name__ == "__main__":
    main()
