"""The lines of access logs as values, by a table of formats, and the reading of several logs.

Strangers chose the target and the User-Agent in a line. So a reader raises `ValueError` for
a line in another form, or `RecursionError` for JSON that is nested too deeply, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from heapq import merge
from typing import Any, NamedTuple
from urllib.parse import unquote

from scrapy_rep.commands.inputs import CUT_OFF, unpacked_lines
from scrapy_rep.commands.running import CommandError, unreadable
from scrapy_rep.protocol.errors import ConfigurationError


class LogLine(NamedTuple):
    """A request as a server logged it.

    Attributes:
        at: when, in POSIX seconds.
        address: that of the client.
        target: the target of the request: a path with its query, or a URL; empty if malformed.
        status: that of the answer; 0 if it is unknown.
        user_agent: the header; empty without one.
        host: the host and perhaps the port of the site, in lower case; empty if unknown.
        method: that of the request; empty if unknown.
    """

    at: float
    address: str
    target: str
    status: int
    user_agent: str
    host: str
    method: str = ""

    @property
    def url(self) -> str:
        """The target as a URL, of any host; as it is if it is not a path."""
        return f"http://x{self.target}" if self.target[:1] == "/" else self.target


_NAMES = ("time", "address", "request", "status", "agent", "host", "target", "method")
_CADDY = (
    "time=ts,address=request.remote_ip,status=status,agent=request.headers.User-Agent,"
    "host=request.host,target=request.uri,method=request.method"
)
_QUOTED = r'[^"\\]*(?:\\.[^"\\]*)*'
# Most request lines have the usual form; `_line` reads the others.
_REQUEST = rf'"(?:(?P<method>[A-Za-z]+) (?P<target>[^"\\ ]+) HTTP/[\d.]+|(?P<request>{_QUOTED}))"'
_PATTERNS = (
    re.compile(  # Common and Combined Log Format, perhaps after the host
        r"(?:(?P<host>[^\s:,]+(?::\d+|(?= [\dA-Fa-f]*[.:][\dA-Fa-f.:]* ))) )?"
        r"(?P<address>\S+) \S+ .*?\[(?P<time>\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
        rf'{_REQUEST} (?P<status>\d{{3}}) \S+(?: "{_QUOTED}" "(?P<agent>{_QUOTED})")?'
    ),
    re.compile(  # Elastic Load Balancing, as AWS documents it: Application and Classic
        r"(?:(?:https?|h2|grpcs|wss?) )?(?P<time>\d{4}-\d\d-\d\dT\S+) \S+ (?P<address>\S+):\d+"
        r"(?P<host>)(?: \S+){4} (?P<status>\S+)(?: \S+){3} "
        rf'{_REQUEST} "(?P<agent>{_QUOTED})"'
    ),
)
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
AUTHORITY = re.compile(r"[A-Za-z][\w+.-]*://(?:[^/?#]*@)?([^/?#]*)")
"""The beginning of a URL, with its host."""

_DEFAULT_PORT = re.compile(r":(?:80|443)$")
_LINE_OCTETS = 1 << 16  # longer lines are unreadable


def _line(*values: Any) -> LogLine:
    """Make a line of the values of `_NAMES`, text or None."""
    time, address, request, status, agent, host, target, method = values
    if request:
        method, _, rest = request.partition(" ")
        target, _, version = rest.rpartition(" ")
        target = (target if version[:5] == "HTTP/" else rest) if method.isalpha() else ""
    if (target := target or "")[:1] != "/" and (absolute := AUTHORITY.match(target)):
        host = absolute[1]  # RFC 9112, 3.2.2
    host = _DEFAULT_PORT.sub("", host.lower()) if host else ""
    agent = agent if agent and agent != "-" else ""
    known = int(status) if status.isdigit() else 0
    return LogLine(instant_of(time), address, target, known, agent, host, method or "")


def _unescaped(text: str | None) -> str:
    """A text in which the escapes of servers for quotes and other octets are decoded."""
    octets = (text or "").encode("utf-8", "surrogateescape")
    octets = _ESCAPE.sub(lambda one: bytes((int(one[1], 16),)) if one[1] else one[2], octets)
    return octets.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=1024)
def instant_of(text: str) -> float:
    """A time: as in the Common Log Format, in ISO 8601, or in seconds or parts of them."""
    if text[2:3] == "/":
        return _minute(text[:17] + text[20:]) + float(text[18:20])
    if text.replace(".", "", 1).isdigit():
        digits = len(text.partition(".")[0])  # 10 for seconds, 13, 16 or 19 for parts
        return float(text) / 1000.0 ** min(max(digits - 9, 0) // 3, 3)
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


@lru_cache(maxsize=256)
def _minute(text: str) -> float:
    return datetime.strptime(text, "%d/%b/%Y:%H:%M %z").timestamp()


def line_reader(spec: str) -> Callable[[str], LogLine | None]:
    """A reader of lines in all formats; it returns None for a comment.

    Args:
        spec: the places of values in JSON; empty for those of Caddy.

    Raises:
        ConfigurationError: a name is unknown.
    """
    places = dict(one.strip().partition("=")[::2] for one in (spec or _CADDY).split(","))
    if not places.keys() <= {*_NAMES}:
        raise ConfigurationError(f"{spec!r}: give NAME=PLACE,... of {', '.join(_NAMES)}")
    paths = [places.get(name, "").split(".") for name in _NAMES]
    names: list[str] = []

    def read(text: str) -> LogLine | None:
        if text.startswith("{"):
            found = json.loads(text)
            return _line(*(_value(found, path) for path in paths))
        if text.startswith("#"):
            names[:] = text.split()[1:] if text.startswith("#Fields:") else names
            return None
        for pattern in _PATTERNS:
            if match := pattern.match(text):
                values = match.group(*_NAMES)
                return _line(*(map(_unescaped, values) if "\\" in text else values))
        return _w3c(names, text)

    return read


def _value(found: Any, place: list[str]) -> str:
    """The value at a place; of a list, the first one."""
    for step in place:
        found = found.get(step) if isinstance(found, dict) else None
        found = found[0] if isinstance(found, list) and found else found
    return "" if found is None else str(found)


def _w3c(names: list[str], text: str) -> LogLine:
    """Read a line with the fields that ``#Fields:`` named, as of CloudFront (tabs) and IIS."""
    get = dict(zip(names, text.split("\t" if "\t" in text else " "), strict=True)).get
    query, agent = get("cs-uri-query", "-"), get("cs(User-Agent)", "")
    agent = unquote(agent) if "\t" in text else agent.replace("+", " ")
    target = get("cs-uri-stem", "") + ("" if query == "-" else f"?{query}")
    facts = f"{get('date')}T{get('time')}Z", get("c-ip", ""), "", get("sc-status", "")
    host = get("x-host-header") or get("cs-host", "")
    return _line(*facts, agent, host, target, get("cs-method", ""))


class LogReading:
    """Reads some logs as one, in the order of their times. Memory: a buffer for each open file.

    Attributes:
        site: the host and perhaps the port of the site; empty for that of the first line.
        unreadable_count: the lines in no known format.
        foreign_count: those for other hosts than the site, which are left out.
        unreadable_example: the first of them, with its place; empty without one.
        problems: why files could not be read, or not to their ends.
    """

    def __init__(self, names: Sequence[str], fields: str = "", site: str = "") -> None:
        """Take the names of the logs, the places of values in JSON, and a site; see above."""
        self.unreadable_count = self.foreign_count = 0
        self.unreadable_example = ""
        self.problems: list[str] = []
        self.site, self._host, self._fields, self._names = site, site or None, fields, names

    def lines(self) -> Iterator[tuple[LogLine, str]]:
        """The lines of all logs, with their texts.

        All logs are open at once; those of several servers may overlap.

        Raises:
            CommandError: a log cannot be read, or without a site, there are several hosts.
        """
        entries = merge(*map(self._entries, self._names), key=lambda entry: entry[0].at)
        return (entry for entry in entries if not self._is_foreign(entry[0]))

    def _is_foreign(self, line: LogLine) -> bool:
        """Whether a line is for another host; a log without hosts may have requests to a proxy."""
        if self._host is None and line.target:
            self._host = line.host
        if not line.target or line.host == self._host or (self.site and not line.host):
            return False
        if self._host and not self.site:
            hosts = f"{self._host} and {line.host or 'one without a name'}"
            raise CommandError(f"the log is of several hosts, such as {hosts}: give --site")
        self.foreign_count += 1
        return True

    def _entries(self, name: str) -> Iterator[tuple[LogLine, str]]:
        """Yield the lines of a log that can be read, with their texts."""
        read, is_log = line_reader(self._fields), None
        try:
            for number, octets in enumerate(unpacked_lines(name, _LINE_OCTETS), 1):
                text = octets.decode("utf-8", "surrogateescape").rstrip("\r\n")
                try:
                    line = read(text if len(octets) < _LINE_OCTETS else "")
                except (ValueError, RecursionError):
                    if text:
                        is_log = is_log or False
                        self.unreadable_count += 1
                        words = f"{name}, line {number}: {text[:300]}"
                        self.unreadable_example = self.unreadable_example or words
                    continue
                if line is not None:
                    is_log = True
                    yield line, text
        except CUT_OFF as error:
            self.problems.append(f"{name} cannot be read to its end: {error}")
        except OSError as error:
            raise unreadable(name, error) from error
        if is_log is False:
            self.problems.append(f"{name}: no line is in a known format")
