"""The check of REP_SIGN_AGENT."""

from __future__ import annotations

from typing import Any

from scrapy_rep.checks import text
from scrapy_rep.protocol.access.origin import DIRECTORY_PATH, origin_or_none


def sign_agent(value: Any) -> str:
    """An https origin, or the URL of the keys that it publishes; empty for none."""
    given = text(value)
    if not given:
        return ""
    place = given.removesuffix(DIRECTORY_PATH)
    origin = str(origin_or_none(place))
    if origin.startswith("https://") and place.lower().rstrip("/") == origin:
        return origin + given[len(place) :]
    raise ValueError(
        "must be an https origin, such as 'https://bot.example', or the URL of the keys there: "
        f"'https://bot.example{DIRECTORY_PATH}'"
    )
