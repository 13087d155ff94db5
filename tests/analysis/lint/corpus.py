"""Real files, for the tests of this folder."""

from __future__ import annotations

import base64
import gzip
import json
import os

from tests.shared import SHARED

RECENT = "robots-2026.jsonl.gz"
"""The name of the corpus of 2024 to 2026."""

EVERY = 1 if os.environ.get("REP_FULL") else 60
"""Tests take every n-th file."""


def files(name: str = "robots.jsonl.gz") -> list[tuple[str, bytes]]:
    """All of one corpus, with their URIs."""
    assert SHARED is not None
    with gzip.open(SHARED / "corpus" / name, "rb") as rows:
        return [
            (f"https://{row['host']}/robots.txt", base64.b64decode(row["body_b64"]))
            for row in map(json.loads, rows)
        ]
