"""Which middlewares a crawl has, whichever way the user named them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"
BROWSER_HOOK = "PLAYWRIGHT_ABORT_REQUEST"  # of scrapy-playwright


def middleware_orders(settings: BaseSettings) -> dict[Any, int | None]:
    """The downloader middlewares with their orders; None for those that are disabled.

    The user's setting overrides Scrapy's, and either may name a class by its import path. Scrapy
    2.15.1 and newer have a method for this.
    """
    merged = settings.getwithbase(MIDDLEWARES)
    return {load_object(component): order for component, order in merged.items()}
