"""Where the data lies that are shared between checkouts, if they are there at all.

Without them, the tests with the mark `needs_shared` are not collected (`tests/conftest.py`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_DEFAULT = Path(__file__).resolve().parents[2] / "shared"


def _find() -> Path | None:
    folder = Path(os.environ.get("REP_SHARED", _DEFAULT))
    return folder if (folder / "corpus").is_dir() else None


SHARED: Path | None = _find()

needs_shared = pytest.mark.needs_shared
