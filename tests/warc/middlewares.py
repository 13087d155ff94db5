"""A downloader middleware that answers for sites, as caches and mocks do."""

from __future__ import annotations

from scrapy import Request
from scrapy.http import Response, TextResponse


class Answers:
    """Answers every request for a robots.txt by itself."""

    def process_request(self, request: Request) -> Response | None:
        if not request.url.endswith("/robots.txt"):
            return None
        return TextResponse(request.url, headers={"Content-Type": "text/x"}, body=b"# of ours\n")
