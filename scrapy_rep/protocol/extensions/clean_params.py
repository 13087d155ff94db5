"""Clean-param records: query parameters that do not change a page (an extension by Yandex).

A value is ``p1[&p2...] [prefix]``. It says that these parameters have no effect on pages with a
path that begins with the prefix, or on all pages without a prefix. In a prefix ``*`` matches any
characters; letter case matters. All records of a file apply, wherever they are in the file.

Values longer than 500 characters are ignored, as Yandex does, and so are records after the first
1,000: each record costs time for every URL, linear in the URL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote_plus

from scrapy_rep.protocol.paths import normal_path, normal_pattern, path_of
from scrapy_rep.protocol.wildcards import matches

from .records import OtherRecord

_NAME = b"clean-param"
_LIMIT_CHARACTERS = 500
_LIMIT_RECORDS = 1000


@dataclass(frozen=True, slots=True)
class CleanParam:
    """One record: parameter names, decoded, and the prefix in normal form."""

    parameters: frozenset[str]
    prefix: str

    def covers(self, path: str) -> bool:
        """Whether a path in normal form begins with the prefix."""
        return matches(self.prefix, path)


def clean_param(value: bytes) -> CleanParam | None:
    """The value of one record; None if it names no parameter, or is too long."""
    text = value.decode("utf-8", "replace")
    names, _, prefix = text.partition(" ")
    parameters = frozenset(unquote_plus(name) for name in names.split("&") if name)
    if not parameters or len(text) > _LIMIT_CHARACTERS:
        return None
    octets = prefix.strip().encode("utf-8", "surrogatepass").decode("latin-1")
    return CleanParam(parameters, normal_pattern(octets or "/"))


@dataclass(frozen=True, slots=True)
class CleanParams:
    """The Clean-param records of a file."""

    records: tuple[CleanParam, ...] = ()

    @classmethod
    def of(cls, records: Iterable[OtherRecord]) -> CleanParams:
        """Read the Clean-param records among a file's other records."""
        values = (record.value for record in records if record.key.lower() == _NAME)
        read = (clean_param(value.replace(b"\t", b" ")) for value in values)
        return cls(tuple(islice((one for one in read if one is not None), _LIMIT_RECORDS)))

    def __len__(self) -> int:
        return len(self.records)

    def parameters(self, url: str) -> frozenset[str]:
        """The names of the parameters that do not change the page of a URL, decoded."""
        if not self.records:
            return frozenset()
        path = normal_path(path_of(url).partition("?")[0])
        names = (record.parameters for record in self.records if record.covers(path))
        return frozenset().union(*names)

    def canonical(self, url: str) -> str:
        """The URL without these parameters, but otherwise unchanged, with its fragment."""
        head, has_fragment, fragment = url.partition("#")
        before, has_query, query = head.partition("?")
        ignored = self.parameters(head) if has_query else frozenset()
        if not ignored:
            return url
        kept = [one for one in query.split("&") if _name_of(one) not in ignored]
        return before + ("?" if kept else "") + "&".join(kept) + has_fragment + fragment


def _name_of(parameter: str) -> str:
    return unquote_plus(parameter.partition("=")[0])
