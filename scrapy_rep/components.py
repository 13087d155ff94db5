"""Which middlewares a crawl has, whichever way the user named them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"


def middleware_orders(settings: BaseSettings) -> dict[Any, int | None]:
    """The downloader middlewares with their orders; those that are switched off with None.

    The user's word comes after Scrapy's, and a class may go by its import path in either. Scrapy
    has a method for this from 2.15.1 on.
    """
    merged = settings.getwithbase(MIDDLEWARES)
    return {load_object(component): order for component, order in merged.items()}
