"""A module of a user's that imports all public names at once; mypy checks it without an ignore."""

from __future__ import annotations

from scrapy_rep import *  # noqa: F403
from scrapy_rep.extras.webmaster import *  # noqa: F403


def errors_of(body: bytes, url: str) -> list[Finding]:  # noqa: F405
    """The problems of a file that allows a URL."""
    verdict: Verdict = parse(body).verdict(url, "FooBot")  # noqa: F405
    return [one for one in lint(body) if verdict.allowed and one.severity is Severity.ERROR]  # noqa: F405


SIGNALS: tuple[object, object] = signals.sitemaps_discovered, signals.request_disallowed  # noqa: F405
