"""A downloader middleware that answers for sites, as caches and mocks do."""

from __future__ import annotations

from typing import Any

from scrapy import Request
from scrapy.http import Response, TextResponse

from scrapy_rep.extras.evidence import archive


class Answers:
    """Answers every request for a robots.txt by itself."""

    def process_request(self, request: Request) -> Response | None:
        if not request.url.endswith("/robots.txt"):
            return None
        return TextResponse(request.url, headers={"Content-Type": "text/x"}, body=b"# of ours\n")


class Breaks:
    """An extension that has every part of the archive raise, as an error in it would."""

    def __init__(self) -> None:
        for name in ("Purpose", "Stored", "FileOutcome"):
            setattr(archive, name, self._raise)

    @staticmethod
    def _raise(*_: Any) -> Any:
        raise LookupError("odd")
