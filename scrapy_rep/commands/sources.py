"""Where a file comes from: a path, standard input, or the site that a URL names."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.protocol.knowledge import Answer
    from scrapy_rep.protocol.origin import Origin

STDIN = "-"
_SCHEMES = ("http://", "https://", "ftp://")


@dataclass(frozen=True)
class Source:
    """A file, and where it is from.

    Attributes:
        name: what it is called.
        body: its octets.
        uri: where it is served, if that is known.
        answer: what the site answered, if it was asked.
        twin: what the same host answers over the other of http and https, if it was asked.
    """

    name: str
    body: bytes = field(repr=False)
    uri: str = ""
    answer: Answer | None = None
    twin: Answer | None = None


def is_url(text: str) -> bool:
    """Whether an argument is a URL, and not a path."""
    return text.lower().startswith(_SCHEMES)


def read(argument: str, settings: Settings, *, uri: str = "") -> Source:
    """The file that an argument names.

    A URL is asked through Scrapy's engine, with the project's settings; it stands for the
    robots.txt of its origin. `uri` is where a path or standard input is from.

    Raises:
        CommandError: it can't be read. An answer without a file is no error here.
    """
    if is_url(argument):
        from .asking import ask

        origin = origin_of(argument)
        answer = ask(settings, [origin])[origin]
        return Source(origin.robots_txt_uri, answer.body, origin.robots_txt_uri, answer)
    if argument == STDIN:
        return Source("<stdin>", sys.stdin.buffer.read(), uri)
    try:
        return Source(argument, Path(argument).read_bytes(), uri)
    except OSError as error:
        raise CommandError(f"{argument}: {error.strerror or error}") from error


def origin_of(url: str) -> Origin:
    """The origin of a URL.

    Raises:
        CommandError: it has none that a robots.txt could govern.
    """
    from scrapy_rep.protocol.errors import InvalidUri
    from scrapy_rep.protocol.origin import Origin

    try:
        origin = Origin.of(url)
    except InvalidUri as error:
        raise CommandError(str(error)) from error
    if origin is None:
        raise CommandError(
            f"{url!r} is no URL that robots.txt governs: give one that begins with http://, "
            "https:// or ftp://"
        )
    return origin


def refuse_two_stdins(arguments: list[str]) -> None:
    """Standard input can be read once.

    Raises:
        CommandError: it is named more often.
    """
    if arguments.count(STDIN) > 1:
        raise CommandError("standard input ('-') can be read only once")
