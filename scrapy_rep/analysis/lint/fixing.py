"""Following all advice that keeps every verdict: what ``lint --fix`` writes.

Cost: `_MOST_ROUNDS` times that of `lint`.
"""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.checks.effects import Effect
from scrapy_rep.analysis.findings import Finding
from scrapy_rep.analysis.mending import Edit, Place, edited
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS

from .linter import lint
from .suppressions import without_suppressed

_MOST_ROUNDS = 40  # what has not settled by then stays as it is
_FIRST = (Code.UTF16, Code.BOM, Code.CR_ONLY, Code.NUL)


def fixed(
    body: bytes,
    uri: str = "",
    codes: Iterable[Code] = tuple(Code),
    *,
    has_suppressions: bool = True,
) -> tuple[bytes, list[Finding]]:
    """A file with all advice followed that keeps verdicts, and the findings that this settled.

    Args:
        body: the file, decompressed; any octets.
        uri: where it was asked for, to make Sitemap lines absolute; may be empty.
        codes: the findings to settle.
        has_suppressions: whether findings stay that comments of the file suppress.

    The caller proves the result, as `format` does.
    """
    wanted = frozenset(codes)
    done: list[Finding] = []
    for _ in range(_MOST_ROUNDS):
        found = [
            finding
            for finding in lint(body, uri)
            if finding.code in wanted and finding.effect is Effect.KEEPS
        ]
        if has_suppressions:
            found, _ = without_suppressed(body, found)
        taken = list(_together(found))
        while taken and len(body) <= PARSE_LIMIT_OCTETS < len(_followed(body, taken)):
            taken = taken[: len(taken) // 2]  # each fits, but not all of them together
        new = _followed(body, taken)
        if not taken or new == body:
            break
        body = new
        done += taken
    return body, done


def _followed(body: bytes, findings: Iterable[Finding]) -> bytes:
    return edited(body, [edit for finding in findings for edit in _edits(finding)])


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.proposal.edits if finding.proposal is not None else ()


def _together(found: list[Finding]) -> Iterable[Finding]:
    """Those that touch no line twice; what concerns all octets comes alone, and first."""
    octets = [finding for finding in found if finding.code in _FIRST]
    if octets:
        yield octets[0]
        return
    touched: set[int] = set()
    for finding in found:
        lines = {edit.line for edit in _edits(finding) if edit.place is Place.AT}
        if lines.isdisjoint(touched):
            touched |= lines
            yield finding
