"""A page that `check --page` has fetched, for all of its sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from .judges import Judges
    from .judging import Agent


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page that was fetched, and by whom it is judged.

    Attributes:
        response: the page.
        agents: the crawlers.
        judges: by the file that the user names, or by those of the origins.
        crawler: to ask for these with.
    """

    response: Response
    agents: Sequence[Agent]
    judges: Judges
    crawler: Crawler
