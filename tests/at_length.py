"""Values of parameters with which a test is too slow for CI: `.ci/at-length` runs it with these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def at_length(values: Iterable[Any]) -> list[Any]:
    """Values for `pytest.mark.parametrize`, beside others that say the same in CI."""
    each = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*value, marks=pytest.mark.at_length) for value in each]
