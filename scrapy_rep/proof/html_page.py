"""Pages made of templates (needs Jinja, the extra ``report``): what every page shares.

A page goes into mails, tickets and archives, where scripts are barred, and it shows what sites
wrote: everything is escaped, and the page forbids itself all that it does not need. `base.html`
has its head, colours and rules for print; `charts.html` has the charts, as macros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def environment() -> Environment:
    """The templates of all pages, with the filter ``printable``.

    Raises:
        ImportError: Jinja is not installed.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("scrapy_rep.proof"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["printable"] = printable
    return made


def printable(text: str) -> str:
    """A text without control characters, and those that turn the direction of what follows."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
