"""The source of a file: a path, standard input, or the site of a URL."""

from __future__ import annotations

import re
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from .answers import Freshness, answers_of
from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.protocol.access.knowledge import Answer
    from scrapy_rep.protocol.access.origin import Origin

    from .answers import Told
    from .running import Onward
    from .terminal import Terminal

STDIN = "-"
STDIN_NAME = "<stdin>"
_SCHEMES = ("http://", "https://", "ftp://")
_DATED = re.compile(
    r"(?P<origin>.+)@(?P<date>\d{4}-\d\d-\d\d)(?:[T ](?P<time>\d\d:\d\d(:\d\d)?)Z?)?"
)


@dataclass(frozen=True)
class Source:
    """A file and its source.

    Attributes:
        name: its name for people.
        body: its octets.
        uri: the URI at which it is served, if that is known.
        answer: the answer of the site, if the file was fetched.
        twin: the answer of the same host over the other of http and https, if that was fetched.
        freshness: where the answer is from, and how old it is; None if there is none.
        is_former: whether it is a version of the past, whose date is in its name.
    """

    name: str
    body: bytes = field(repr=False)
    uri: str = ""
    answer: Answer | None = None
    twin: Answer | None = None
    freshness: Freshness | None = None
    is_former: bool = False

    @classmethod
    def of_answer(cls, origin: Origin, told: Told, twin: Answer | None = None) -> Source:
        """The file of an origin, or what it answered instead."""
        uri, answer = origin.robots_txt_uri, told.answer
        return cls(uri, answer.body, uri, answer, twin, told.freshness)


def is_url(text: str) -> bool:
    """Whether an argument is a URL, and neither a path nor a version of the past."""
    return text.lower().startswith(_SCHEMES) and not _is_dated(text)


def _is_dated(text: str) -> bool:
    """Whether an argument is ``ORIGIN@2026-11-01``, and not a file of that name."""
    if _DATED.fullmatch(text) is None:
        return False
    try:
        return not Path(text).exists()
    except OSError:  # a name that is too long
        return True


def _former(argument: str, settings: Settings) -> Source:
    """The file of an origin at a date: at the end of that day, or at its time, in UTC.

    Raises:
        CommandError: there is no such date, or nothing is known of then.
    """
    from scrapy_rep.protocol.access.knowledge import Answer

    from .kept import version_of

    parts = _DATED.fullmatch(argument)
    assert parts is not None  # noqa: S101 - the caller has looked
    name = parts["origin"]
    origin = origin_of(name if name.lower().startswith(_SCHEMES) else f"https://{name}")
    try:
        at = datetime.fromisoformat(f"{parts['date']}T{parts['time'] or '00:00'}")
    except ValueError as error:
        raise CommandError(f"{argument}: there is no such date ({error})") from error
    at = at.replace(tzinfo=timezone.utc)
    if parts["time"] is None:
        at += timedelta(days=1, microseconds=-1)
    copy = version_of(settings, origin, at.timestamp())
    uri = origin.robots_txt_uri
    answer = Answer(copy.event, copy.body, copy.hops, dict(copy.headers))
    freshness = Freshness(copy.confirmed_at, is_stored=True)
    name = f"{uri}@{argument.rpartition('@')[2]}"
    return Source(name, copy.body, uri, answer, freshness=freshness, is_former=True)


def read(argument: str, settings: Settings, *, uri: str = "", is_refresh: bool = False) -> Source:
    """The file that an argument names.

    A URL stands for the robots.txt of its origin: what the store holds of it while that is fresh,
    otherwise, and with `is_refresh`, what is fetched now through Scrapy's engine with the project's
    settings. ``ORIGIN@DATE`` is what the store knows of then. `uri` is the URI of a path or of
    standard input.

    Raises:
        CommandError: it cannot be read. An answer without a file is not an error here.
    """
    if _is_dated(argument):
        return _former(argument, settings)
    if is_url(argument):
        origin = origin_of(argument)
        told = answers_of(settings, [origin], is_refresh=is_refresh)[origin]
        return Source.of_answer(origin, told)
    if argument == STDIN:
        return Source(STDIN_NAME, _stdin().read(), uri)
    try:
        return Source(argument, Path(argument).read_bytes(), uri)
    except OSError as error:
        raise CommandError(f"{argument}: {error.strerror or error}") from error


def refuse_bad_uri(uri: str) -> None:
    """Refuse a ``--uri`` that names no site; without any, it is empty.

    Raises:
        CommandError: it is no URL of one.
    """
    if uri:
        try:
            origin_of(uri)
        except CommandError as error:
            raise CommandError(f"--uri: {error}") from error


def read_all(
    arguments: Sequence[str],
    settings: Settings,
    onward: Onward,
    *,
    uri: str = "",
    is_refresh: bool = False,
    has_twins: bool = False,
) -> list[tuple[str, Source]]:
    """The files that arguments name, with these; what cannot be read is told and left out.

    URLs are fetched in one run of the engine: a process cannot run it twice. With `has_twins`, the
    answer of each host over the other of http and https is fetched too.
    """
    origins: dict[str, Origin] = {}
    for argument in filter(is_url, arguments):
        with onward:
            origins[argument] = origin_of(argument)
    others = {url: origin.other_scheme if has_twins else None for url, origin in origins.items()}
    wanted = [origin for origin in (*origins.values(), *others.values()) if origin is not None]
    told = answers_of(settings, wanted, is_refresh=is_refresh) if wanted else {}
    found: list[tuple[str, Source]] = []
    for argument in arguments:
        if argument in origins:
            origin, other = origins[argument], others[argument]
            twin = told[other].answer if other is not None else None
            found.append((argument, Source.of_answer(origin, told[origin], twin)))
        elif not is_url(argument):
            with onward:
                found.append((argument, read(argument, settings, uri=uri)))
    return found


def _stdin() -> BinaryIO:
    """Standard input.

    Raises:
        CommandError: it is closed.
    """
    if sys.stdin is None:
        raise CommandError("standard input ('-') is closed")
    return sys.stdin.buffer


def stdin_lines() -> Iterator[str]:
    """The lines of standard input that hold something, each as soon as it is there.

    Raises:
        CommandError: it is closed.
    """
    octets = _stdin()
    for number, line in enumerate(iter(octets.readline, b"")):
        if number == 0:  # Windows' editors and shells write a mark there
            line = line.removeprefix(BOM_UTF8)  # noqa: PLW2901
        text = line.decode("utf-8", "surrogateescape").strip()
        if text:
            yield text


def origin_of(url: str) -> Origin:
    """The origin of a URL.

    Raises:
        CommandError: robots.txt does not govern the URL.
    """
    from scrapy_rep.protocol.access.origin import Origin
    from scrapy_rep.protocol.errors import InvalidUri

    try:
        origin = Origin.of(url)
    except InvalidUri as error:
        raise CommandError(str(error)) from error
    if origin is None:
        raise CommandError(
            f"robots.txt does not govern {url!r}: give a URL that begins with http://, "
            "https:// or ftp://"
        )
    return origin


def tell_origin(source: Source, terminal: Terminal, name: str) -> None:
    """Say on standard error where an answer is from, and how old it is."""
    if source.freshness is not None:
        is_old = source.freshness.is_stored and not source.is_former
        more = "; --refresh fetches it now" if is_old else ""
        terminal.complain(f"scrapy rep {name}: {source.name}: {source.freshness}{more}")


def refuse_two_stdins(arguments: list[str]) -> None:
    """Refuse to read standard input twice.

    Raises:
        CommandError: it is named more than once.
    """
    if arguments.count(STDIN) > 1:
        raise CommandError("standard input ('-') can be read only once")
