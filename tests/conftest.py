"""Which tests the README's command runs: those that take long are slow, and CI runs them apart.

Tests of crawls run in each event loop. Those in the loops that are not Scrapy's default are slow,
but for the modules that say `every_loop`.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from tests.redis_server import redis_server, session_redis

__all__ = ["redis_server", "session_redis"]

# A test run says the same twice: examples are derived from the test, not drawn. To look for new
# ones, run with HYPOTHESIS_PROFILE=search; no example has a time limit, since machines are noisy.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# A shell lets what it starts in the background ignore SIGINT, and a child inherits that: those that
# tests interrupt would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_OTHER_LOOPS = ("select", "reactorless")


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs in another loop."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        loop = callspec.params.get("loop") if callspec is not None else None
        if loop in _OTHER_LOOPS and item.get_closest_marker("every_loop") is None:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)  # before workers tell what they have found
def pytest_collection_finish(session: pytest.Session) -> None:
    """Let each worker begin with its share of the long tests: at the end, one would run alone."""
    long = [item for item in session.items if item.get_closest_marker("long")]
    others = [item for item in session.items if not item.get_closest_marker("long")]
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))  # each takes a piece of the list
    bounds = [len(others) * number // count for number in range(count + 1)]
    session.items = [
        item
        for number in range(count)
        for item in (*long[number::count], *others[bounds[number] : bounds[number + 1]])
    ]
