"""The crawlers that --agent names, and the words for their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.tokens import EVERYONE, as_product_tokens
from scrapy_rep.protocol.verdict import Verdict

from .running import Call, CommandError

if TYPE_CHECKING:
    from scrapy_rep.identity import Identity


@dataclass(frozen=True, slots=True)
class Agent:
    """A crawler: a name for people, and its product tokens."""

    name: str
    tokens: tuple[str, ...]


def agents_of(call: Call) -> list[Agent]:
    """The agents of the command line, or the agent of this project's crawls.

    Raises:
        CommandError: an argument cannot name a crawler.
    """
    if not call.options.agent:
        identity = project_identity(call)
        return [Agent(" or ".join(identity.tokens) or EVERYONE, identity.tokens)]
    return list(map(agent_named, call.options.agent))


def project_identity(call: Call) -> Identity:
    """The identity of this project's crawls."""
    from scrapy import Spider  # commands that read only files do not load Scrapy
    from scrapy.crawler import Crawler

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.identity import Identity

    identity = Identity(Crawl.of(Crawler(Spider, call.settings)))
    identity.settle()
    return identity


def agent_named(argument: str) -> Agent:
    """The agent that a word names: a product token, a User-Agent header, or ``*``.

    Raises:
        CommandError: it cannot name a crawler.
    """
    if argument == EVERYONE:
        return Agent(EVERYONE, ())
    tokens = tokens_from_user_agent(argument)
    if not tokens:
        raise CommandError(
            f"{argument!r} does not name a crawler: give a product token such as "
            "'ExampleBot', a User-Agent header that contains one, or '*'"
        )
    as_product_tokens(tokens)
    return Agent(" or ".join(tokens), tokens)


def verdict_word(verdict: Verdict | None, call: Call) -> str:
    """The verdict as a coloured word: allowed, disallowed, or unknown."""
    if verdict is None:
        return call.paint("unknown", "yellow")
    return call.paint("allowed", "green") if verdict.allowed else call.paint("disallowed", "red")
