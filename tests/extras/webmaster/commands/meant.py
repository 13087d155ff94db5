"""What the author of a file with errors meant: the file after the unsafe fixes.

Before and after a rewrite, that has to mean the same, and each error has to be found. The fixes of
infos are left out: they are matters of form.
"""

from __future__ import annotations

from collections.abc import Collection

from scrapy_rep.extras.webmaster.checks.codes import Code, Severity
from scrapy_rep.extras.webmaster.effect.differences import agents_of, differences
from scrapy_rep.extras.webmaster.effect.other_readers import escaped
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.protocol.document import parse


def errors_of(body: bytes, uri: str) -> set[tuple[Code, str]]:
    """The errors of a file, with the value of the line that each is about."""
    values = {line.number: line.value or line.octets.strip() for line in outline(body, uri).lines}
    return {
        (one.code, escaped(values.get(one.line, b"")))
        for one in lint(body, uri)
        if one.severity is Severity.ERROR
    }


def has_same_meaning(body: bytes, new: bytes, uri: str, spared: Collection[str] = ()) -> bool:
    """Whether two files mean the same as their author meant them, to all agents but some."""
    codes = [code for code in Code if code.severity is not Severity.INFO]
    old, meant = (fixed(one, uri, codes, is_unsafe=True)[0] for one in (body, new))
    every = agents_of(outline(old), outline(meant))
    agents = [one for one in every if one.lower() not in spared]
    return not [*differences(parse(old, uri), parse(meant, uri), agents, steps=10**9)]
