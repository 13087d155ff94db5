"""Scrapy's `RobotParser` interface, both ways round.

`RepRobotParser` gives our reading to whoever takes a `ROBOTSTXT_PARSER`; `ParserRules` lets any
other class of that interface stand in for our reading.
"""

from __future__ import annotations

import logging
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import build_from_crawler, load_object

from . import stats
from .protocol.document import RobotsTxt, parse
from .protocol.errors import ConfigurationError
from .protocol.tokens import token_from_user_agent
from .protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class RepRobotParser(RobotParser):
    """The reading of this package behind Scrapy's interface; works without a crawler too.

    Attributes:
        robots_txt: the file as a value, with groups, sitemaps, other records and findings.
    """

    def __init__(self, robots_txt: RobotsTxt) -> None:
        self.robots_txt = robots_txt

    @classmethod
    def from_crawler(cls, crawler: Crawler | None, robotstxt_body: bytes) -> Self:  # noqa: ARG003
        """Read the octets of a robots.txt."""
        return cls(parse(robotstxt_body))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether a URL may be asked for by a product token or a whole User-Agent header."""
        return self.verdict(url, user_agent).allowed

    def verdict(self, url: str | bytes, user_agent: str | bytes) -> Verdict:
        """The same with its reason, rule and line."""
        return self.robots_txt.verdict(tokens_of(_text(user_agent)), _text(url))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Seconds between requests that the group for a token or header asks for."""
        return self.robots_txt.crawl_delay(tokens_of(_text(user_agent)))


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


@lru_cache(maxsize=256)
def tokens_of(user_agent: str) -> tuple[str, ...]:
    """The product tokens in a token or a User-Agent header: one, or none."""
    token = token_from_user_agent(user_agent)
    return () if token is None else (token,)


class Rules(Protocol):
    """What decides for the origin of a file: `RobotsTxt`, or a parser that stands in for it."""

    def verdict(self, product_tokens: tuple[str, ...], url: str) -> Verdict:
        """Whether the crawler with these tokens may ask for a URL."""

    def crawl_delay(self, product_tokens: tuple[str, ...]) -> float | None:
        """Seconds between requests that the crawler is asked to leave."""


class ParserRules:
    """The rules of a file as another class of Scrapy's interface reads them."""

    def __init__(self, parser: Any, uri: str, crawler: Crawler) -> None:
        self._parser = parser
        self._uri = uri
        self._crawler = crawler

    def verdict(self, product_tokens: tuple[str, ...], url: str) -> Verdict:
        """The parser's answer; where it raises there is none, and that permits nothing."""
        try:
            allowed = bool(self._parser.allowed(url, _asker(product_tokens)))
        except Exception:
            logger.exception(
                "The parser %s raised on %s, which is taken as disallowed",
                type(self._parser).__name__,
                url,
                extra={"spider": self._crawler.spider},
            )
            self._crawler.stats.inc_value(stats.PARSER_FAILED)
            return Verdict(allowed=False, reason=Reason.PARSER_FAILED, robots_txt=self._uri)
        return Verdict(allowed=allowed, reason=Reason.OTHER_PARSER, robots_txt=self._uri)

    def crawl_delay(self, product_tokens: tuple[str, ...]) -> float | None:
        """The parser's answer; None from a parser that knows no delays.

        Where it raises, or says what is no number of seconds, there is no answer either.
        """
        ask = getattr(self._parser, "crawl_delay", None)
        if ask is None:
            return None
        try:
            answer = ask(_asker(product_tokens))
            seconds = 0.0 if answer is None else float(answer)
        except Exception:
            logger.exception(
                "The parser %s raised on the Crawl-delay of %s",
                type(self._parser).__name__,
                self._uri,
                extra={"spider": self._crawler.spider},
            )
            self._crawler.stats.inc_value(stats.PARSER_FAILED)
            return None
        return None if answer is None or not 0 <= seconds < math.inf else seconds


def _asker(product_tokens: tuple[str, ...]) -> str:
    # Scrapy's interface takes one user agent; "*" is what its parsers call everyone else.
    return product_tokens[0] if product_tokens else "*"


class ParserChoice:
    """Which class reads the files of this crawl: ours, unless `ROBOTSTXT_PARSER` was set."""

    def __init__(self, crawler: Crawler) -> None:
        """Load the class and try it on an empty file.

        Raises:
            ConfigurationError: it can't be loaded, or can't read an empty file.
        """
        self._crawler = crawler
        self._class: Any = None
        # The value that Scrapy itself brings is no choice of the user's: it has priority 0.
        if not crawler.settings.getpriority("ROBOTSTXT_PARSER"):
            return
        value = crawler.settings["ROBOTSTXT_PARSER"]
        try:
            chosen = load_object(value)
            if chosen is RepRobotParser:
                return
            build_from_crawler(chosen, crawler, b"")
        except Exception as error:
            raise ConfigurationError(
                f"ROBOTSTXT_PARSER = {value!r} can't be used: {error!r}; give the import path of a "
                "class with Scrapy's RobotParser interface, or leave the setting out"
            ) from error
        self._class = chosen

    def read(self, robots_txt: RobotsTxt, body: bytes) -> tuple[Rules, Any]:
        """The rules of a file, and the parser object that Scrapy's signal is sent with.

        Raises:
            Exception: whatever the chosen class raises on these octets.
        """
        if self._class is None:
            return robots_txt, RepRobotParser(robots_txt)
        parser = build_from_crawler(self._class, self._crawler, body)
        return ParserRules(parser, robots_txt.uri, self._crawler), parser
