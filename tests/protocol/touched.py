"""A plugin of pytest: of which modules the tests of a class run code.

``python -m pytest -p tests.protocol.touched`` reads the variable `WANTED_KEY`: modules, each with
the test classes that should touch it, as JSON. What none of its classes touches is printed at the
end, as JSON too. Once all modules of a class are touched, its other tests are skipped.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

WANTED_KEY = "REP_TOUCH"
_PACKAGE = "scrapy_rep"
_left: set[tuple[str, tuple[str, ...]]] = {
    (module, tuple(classes)) for module, classes in json.loads(os.environ.get(WANTED_KEY, "[]"))
}


def _wanted_of(item: pytest.Item) -> dict[str, tuple[str, ...]]:
    kind, rows = getattr(item, "cls", None), getattr(item, "callspec", None)
    name = f"{item.path.name}::{kind.__name__ if kind else rows.id if rows else ''}"
    return {module: classes for module, classes in _left if name in classes}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that can touch no further module."""
    if not _wanted_of(item):
        pytest.skip("all its modules are touched")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """See which modules a test calls functions of."""
    wanted = _wanted_of(item)

    def see(frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "").removeprefix(f"{_PACKAGE}.")
        if module in wanted:
            _left.discard((module, wanted.pop(module)))
            if not wanted:
                sys.settrace(None)
                pytest.skip("it has shown all that it could")  # no `except Exception` stops that

    sys.settrace(see)  # it returns None, so that lines are not traced
    try:
        return (yield)
    finally:
        sys.settrace(None)


def pytest_sessionfinish() -> None:
    """Print the untouched modules."""
    print(f"\n{json.dumps(sorted(_left))}")
