"""The question what a robots.txt as a value says about the use of content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.text import Text
from scrapy_rep.protocol.tokens import ProductTokens

from .categories import NO_TOKENS, UsageTokens

if TYPE_CHECKING:
    from .preference import UsagePreferences


class _File(Protocol):
    @property
    def text(self) -> Text:
        """What counts of the file."""

    @property
    def uri(self) -> str:
        """Where it was fetched."""

    def selection(self, product_tokens: ProductTokens) -> Selection:
        """The part that speaks to a crawler."""


class UsageOfFile:
    """What a robots.txt as a value says about the use of content."""

    __slots__ = ()

    def usage(
        self: _File,
        url: str,
        product_tokens: ProductTokens = (),
        usage_tokens: UsageTokens = NO_TOKENS,
    ) -> UsagePreferences:
        """What the file says about the use of the content at a URL of this origin.

        Cost: linear in the octets, for each call; and what `FileUsage.preferences` costs.

        Args:
            url: as `verdict` takes it.
            product_tokens: as `verdict` takes them; none for the ``*`` group.
            usage_tokens: product tokens by the category for which they stand, such as
                ``{"train-ai": ["GPTBot"]}``: a group of their own that disallows the URL says n.

        Raises:
            InvalidProductToken: a token holds what no user-agent line could name.
            ValueError: a key of `usage_tokens` is no category.
        """
        from .robots import FileUsage  # most programs that read a file ask nothing of it

        selection = self.selection(product_tokens)
        return FileUsage.of(self.text, self.uri, selection, usage_tokens).preferences(url)
