"""Judge the suites: `python -m tests.outside seomoz/rep-cpp`; all without arguments.

Prints the table of docs/conformance.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.outside import SECONDS, Checkout, Suite
from tests.outside.judging import Judgement, judge
from tests.outside.table import SUITES
from tests.suites.comparing import expected_of

_CLONES = Path(__file__).parents[2] / "build" / "outside"
_LIST = Path(__file__).with_name("exceptions.txt")


def main() -> int:
    """Judge the suites, and return the exit status: 1 if the list does not say what differs."""
    arguments = _arguments()
    rows, status = [], 0
    for name in arguments.suites or SUITES:
        suite = SUITES[name]
        checkout = _checkout(suite, arguments.checkouts)
        listed = expected_of(_LIST.read_text(encoding="utf-8"), name)
        judgement = judge(suite, checkout, {entry.test for entry in listed})
        rows.append(_row(suite, judgement, checkout))
        for complaint in judgement.complaints:
            print(complaint, file=sys.stderr)
            status = 1
    print(
        "| Suite | Cases | Equal | By design | Version |", "|---|---|---|---|---|", *rows, sep="\n"
    )
    return status


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.outside",
        description="Judge suites that others wrote, at the commits that table.py names. "
        f"{_LIST.name} lists the cases in which this package differs.",
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument(
        "--checkouts",
        type=Path,
        metavar="FOLDER",
        help="take repositories from FOLDER/OWNER/NAME, instead of cloning them to build/outside",
    )
    arguments = parser.parse_args()
    for name in arguments.suites:
        if name not in SUITES:
            parser.error(f"no such suite: {name}; there are {', '.join(SUITES)}")
    return arguments


def _checkout(suite: Suite, checkouts: Path | None) -> Checkout:
    found = Checkout((checkouts or _CLONES) / suite.repository, suite.commit)
    if checkouts or found.is_pinned:
        return found
    git, url = ["git", "-C", str(found.folder)], f"https://github.com/{suite.repository}"
    partial = ["--quiet", "--depth=1", "--filter=blob:none"]  # files come when they are read
    for command in (
        ["git", "init", "--quiet", "--bare", str(found.folder)],
        [*git, "config", "remote.origin.url", url],
        [*git, "fetch", *partial, "origin", suite.commit],
    ):
        subprocess.run(command, check=True, timeout=SECONDS)
    return Checkout(found.folder, suite.commit)


def _row(suite: Suite, judgement: Judgement, checkout: Checkout) -> str:
    url = f"https://github.com/{suite.repository}"
    counts = f"{judgement.cases} | {judgement.equal} | {judgement.by_design}"
    version = f"{suite.date}, [{suite.commit[:7]}]({url}/tree/{suite.commit})"
    version = version if checkout.is_pinned else "unknown"
    return f"| [{suite.name}]({url}), {suite.licence} | {counts} | {version} |"


if __name__ == "__main__":
    sys.exit(main())
