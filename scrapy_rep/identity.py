"""The identity of a crawl: the product tokens that it obeys, and the User-Agent that it sends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from scrapy.http import Headers

from scrapy_rep.checks import of_json
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.tokens import as_product_tokens, is_product_token
from scrapy_rep.robotparser import tokens_of
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.crawl import Crawl

_USE_PREFIX = "__usage_"  # of names in user-agent lines that stand for a use of the content
_STARS = ("*", ["*"], ("*",))  # settings that mean only the group of everyone else


class Identity:
    """The product tokens of a crawl, from `ROBOTSTXT_USER_AGENT` or from its User-Agent header.

    Attributes:
        tokens: the tokens for a request without a User-Agent of its own.
    """

    def __init__(self, crawl: Crawl) -> None:
        """Read the settings.

        Raises:
            ConfigurationError: a value of `ROBOTSTXT_USER_AGENT` cannot name a crawler.
        """
        self._crawler = crawler = crawl.crawler
        self._journal = Journal(crawler, __name__)
        self._setting = chosen = crawler.settings.get("ROBOTSTXT_USER_AGENT")
        self._chosen = None if chosen in (None, "") else _chosen_tokens(chosen)
        self._has_warned = False
        self.tokens: tuple[str, ...] = self._chosen or ()
        if crawler.spider is not None:  # other components may send requests before `spider_opened`
            self.settle()

    def settle(self) -> None:
        """Determine the tokens; a spider may change its settings until it is open."""
        if self._chosen is None:
            self.tokens = tokens_of(self.header)

    def open(self) -> None:
        """Determine the tokens once the spider exists, and log them."""
        self.settle()
        why = "ROBOTSTXT_USER_AGENT" if self.is_star else "because no product token is known"
        self._journal.info(
            "robots.txt files are obeyed as %s",
            " or ".join(map(repr, self.tokens)) or f"'*' ({why})",
        )
        for token in self.tokens:
            if not is_product_token(token):
                self._journal.warning(
                    "%r is not a product token (RFC 9309, 2.2.1: letters, '-' and '_'): sites can "
                    "name it, but strict parsers will not find it",
                    token,
                )
        if not self.tokens and not self.is_star:
            self._journal.warning(
                "The User-Agent %r names no crawler: set USER_AGENT to 'YourBot/1.0 (+URL)', or "
                "ROBOTSTXT_USER_AGENT to 'YourBot'",
                self.header if self._chosen is None else self._setting,
            )

    def saw_sent(self, user_agent: str) -> None:
        """Log once if sites cannot tell which crawler reads their robots.txt or fetches pages.

        `user_agent` is the header with which a robots.txt was fetched: a middleware may have set
        another one than the settings say.
        """
        token = self.tokens[0].lower() if self.tokens else ""
        is_named = token in user_agent.lower()
        if self._has_warned or (is_named and token in self.header.lower()):
            return
        self._has_warned = True
        if is_named:
            words = (
                "robots.txt is fetched with the User-Agent %r: the product token %r is added, "
                "because USER_AGENT does not contain it. So sites cannot tell which crawler "
                "fetches their pages: put the token into USER_AGENT (RFC 9309, 2.2.1)"
            )
        else:
            words = (
                "robots.txt is fetched with the User-Agent %r, which does not contain the product "
                "token %r, so sites cannot tell which crawler reads it. Put the token into the "
                "User-Agent that your middleware sets (RFC 9309, 2.2.1)"
            )
        self._journal.warning(words, user_agent, self.tokens[0])

    @property
    def is_star(self) -> bool:
        """Whether the user wants only the rules for `*` to be obeyed."""
        return of_json(self._setting) in _STARS

    @property
    def is_chosen(self) -> bool:
        """Whether `ROBOTSTXT_USER_AGENT` sets the tokens, so that headers do not matter."""
        return self._chosen is not None

    @property
    def header(self) -> str:
        """The User-Agent header that Scrapy's middlewares give to requests without one."""
        settings, spider = self._crawler.settings, self._crawler.spider
        header = self._usual_header or getattr(spider, "user_agent", None)
        header = header or settings.get("USER_AGENT") or ""
        return header.decode("utf-8", "replace") if isinstance(header, bytes) else str(header)

    @cached_property
    def _usual_header(self) -> bytes | None:
        """The User-Agent of the default headers, which cannot change once a crawl runs."""
        headers = Headers(self._crawler.settings.getdict("DEFAULT_REQUEST_HEADERS"))
        found: bytes | None = headers.get(b"User-Agent")
        return found

    @property
    def fetch_header(self) -> str | None:
        """The User-Agent for robots.txt requests; None if the usual one contains our token already.

        This way we always send the token that we match.
        """
        header = self.header
        if not self.tokens or self.tokens[0].lower() in header.lower():
            return None
        return f"{header} {self.tokens[0]}".strip()

    def tokens_for(self, request: Request) -> tuple[str, ...]:
        """The tokens that a request is judged by, before all middlewares have seen it.

        Without a User-Agent, they are those of the header that Scrapy adds later.
        """
        if self._chosen is not None:
            return self._chosen
        values = dict.get(request.headers, b"User-Agent")  # `Headers.get` would be slower
        return _tokens_in(values[-1] or b"") if values else self.tokens

    def tokens_sent(self, request: Request) -> tuple[str, ...]:
        """The tokens of the User-Agent that is sent; without one, the `*` group applies."""
        if self._chosen is not None:
            return self._chosen
        values = dict.get(request.headers, b"User-Agent")
        return _tokens_in(values[-1] or b"") if values else ()


@lru_cache(maxsize=256)
def _tokens_in(header: bytes) -> tuple[str, ...]:
    return tokens_of(header.decode("utf-8", "replace"))


def _chosen_tokens(chosen: Any) -> tuple[str, ...]:
    """The tokens in the setting, which may also be a whole User-Agent header."""
    try:
        names = _names_in(chosen)
        if names in _STARS:
            return ()
        tokens = [token for name in names for token in (tokens_of(name) if "/" in name else [name])]
        lowered = as_product_tokens(tokens)
    except ValueError as error:
        raise ConfigurationError(f"ROBOTSTXT_USER_AGENT = {chosen!r}: {error}") from None
    if any(token.startswith(_USE_PREFIX) for token in lowered):
        raise ConfigurationError(
            f"ROBOTSTXT_USER_AGENT = {chosen!r} stands for a use, not for a crawler: give the name "
            "of your crawler"
        )
    return tuple(tokens)


def _names_in(chosen: Any) -> Sequence[str]:
    chosen = of_json(chosen)
    names = [chosen] if isinstance(chosen, str) else chosen
    if isinstance(names, (list, tuple)) and names and all(isinstance(name, str) for name in names):
        return names
    raise ValueError(
        "give one product token such as 'ExampleBot', or a list of them, the preferred one first"
    )
