"""Judge the suites: `python -m tests.outside seomoz/rep-cpp`; all without arguments.

Prints the table of docs/conformance.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.outside import Checkout, Suite
from tests.outside.judging import Judgement, judge
from tests.outside.table import SUITES
from tests.suites.comparing import expected_of

_ROOT = Path(__file__).parents[2]
_LIST = Path(__file__).with_name("exceptions.txt")


def main() -> int:
    """Judge the suites, and return the exit status: 1 if the list does not say what differs."""
    arguments = _arguments()
    judgements = []
    for name in arguments.suites or SUITES:
        suite = SUITES[name]
        checkout = _checkout(suite, arguments.checkouts)
        listed = expected_of(_LIST.read_text(encoding="utf-8"), name)
        judgement = judge(suite, checkout, {entry.test for entry in listed})
        judgements.append((suite, judgement))
        for complaint in judgement.complaints:
            print(complaint, file=sys.stderr)
    print("| Suite | Cases | Equal | By design | Version |\n|---|---|---|---|---|")
    for suite, judgement in judgements:
        print(_row(suite, judgement))
    return int(any(judgement.complaints for _, judgement in judgements))


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
        default=None,
        metavar="FOLDER",
        help="take repositories from FOLDER/OWNER/NAME, instead of cloning them to build/outside",
    )
    arguments = parser.parse_args()
    for name in arguments.suites:
        if name not in SUITES:
            parser.error(f"no such suite: {name}; there are {', '.join(SUITES)}")
    return arguments


def _checkout(suite: Suite, checkouts: Path | None) -> Checkout:
    if checkouts:
        return Checkout(checkouts / suite.repository, suite.commit)
    folder = _ROOT / "build" / "outside" / suite.repository
    found = Checkout(folder, suite.commit)
    if not found.is_pinned:
        url = f"https://github.com/{suite.repository}"
        partial = ("--quiet", "--depth=1", "--filter=blob:none")
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
        for command in (("config", "remote.origin.url", url), ("fetch", *partial, "origin", suite.commit)):
            subprocess.run(["git", "-C", str(folder), *command], check=True)
    return Checkout(folder, suite.commit)


def _row(suite: Suite, judgement: Judgement) -> str:
    url = f"https://github.com/{suite.repository}"
    name = f"[{suite.name}]({url}), {suite.licence}"
    counts = f"{judgement.cases} | {judgement.equal} | {judgement.by_design}"
    return f"| {name} | {counts} | {suite.date}, [{suite.commit[:7]}]({url}/tree/{suite.commit}) |"


if __name__ == "__main__":
    sys.exit(main())
