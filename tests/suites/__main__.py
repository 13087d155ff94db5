"""Run the suites: `python -m tests.suites scrapy scrapy-redis`; all without arguments."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.suites.comparing import Outcome, compare, expected_of, words_of
from tests.suites.places import Place
from tests.suites.running import OURS, OWN, Limits, Runner, redis_server
from tests.suites.table import SUITES

_LIST = Path(__file__).with_name("expected.txt")
_FOLDER = Path(__file__).parents[2] / "build" / "suites"


def main() -> int:
    """Run the suites, and return the exit status: 1 if a test that is not in the list fails."""
    arguments = _arguments()
    names = arguments.suites or list(SUITES)
    return max([_run(name, arguments) for name in names])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.suites",
        description="Run the tests of Scrapy and of its plugins twice: with Scrapy's own "
        f"robots.txt middleware and with ours. {_LIST.name} lists tests that fail only with ours.",
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only files such as *crawl*")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="default: build/suites")
    parser.add_argument("--at-a-time", type=int, default=2, metavar="N", help="files; default: 2")
    parser.add_argument("--test-seconds", type=float, default=100.0, help="the limit of a test")
    parser.add_argument("--file-seconds", type=float, default=1200.0, help="the limit of a file")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="another default setting of the run with ours, such as REP_BACKOFF=false",
    )
    parser.add_argument(
        "--without-obeying",
        action="store_true",
        help="run with ROBOTSTXT_OBEY off, so that only the queue of ours is in use",
    )
    arguments = parser.parse_args()
    for name in arguments.suites:
        if name not in SUITES:
            parser.error(f"no such suite: {name}; there are {', '.join(SUITES)}")
    return arguments


def _run(name: str, arguments: argparse.Namespace) -> int:
    suite = SUITES[name]
    place = Place(suite, arguments.folder / name, arguments.at_a_time)
    files = [file for file in place.files() if fnmatch(file, f"*{arguments.only}*")]
    files = [file for file in files if not any(fnmatch(file, one) for one in suite.left_out)]
    print(f"== {place.version}: {len(files)} files of tests", flush=True)
    limits = Limits(arguments.test_seconds, arguments.file_seconds)
    runner = Runner(place, limits, _settings(arguments))
    with redis_server() if suite.needs_redis else nullcontext():
        own, ours = runner.run_twice(files)
    return _report(name, own, ours)


def _settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    obeys = {"ROBOTSTXT_OBEY": not arguments.without_obeying}
    ours = {**obeys, "ADDONS": {"scrapy_rep.Addon": 500}, "REP_STORE": "memory"}
    for option in arguments.setting:
        name, _, value = option.partition("=")
        ours[name] = json.loads(value)
    return {OWN: obeys, OURS: ours}


def _report(name: str, own: dict[str, Outcome], ours: dict[str, Outcome]) -> int:
    expected = expected_of(_LIST.read_text(encoding="utf-8"), name)
    result = compare(own, ours, expected)
    for test in result.unlisted:
        print(f"fails only with ours: {test}: {words_of(ours.get(test))}")
    for entry in result.outdated:
        print(f"no longer fails, remove it from {_LIST.name}: {entry.test}")
    print(f"{name}: {result}", flush=True)
    if not result.own_passed:
        print(f"{name}: the tests did not run; see the logs in its folder, results")
    return 1 if result.unlisted or not result.own_passed else 0


if __name__ == "__main__":
    sys.exit(main())
