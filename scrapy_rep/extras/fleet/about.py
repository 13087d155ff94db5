"""The description of a worker, so that two projects or deployments in one crawl are noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from scrapy_rep.protocol.secrecy import without_userinfo
from scrapy_rep.settings import PACE_SETTINGS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_SETTINGS = (
    *("USER_AGENT", "ROBOTSTXT_USER_AGENT", "REP_POLICY", "REP_POLICY_OVERRIDES", "REP_OVERRIDES"),
    *(*PACE_SETTINGS, "DOWNLOAD_DELAY", "CONCURRENT_REQUESTS_PER_DOMAIN"),
)
_CHARACTERS = 200  # of a value; a longer one is cut, and its hash is added


def identity(crawler: Crawler) -> str:
    """The spider's class and the project: workers with another one share no crawl."""
    cls = type(crawler.spider)
    return f"{cls.__module__}.{cls.__qualname__} with BOT_NAME {crawler.settings['BOT_NAME']!r}"


def about(crawler: Crawler) -> str:
    """The release and the settings that matter, as JSON without secrets."""
    values = {
        "scrapy-rep": version("scrapy-rep"),
        **{name: crawler.settings.get(name) for name in _SETTINGS},
    }
    return json.dumps({name: _short(value) for name, value in values.items()})


def _short(value: Any) -> str:
    text = without_userinfo(str(value))
    if len(text) <= _CHARACTERS:
        return text
    return f"{text[:_CHARACTERS]}... ({sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]})"


def differences(mine: str, theirs: str) -> Iterator[str]:
    """Name each field in which two workers differ, with both values; `theirs` is untrusted."""
    try:
        others = json.loads(theirs)
    except ValueError:
        return
    if isinstance(others, dict):
        for name, value in json.loads(mine).items():
            other = str(others.get(name))[: _CHARACTERS + 20]
            if other != value:
                yield f"{name} is {value!r} here and {other!r} there"
