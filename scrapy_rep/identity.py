"""Who this crawl is: the product tokens it is judged by, and the header that says so to sites."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.http import Headers

from .protocol.errors import ConfigurationError
from .protocol.tokens import as_product_tokens, is_product_token
from .robotparser import tokens_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class Identity:
    """The crawl's product tokens: those of `ROBOTSTXT_USER_AGENT`, else of the header sent.

    Attributes:
        tokens: the tokens of a request that brings no header of its own.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Read the settings.

        Raises:
            ConfigurationError: `ROBOTSTXT_USER_AGENT` holds what is no product token.
        """
        self._crawler = crawler
        chosen = crawler.settings.get("ROBOTSTXT_USER_AGENT")
        self._chosen = None if chosen in (None, "") else _chosen_tokens(chosen)
        self.tokens: tuple[str, ...] = self._chosen or ()

    def open(self) -> None:
        """Settle the tokens once the spider is there, and say in the log who we are."""
        if self._chosen is None:
            self.tokens = tokens_of(self.header)
        extra = {"spider": self._crawler.spider}
        logger.info(
            "robots.txt files are obeyed as %s",
            " or ".join(map(repr, self.tokens)) or "'*', for no product token is known",
            extra=extra,
        )
        for token in self.tokens:
            if not is_product_token(token):
                logger.warning(
                    "%r is no product token (RFC 9309, 2.2.1: letters, '-' and '_'): sites can "
                    "name it, but parsers by the letter will not find it",
                    token,
                    extra=extra,
                )
        if not self.tokens:
            logger.warning(
                "The User-Agent %r names no crawler: set USER_AGENT to 'YourBot/1.0 (+URL)', or "
                "ROBOTSTXT_USER_AGENT to 'YourBot'",
                self.header,
                extra=extra,
            )
        elif self.fetch_header is not None:
            logger.warning(
                "The User-Agent %r does not hold the product token %r, so sites can't know whom "
                "their robots.txt is read for; it is added where robots.txt is asked for. Put it "
                "into USER_AGENT (RFC 9309, 2.2.1)",
                self.header,
                self.tokens[0],
                extra=extra,
            )

    @property
    def header(self) -> str:
        """The User-Agent header of requests that bring none, as Scrapy's middlewares set it."""
        settings, spider = self._crawler.settings, self._crawler.spider
        usual = Headers(settings.getdict("DEFAULT_REQUEST_HEADERS")).get(b"User-Agent")
        header = usual or getattr(spider, "user_agent", None) or settings.get("USER_AGENT") or ""
        return header.decode("utf-8", "replace") if isinstance(header, bytes) else str(header)

    @property
    def fetch_header(self) -> str | None:
        """The User-Agent to ask for robots.txt with; None where the usual one names us already.

        The token that is matched is the token that is sent, whatever the settings say.
        """
        header = self.header
        if not self.tokens or self.tokens[0].lower() in header.lower():
            return None
        return f"{header} {self.tokens[0]}".strip()

    def tokens_for(self, request: Request) -> tuple[str, ...]:
        """The tokens that a request is judged by."""
        if self._chosen is not None:
            return self._chosen
        header = request.headers.get(b"User-Agent")
        return tokens_of(header.decode("utf-8", "replace")) if header else self.tokens


def _chosen_tokens(chosen: Any) -> tuple[str, ...]:
    mend = "give one product token such as 'ExampleBot', or a list of them, the first preferred"
    if not isinstance(chosen, (str, list, tuple)) or not chosen:
        raise ConfigurationError(f"ROBOTSTXT_USER_AGENT = {chosen!r}: {mend}")
    if not all(isinstance(token, str) for token in chosen):
        raise ConfigurationError(f"ROBOTSTXT_USER_AGENT = {chosen!r}: {mend}")
    try:
        as_product_tokens(chosen)
    except ConfigurationError as error:
        raise ConfigurationError(f"ROBOTSTXT_USER_AGENT: {error}") from None
    return (chosen,) if isinstance(chosen, str) else tuple(chosen)
