"""Opens a page in Chromium, in light and dark, wide and narrow; writes what it saw as JSON.

::

    python -m tests.others.looks CHROMIUM PAGE [FOR_AXE]

FOR_AXE is the same page with fewer rows: axe takes longer than all the rest, and each row is as the
others.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

PAPER_WIDTH = 718  # of A4 within the margins of a browser, in CSS pixels
# The cells with one short word on several lines.
_BROKEN_WORDS = """
[...document.querySelectorAll("td, th")].filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const tops = [...range.getClientRects()].map(one => Math.round(one.top));
  return /^\\w{1,10}$/.test(cell.innerText.trim()) && new Set(tops).size > 1;
}).map(cell => cell.innerText.trim())
"""


def main(chromium: str, page: str, for_axe: str = "") -> None:
    uri, uri_for_axe = Path(page).as_uri(), Path(for_axe or page).as_uri()
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = [_seen(browser, uri, s, w) for s in ("light", "dark") for w in (320, 1280)]
        for seen in (found[1], found[2]):  # each scheme once, each width once
            seen["violations"] = _violations(browser, uri_for_axe, seen["scheme"], seen["width"])
        browser.close()
    print(json.dumps(found))


def _seen(browser: Any, uri: str, scheme: str, width: int) -> dict[str, Any]:
    events: list[str] = []
    tab = _tab(browser, scheme, width)
    tab.on("request", lambda request: events.append(request.url))
    tab.on("dialog", lambda dialog: events.append(f"dialog {dialog.message}"))
    tab.on("pageerror", lambda error: events.append(str(error)))
    tab.on("console", lambda message: events.append(message.text))
    tab.goto(uri)
    found = {
        "events": events,
        "scheme": scheme,
        "width": width,
        "content_width": tab.evaluate("document.documentElement.scrollWidth"),
        "ground": tab.evaluate("getComputedStyle(document.body).backgroundColor"),
        "paper_octets": len(tab.pdf()),
    }
    tab.set_viewport_size({"width": PAPER_WIDTH, "height": 1000})
    tab.emulate_media(media="print")
    found["broken_words"] = tab.evaluate(_BROKEN_WORDS)
    return {**found, "paper_width": tab.evaluate("document.documentElement.scrollWidth")}


def _violations(browser: Any, uri: str, scheme: str, width: int) -> list[str]:
    tab = _tab(browser, scheme, width, bypass_csp=True)
    tab.goto(uri)
    return [one["id"] for one in Axe().run(tab).response["violations"]]


def _tab(browser: Any, scheme: str, width: int, **options: Any) -> Any:
    size = {"width": width, "height": 800}
    return browser.new_context(color_scheme=scheme, viewport=size, **options).new_page()


if __name__ == "__main__":
    main(*sys.argv[1:])
