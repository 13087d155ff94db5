"""Hypothesis as these tests use it: the same examples every time, unless asked for others."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

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
