"""Adapters for Scrapy's `RobotParser` interface, in both directions.

`RepRobotParser` makes our parser a `ROBOTSTXT_PARSER`. `ParserRules` lets any other class of that
interface replace our parser in the middleware.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.python import global_object_name

from scrapy_rep import stats
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.paths import is_robots_txt, uri_without_dots
from scrapy_rep.protocol.tokens import ProductTokens
from scrapy_rep.protocol.verdict import Reason, Verdict, implicit_verdict
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

Value = TypeVar("Value")


class RepRobotParser(RobotParser):
    """The parser of this package with Scrapy's interface; also works without a crawler.

    Attributes:
        robots_txt: the file as a value, with groups, sitemaps and other records.
    """

    def __init__(self, robots_txt: RobotsTxt) -> None:
        self.robots_txt = robots_txt

    @classmethod
    def from_crawler(cls, crawler: Crawler | None, robotstxt_body: bytes) -> Self:  # noqa: ARG003
        """Read the octets of a robots.txt."""
        return cls(parse(robotstxt_body))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether a product token or a whole User-Agent header may fetch a URL."""
        return self.verdict(url, user_agent).allowed

    def verdict(self, url: str | bytes, user_agent: str | bytes) -> Verdict:
        """Like `allowed`, with the reason, the rule and its line."""
        tokens = tokens_of(_text(user_agent))
        return self.robots_txt.verdict(_text(url, "surrogateescape"), tokens)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """The Crawl-delay in the group for a token or header, in seconds."""
        return self.robots_txt.crawl_delay(tokens_of(_text(user_agent)))


def _text(value: str | bytes, errors: str = "replace") -> str:
    return value if isinstance(value, str) else value.decode("utf-8", errors)


@lru_cache(maxsize=256)
def tokens_of(user_agent: str) -> tuple[str, ...]:
    """The product tokens in a token or a User-Agent header, in order; empty without one."""
    return tokens_from_user_agent(user_agent)


class Decider(Protocol):
    """The interface that decides by a file: `RobotsTxt`, or a parser that replaces it."""

    def verdict(self, url: str, product_tokens: ProductTokens) -> Verdict:
        """Whether the crawler with these tokens may fetch a URL."""

    def crawl_delay(self, product_tokens: ProductTokens) -> float | None:
        """The Crawl-delay that the site sets for the crawler, in seconds."""


class ParserRules:
    """The rules of a file as another parser of Scrapy's interface reads them."""

    def __init__(self, parser: Any, uri: str, crawler: Crawler) -> None:
        self._parser = parser
        self._uri = uri
        self._journal = Journal(crawler, __name__)

    def verdict(self, url: str, product_tokens: ProductTokens) -> Verdict:
        """The parser's answer; if the parser raises, the URL is disallowed.

        A URL with dot segments is judged twice, as written and without them. Both must be allowed.
        """
        if is_robots_txt(url):
            return implicit_verdict(self._uri)
        user_agent, urls = _user_agent(product_tokens), dict.fromkeys((url, uri_without_dots(url)))
        allowed = self._answer(
            url, lambda: all(self._parser.allowed(one, user_agent) for one in urls)
        )
        reason = Reason.PARSER_FAILED if allowed is None else Reason.OTHER_PARSER
        return Verdict(allowed=bool(allowed), reason=reason, robots_txt=self._uri)

    def crawl_delay(self, product_tokens: ProductTokens) -> float | None:
        """The parser's answer; None if it does not know delays, raises, or returns no number."""
        crawl_delay = getattr(self._parser, "crawl_delay", lambda _: None)

        def seconds() -> float | None:
            answer = crawl_delay(_user_agent(product_tokens))
            return None if answer is None else float(answer)

        found = self._answer(f"the Crawl-delay of {self._uri}", seconds)
        return found if found is not None and 0 <= found < math.inf else None

    def _answer(self, what: str, call: Callable[[], Value]) -> Value | None:
        """The result of a call; None if the parser raises."""
        try:
            return call()
        except Exception:  # noqa: BLE001 - of a user's class; it is logged
            name = type(self._parser).__name__
            self._journal.exception("The parser %s raised on %s", name, what)
            self._journal.count(stats.PARSER_FAILED)
            return None


def _user_agent(product_tokens: ProductTokens) -> str:
    # Scrapy's interface takes one user agent. "*" stands for every other crawler there.
    if isinstance(product_tokens, str):
        return product_tokens
    return product_tokens[0] if product_tokens else "*"


class ParserChoice:
    """The class that parses the files of this crawl: ours, unless `ROBOTSTXT_PARSER` is set.

    Attributes:
        name: the import path of another class than ours; empty for ours.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Load the class and try it on an empty file.

        Raises:
            ConfigurationError: it cannot be loaded, or fails on an empty file.
        """
        self._crawler = crawler
        self._class: Any = None
        self.name = ""
        # Scrapy's own value has priority 0: the user has not chosen it.
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
                f"ROBOTSTXT_PARSER = {value!r} cannot be used: {error!r}; give the import path of "
                "a class with Scrapy's RobotParser interface, or remove the setting"
            ) from error
        self._class, self.name = chosen, global_object_name(chosen)

    def read(self, robots_txt: RobotsTxt, body: bytes) -> tuple[Decider, Any]:
        """The decider of a file, and the parser object for Scrapy's signal.

        Raises:
            Exception: the chosen class fails on these octets.
        """
        if self._class is None:
            return robots_txt, RepRobotParser(robots_txt)
        parser = build_from_crawler(self._class, self._crawler, body)
        return ParserRules(parser, robots_txt.uri, self._crawler), parser
