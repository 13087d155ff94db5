"""A real Chromium, where the machine has one."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON
from tests.servers.handle import Answer, Site

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("REP_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), "")

WHY_NOT = (
    "scrapy-playwright is not installed"
    if find_spec("scrapy_playwright") is None
    else "no Chromium is installed"
    if not CHROMIUM
    else ""
)

_HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
_QUIET = (
    "no-sandbox disable-gpu disable-background-networking disable-component-update disable-sync "
    "no-first-run"
)

PLAYWRIGHT: dict[str, Any] = {
    **ADDON,
    "DOWNLOAD_HANDLERS": {"http": _HANDLER, "https": _HANDLER},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {
        "executable_path": CHROMIUM,
        "args": [f"--{name}" for name in _QUIET.split()],
    },
    "PLAYWRIGHT_ABORT_REQUEST": "scrapy_rep.playwright_abort_request",
    "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": 15_000,
}

needs_chromium = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

RULES = Answer(body="User-agent: *\nDisallow: /private\n")
HTML = (("Content-Type", "text/html"),)
SPIDER = "tests.others.spiders:BrowserSpider"


def html(*parts: str) -> Answer:
    return Answer(headers=HTML, body=f"<html><body>{''.join(parts)}</body></html>")


def script(text: str) -> Answer:
    return Answer(headers=(("Content-Type", "text/javascript"),), body=text)


def run(*urls: str, meta: dict[str, Any] | None = None, **settings: Any) -> Crawl:
    result = crawl(SPIDER, settings={**PLAYWRIGHT, **settings}, urls=urls, meta=meta or {})
    assert result.exit_code == 0, result.error
    return result


def asked(site: Site) -> list[str]:
    """The paths that a site received requests for, without icons, which browsers fetch at times."""
    return sorted(path for path in site.paths() if path != "/favicon.ico")


def with_flags(*names: str) -> dict[str, Any]:
    """Launch options with more flags for Chromium."""
    options = PLAYWRIGHT["PLAYWRIGHT_LAUNCH_OPTIONS"]
    return {**options, "args": [*options["args"], *[f"--{name}" for name in names]]}


PAGE = html(
    '<img src="/private.png"><img src="/open.png"><iframe src="/private/frame"></iframe>',
    '<iframe src="/frame"></iframe><script src="/private.js"></script>',
    "<script>fetch('/private/fetched'); fetch('/fetched');",
    "navigator.sendBeacon('/private/beacon', 'x'); new Worker('/worker.js')</script>",
)
