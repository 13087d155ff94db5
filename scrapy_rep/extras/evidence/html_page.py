"""The shared parts of all HTML pages (needs Jinja, the extra ``report``).

A page goes into mails, tickets and archives, where scripts are forbidden, and it shows text from
sites. So everything is escaped, and the page forbids itself everything else, including scripts.
`base.html` has its head, colours and print rules; `charts.html` has the charts, as macros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_rep.commands.running import CommandError
from scrapy_rep.protocol.secrecy import OWNER_ONLY

from .spool import replacing

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Table:
    """A table on a page, or in a terminal.

    Attributes:
        title: the heading.
        sentence: a description of the content.
        head: the names of the columns; the first column holds names.
        rows: the cells, as text.
        bars: for each row a share, perhaps with its interval, from 0 to 1.
        stacks: for each row the numbers of `classes`.
        boxes: for each row the places of five quantiles, from 0 to 1.
        chart: the name of the column of bars, stacks or boxes.
        classes: the names of the stacked numbers.
        wordy: the columns with words; `long` names those with long texts.
        note: a text after the table.
        is_folded: whether the table is closed until a reader opens it.
    """

    title: str
    sentence: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    bars: Sequence[tuple[float, ...]] = ()
    stacks: Sequence[tuple[int, ...]] = ()
    boxes: Sequence[tuple[float, ...]] = ()
    chart: str = ""
    classes: Sequence[str] = ()
    wordy: Sequence[str] = ()
    long: Sequence[str] = ()
    note: str = ""
    is_folded: bool = False


def environment() -> Environment:
    """The templates of all pages, with the filter ``printable``.

    Raises:
        ImportError: Jinja is not installed.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("scrapy_rep.extras.evidence"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["printable"] = printable
    return made


def printable(text: str) -> str:
    """A text without control characters, including those that change the text direction."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def write(path: Path, text: str) -> None:
    """Write a page, completely or not at all, for its owner alone: it has URLs.

    Its folder is made, if it does not exist.

    Raises:
        OSError: the page cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.touch(OWNER_ONLY)
        part.write_text(text, encoding="utf-8")


def refuse_page_without_jinja(output: str | None) -> None:
    """Refuse to write a page if Jinja is not installed.

    Raises:
        CommandError: Jinja is not installed.
    """
    if output and not output.endswith(".json") and find_spec("jinja2") is None:
        raise CommandError("a page needs Jinja: pip install 'scrapy-rep[report]'")
