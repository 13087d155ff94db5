"""Measure every table of the documentation again, in one run on one machine.

    python benchmarks/tables.py [PART OF A COMMAND ...]

A line below a table names the command that measured it, the date, the versions and the machine.
This script runs that command, and puts the lines that it prints as a table in place of the old
ones. Run it without arguments before a release, on a machine that does nothing else: it takes about
40 minutes. `tests/test_docs.py` fails if the tables are not from one day and one machine. A command
that fails leaves its table as it was.

`pip install` the other parsers that `parsers.py` names and scrapy-redis first, and set `REP_SHARED`
to a folder with `corpus/robots.jsonl.gz`, and `REP_ROBOTPARSER` to the `Lib/urllib/robotparser.py`
of CPython's main branch.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_MEASURED = re.compile(r"(?m)(?:^\|.*\n)+\nMeasured by `python (?P<command>benchmarks/[^`]+)`.*$")


def main() -> None:
    """Measure each table, or those with a command that contains one of the arguments."""
    run = f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d}: {_machine()}"
    failed = []
    known: dict[str, str] = {}  # two pages may show one table

    def measured(found: re.Match[str]) -> str:
        command = found["command"]
        if sys.argv[1:] and not any(part in command for part in sys.argv[1:]):
            return found[0]
        if command in known:
            return known[command]
        print(command, file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, *shlex.split(command)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
        if done.returncode or not rows:
            failed.append(command)
            return found[0]
        known[command] = "\n".join([*rows, "", f"Measured by `python {command}` on {run}."])
        return known[command]

    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if (written := _MEASURED.sub(measured, text)) != text:
            page.write_text(written, encoding="utf-8")
    if failed:
        sys.exit("\n".join(["these failed:", *failed]))


def _machine() -> str:
    """The versions of Scrapy and Python, the number of cores, and their name."""
    about = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", about.read_text()) if about.exists() else []
    name = names[0] if names else platform.machine()
    return (
        f"Scrapy {version('scrapy')}, CPython {platform.python_version()}, "
        f"{os.cpu_count()} cores of {name}"
    )


if __name__ == "__main__":
    main()
