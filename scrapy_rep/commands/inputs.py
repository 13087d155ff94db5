"""The robots.txt that an argument names: a path, standard input, the site of a URL, or a version.

A URL stands for the file of its origin: a fresh copy in the store, otherwise the current answer of
the site.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import time
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from io import BufferedReader, FileIO
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote, urlsplit

from scrapy_rep.protocol.access.events import AccessResult, name_of
from scrapy_rep.protocol.access.knowledge import Answer, Copy
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.units import age_words

from .running import UNREACHABLE, Call, CommandError, unreadable

if TYPE_CHECKING:
    from scrapy.settings import Settings

STDIN = "-"
STDIN_NAME = "<stdin>"
READ_OCTETS = 16 * 1024 * 1024
"""As much of a file is read: far more than any crawler reads."""
CUT_OFF = (EOFError, gzip.BadGzipFile, zlib.error)
"""The errors of a gzipped file that is damaged or ends too early."""

_LINE_OCTETS = 1024 * 1024
_SCHEMES = ("http://", "https://", "ftp://")
_OTHER_SCHEME = re.compile(r"[a-z]{2,}:/", re.IGNORECASE)  # C:/ is a drive
_HOST = re.compile(r"(?:[\w-]+\.)+([a-z][\w-]+)(?::\d+)?(?=/|$)", re.IGNORECASE)
# Endings of file names that look like hosts.
_ENDINGS = frozenset(
    ["txt", "text", "bak", "old", "new", "orig", "tmp", "conf", "html", "gz", "md"]
)
_DATED = re.compile(r"(?P<origin>.+)@(?P<at>\d{4}-\d\d-\d\d(?P<time>[T ]\d\d:\d\d(?::\d\d)?)?)Z?")


@dataclass(frozen=True, slots=True)
class Freshness:
    """The time of an answer (POSIX seconds), and whether it was in the store."""

    asked_at: float
    is_stored: bool

    def __str__(self) -> str:
        """The source and the age of the answer: ``from the store, 3 min old``."""
        if not self.is_stored:
            return "fetched now"
        return f"from the store, {age_words(time.time() - self.asked_at)} old"

    @property
    def source(self) -> str:
        """The source, as a word for programs."""
        return "store" if self.is_stored else "site"

    @property
    def words(self) -> str:
        """The same, with a hint how to fetch it now."""
        return f"{self}; --refresh fetches it now" if self.is_stored else str(self)


@dataclass(frozen=True)
class Input:
    """A file and its source.

    Attributes:
        argument: the argument that names it.
        name: its name for people.
        body: its octets.
        uri: the URI at which it is served, if known.
        answer: the answer of the site, if the file was fetched.
        twin: the answer of the same host over the other of http and https, if fetched.
        freshness: the source and the age of the answer; None without one.
        is_former: whether it is an old version, with its date in the name.
    """

    argument: str
    name: str
    body: bytes = field(repr=False)
    uri: str = ""
    answer: Answer | None = None
    twin: Answer | None = None
    freshness: Freshness | None = None
    is_former: bool = False

    @classmethod
    def of_answer(
        cls, argument: str, origin: Origin, answer: Answer, freshness: Freshness
    ) -> Input:
        """The file of an origin, or its answer without a file."""
        uri = origin.robots_txt_uri
        return cls(argument, uri, answer.body, uri, answer, freshness=freshness)

    @property
    def is_local(self) -> bool:
        """Whether it is a local file, which can be written."""
        return self.argument != STDIN and self.answer is None

    @property
    def access_result(self) -> AccessResult:
        """The access result of the answer; a local file counts as success."""
        return AccessResult.SUCCESSFUL if self.answer is None else self.answer.access_result

    def parsed(self) -> RobotsTxt:
        """The parsed file.

        Raises:
            CommandError: the file is unreachable or missing.
        """
        self.refuse_absent()
        return parse(self.body, self.uri)

    def refuse_absent(self) -> None:
        """Refuse an answer without a file.

        Raises:
            CommandError: the file is unreachable or missing.
        """
        if self.answer is not None and self.access_result is not AccessResult.SUCCESSFUL:
            is_down = self.access_result is AccessResult.UNREACHABLE
            word = "is unreachable" if is_down else "does not exist"
            raise CommandError(f"{self.name} {word} ({name_of(self.answer.event)})", UNREACHABLE)

    def tell_freshness(self, call: Call) -> None:
        """Write the source and the age of the answer to standard error."""
        if self.freshness is not None:
            words = str(self.freshness) if self.is_former else self.freshness.words
            call.complain(f"{self.name}: {words}")


def is_url(text: str) -> bool:
    """Whether an argument is a URL, not a path or an old version."""
    return text.lower().startswith(_SCHEMES) and not _is_dated(text)


def _is_dated(text: str) -> bool:
    """Whether an argument is ``ORIGIN@2026-11-01``, and no such file exists."""
    return _DATED.fullmatch(text) is not None and not os.path.lexists(text)


def origin_of(url: str, option: str = "") -> Origin:
    """The origin of a URL; `option` is named in the error.

    Raises:
        CommandError: robots.txt does not govern the URL.
    """
    try:
        origin = Origin.of(url)
    except InvalidUri as error:
        raise CommandError(f"{option}{error}") from error
    if origin is None:
        host = _HOST.match(url)
        meant = f"https://{url}" if host else "a URL that begins with http://, https:// or ftp://"
        raise CommandError(f"{option}robots.txt does not govern {url!r}: give {meant}")
    return origin


def named_origin(text: str) -> Origin:
    """The origin of a URL, or of a host, which stands for https://host."""
    return origin_of(text if text.lower().startswith(_SCHEMES) else f"https://{text}")


def refuse_odd_path(url: str) -> None:
    """Refuse an argument that is neither a URL nor a path.

    Raises:
        CommandError: it is neither.
    """
    if is_url(url):
        origin_of(url)  # raises if it cannot be fetched
    elif not url.startswith("/"):
        raise CommandError(f"{url!r}: give a URL, or a path that begins with /")


def refuse_two_stdins(arguments: Sequence[str]) -> None:
    """Refuse to read standard input twice.

    Raises:
        CommandError: standard input is named more than once.
    """
    if arguments.count(STDIN) > 1:
        raise CommandError("standard input ('-') can be read only once")


def octets_of(name: str, limit_octets: int = READ_OCTETS) -> bytes:
    """The octets of a local file, or of standard input: at most one more than the limit.

    Raises:
        CommandError: it cannot be read.
    """
    try:
        if name == STDIN:
            return stdin().read(limit_octets + 1)
        with Path(name).open("rb") as file:
            return file.read(limit_octets + 1)
    except OSError as error:
        raise unreadable(name, error, _meant_instead_of(name)) from error


def _meant_instead_of(name: str) -> str:
    """Advice on what to type, if the name looks like a URL or a host; otherwise empty."""
    if name.lower().startswith("file:"):
        return f"; give its path: {unquote(urlsplit(name).path)}"
    if _OTHER_SCHEME.match(name):
        return f"; a URL begins with {', '.join(_SCHEMES[:-1])} or {_SCHEMES[-1]}"
    host = _HOST.match(name)
    if host is None or host[1].lower() in _ENDINGS:
        return ""
    return f"; for a site, give a URL: https://{host[0]}"


def put(path: Path, octets: bytes) -> None:
    """Write a file, atomically; an existing file keeps its owner and mode.

    Raises:
        CommandError: the file cannot be written.
    """
    made = path.with_name(f".{path.name}.{token_hex(4)}.part")
    try:
        try:
            made.write_bytes(octets)
            if path.exists():
                old = path.stat()
                with suppress(PermissionError):  # only root can keep another owner
                    os.chown(made, old.st_uid, old.st_gid)
                made.chmod(old.st_mode & 0o7777)
            made.replace(path)
        finally:
            made.unlink(missing_ok=True)
    except OSError as error:
        raise unreadable(path, error) from error


def stdin_lines() -> Iterator[str]:
    """Yield the lines of standard input that are not blank, as soon as they arrive.

    Raises:
        CommandError: standard input is closed.
    """
    for line in lines_of(STDIN):
        text = line.decode("utf-8", "surrogateescape").strip()
        if text:
            yield text


def lines_of(name: str) -> Iterator[bytes]:
    """Yield the lines of a list, a file or standard input, as soon as they arrive.

    Raises:
        CommandError: it cannot be read, or a line is too long for a list.
    """
    try:
        with nullcontext(stdin()) if name == STDIN else Path(name).open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, _LINE_OCTETS), b"")):
                if len(line) == _LINE_OCTETS:
                    words = f"a line is longer than {_LINE_OCTETS:,} octets: this is not a list"
                    raise CommandError(words)
                # Windows' editors and shells write a byte order mark.
                yield line if number else line.removeprefix(BOM_UTF8)
    except OSError as error:
        raise unreadable(name, error) from error


def unpacked_lines(name: str, limit_octets: int) -> Iterator[bytes]:
    """Yield the lines of a file, perhaps gzipped, or of standard input; long ones are cut.

    Raises:
        OSError: it cannot be read; the others of `CUT_OFF`: it ends too early.
    """
    source: Any = stdin() if name == STDIN else FileIO(name)
    with BufferedReader(source) as raw:
        is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
        file: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
        is_begin = True
        while octets := file.readline(limit_octets):
            if is_begin:
                yield octets
            is_begin = octets.endswith(b"\n")


def stdin() -> BinaryIO:
    """The octets of standard input.

    Raises:
        CommandError: it is closed.
    """
    if sys.stdin is None:
        raise CommandError("standard input ('-') is closed")
    return sys.stdin.buffer


def read(argument: str, call: Call, uri: str = "") -> Input:
    """The file that one argument names; `uri` is that of a path or of standard input.

    Raises:
        CommandError: it cannot be read. An answer without a file is not an error here.
    """
    return read_all([argument], call, uri=uri, is_strict=True)[0]


def read_all(
    arguments: Sequence[str],
    call: Call,
    *,
    uri: str = "",
    has_twins: bool = False,
    is_strict: bool = False,
) -> list[Input]:
    """The files that arguments name; unless `is_strict`, unreadable ones are reported and left out.

    URLs are fetched in one run of the engine, because a process can run it only once. With
    `has_twins`, the answer of each host over the other of http and https is fetched too.
    """
    refuse_two_stdins(arguments)
    if uri:
        _tell_if_unread(uri, origin_of(uri, "--uri: "), call)
    origins: dict[str, Origin] = {}
    found: list[Input] = []
    with_each = nullcontext if is_strict else call.going_on
    for argument in filter(is_url, arguments):
        with with_each():
            origins[argument] = origin_of(argument)
            _tell_if_unread(argument, origins[argument], call)
    others = {url: origin.other_scheme if has_twins else None for url, origin in origins.items()}
    wanted = [origin for origin in (*origins.values(), *others.values()) if origin is not None]
    answers = _answers(call, wanted)
    for argument in arguments:
        if argument in origins:
            origin, other = origins[argument], others[argument]
            file = Input.of_answer(argument, origin, *answers[origin])
            twin = answers[other][0] if other is not None else None
            found.append(replace(file, twin=twin))
        elif not is_url(argument):
            with with_each():
                found.append(_local(argument, call, uri))
    return found


def _tell_if_unread(url: str, origin: Origin, call: Call) -> None:
    """Report a robots.txt in a folder: crawlers read only that of the origin."""
    path = urlsplit(url).path
    if path != ROBOTS_TXT_PATH and path.lower().endswith(ROBOTS_TXT_PATH):
        call.complain(
            f"note: no crawler reads {url}: the rules for its URLs are in {origin.robots_txt_uri}"
        )


def _local(argument: str, call: Call, uri: str) -> Input:
    if _is_dated(argument):
        return _former(argument, call.settings)
    name, body = STDIN_NAME if argument == STDIN else argument, octets_of(argument)
    if len(body) > READ_OCTETS:
        call.complain(f"note: {name}: only the first {READ_OCTETS:,} octets are read")
    return Input(argument, name, body[:READ_OCTETS], uri)


def _former(argument: str, settings: Settings) -> Input:
    """The version of a file at a date: at the end of that day in UTC, or at the given time.

    Raises:
        CommandError: the date does not exist, or no version of that time is known.
    """
    from .project_store import version_of

    parts = _DATED.fullmatch(argument)
    assert parts is not None  # noqa: S101 - the caller has checked
    origin = named_origin(parts["origin"])
    try:
        at = datetime.fromisoformat(parts["at"])
    except ValueError as error:
        raise CommandError(f"{argument}: not a date ({error})") from error
    at = at.replace(tzinfo=timezone.utc)
    if parts["time"] is None:
        at += timedelta(days=1, microseconds=-1)
    found = Input.of_answer(
        argument, origin, *answer_of(version_of(settings, origin, at.timestamp()))
    )
    name = f"{found.uri}@{argument.rpartition('@')[2]}"
    return replace(found, name=name, is_former=True)


def answer_of(copy: Copy) -> tuple[Answer, Freshness]:
    """A copy in the store as an answer."""
    steps = (*copy.steps, *copy.confirmed_by)
    answer = Answer(copy.event, copy.body, copy.hops, dict(copy.headers), steps=steps)
    return answer, Freshness(copy.confirmed_at, is_stored=True)


def _answers(call: Call, origins: Iterable[Origin]) -> dict[Origin, tuple[Answer, Freshness]]:
    """The answers of origins: fresh copies of the store, and the others, or all, fetched now."""
    wanted = list(dict.fromkeys(origins))
    if not wanted:
        return {}
    from . import engine_work
    from .project_store import fresh_copies

    copies = {} if call.options.refresh else fresh_copies(call.settings, wanted)
    found = {origin: answer_of(copy) for origin, copy in copies.items()}
    left = [origin for origin in wanted if origin not in found]
    if left:
        answers = engine_work.fetch_now(call, left)
        now = Freshness(time.time(), is_stored=False)
        found.update({origin: (answers[origin], now) for origin in left})
    return found
