"""Long tables of tests: a file of JSON rows next to the module that reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def rows_of(module: str) -> dict[str, list[Any]]:
    """The rows below each heading ``= name``; lines that begin with ``#`` are comments."""
    found: dict[str, list[Any]] = {}
    rows: list[Any] = []
    for line in Path(module).with_suffix(".txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("= "):
            rows = found.setdefault(line[2:], [])
        elif line and not line.startswith("#"):
            rows.append(json.loads(line))
    return found
