"""Tests of the extras, each in a folder that can be deleted with its extra."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from scrapy_rep.extras import EXTRAS

_ABSENT = [extra for extra in EXTRAS if not extra.is_installed]
ABSENT = tuple(f"extras/{extra.name}/" for extra in _ABSENT)
"""The folders of tests that are absent, too."""

_REFUSED = {name for extra in _ABSENT for name in (*extra.subcommands, *extra.parts)}


def needs(name: str) -> pytest.MarkDecorator:
    """Skips a test if an extra is not installed."""
    is_absent = any(extra.name == name for extra in _ABSENT)
    return pytest.mark.skipif(is_absent, reason=f"needs extras/{name}")


def skip_refused(call: Iterable[object]) -> None:
    """Skip the test if words of a call, or settings, are of an extra that is not installed."""
    settings = tuple(name for extra in _ABSENT for name in extra.settings)
    words = [word for word in map(str, call) if word in _REFUSED or word.startswith(settings)]
    if words:
        pytest.skip(f"an extra has {', '.join(words)}")
