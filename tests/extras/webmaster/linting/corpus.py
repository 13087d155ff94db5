"""Real files, for the tests of this folder."""

from __future__ import annotations

import base64
import gzip
import json
import os

from tests.shared import SHARED

RECENT = "robots-2026.jsonl.gz"
"""The name of the corpus of 2024 to 2026."""

_SAMPLE = {
    "robots.jsonl.gz": (
        *(50, 89, 163, 304, 321, 382, 391, 398, 422, 433, 446, 485, 487, 489, 524, 556, 589),
        *(600, 643, 679, 739),
        *(819, 861, 866, 924, 965, 1012, 1056, 1057, 1097, 1219, 1232, 1259, 1261, 1292, 1300),
        *(1328, 1352, 1371, 1385, 1427, 1486, 1606, 1724, 1768, 1774, 1830, 1865, 1893, 2007, 2014),
        *(2022, 2079, 2108, 2133, 2232, 2264, 2309, 2318, 2502, 2511, 2557, 2572, 2667, 2680, 2740),
        2761,
    ),
    RECENT: (120, 148, 161, 287, 385, 408, 428, 518, 582),
}
"""Places of small files. They have every code that real files have, but those of large files."""

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


def sample() -> list[tuple[str, bytes]]:
    """Some files, with their URIs: with every kind of finding."""
    held = {name: files(name) for name in _SAMPLE}
    return [held[name][place] for name, places in _SAMPLE.items() for place in places]
