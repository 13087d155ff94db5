"""The statistics of a survey in words, for the output and the docs: the table `definitions.txt`."""

from __future__ import annotations

from pkgutil import get_data

CAPTURES, FILES = "captures", "files"
KNOWN, LINTED = "captures that have it", "files linted"
"""The denominators of shares."""

_LINES = (get_data(__name__, "definitions.txt") or b"").decode().splitlines()
_ROWS = [line.split(" | ") for line in _LINES if not line.startswith("#")]

DEFINITIONS = {name: definition for name, _, definition in _ROWS if definition != "-"}
"""The definition of each statistic in one sentence."""

LABELS = {name: label for name, label, _ in _ROWS if label != "-"}
"""Statistics in words for people; the others have a name that is a word."""
