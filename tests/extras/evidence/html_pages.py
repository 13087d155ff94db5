"""HTML pages of reports and surveys: that nothing in them runs, and how a browser shows them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.others.browsers import CHROMIUM
from tests.processes import REPOSITORY

_MISSING = [n for n in ("playwright", "axe_playwright_python") if find_spec(n) is None]
_NOT_THERE = f"needs {_MISSING}" if _MISSING else "" if CHROMIUM else "no Chromium is installed"
needs_browser = pytest.mark.skipif(bool(_NOT_THERE), reason=_NOT_THERE)

_ACTIVE = {
    *("script", "img", "link", "iframe", "object", "embed", "form", "a", "base", "math", "input"),
    *("button", "video", "audio", "animate", "use", "image"),
}


class _Elements(HTMLParser):
    """The elements of a page, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_inert(text: str) -> None:
    """Nothing in a page runs, and it loads nothing, although it shows a script of somebody."""
    elements = _Elements()
    elements.feed(text)
    assert not _ACTIVE & {tag for tag, _ in elements.found}
    for tag, attributes in elements.found:
        assert not [n for n in attributes if n.startswith("on") or n in ("src", "href", "style")]
        assert tag != "meta" or attributes.get("http-equiv") in (None, "Content-Security-Policy")
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert "url(" not in text
    assert "@import" not in text
    assert text.count("</style>") == 1
    assert "&lt;script&gt;" in text
    assert not re.search("[\u202e\x1b\x00]", text)


def assert_readable_in_a_browser(path: Path, for_axe: Path | None = None) -> None:
    """A page in each scheme of colours and two widths, on paper, and for a screen reader.

    `for_axe` is the same page with fewer rows.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.others.looks", CHROMIUM, str(path), str(for_axe or path)],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert [seen.get("violations") for seen in found] == [None, [], [], None]
    for seen in found:
        assert seen["events"] == [path.as_uri()]
        assert seen["content_width"] <= seen["width"]
        assert seen["paper_octets"] > 10_000
        assert seen["paper_width"] <= 718, "a table is cut at the right"
        assert seen["broken_words"] == []
        is_light = seen["scheme"] == "light"
        assert seen["ground"] == ("rgb(255, 255, 255)" if is_light else "rgb(21, 23, 26)")
