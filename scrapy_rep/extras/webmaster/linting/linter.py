"""All checks of a robots.txt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.mending import Edit, EditPlace, edited
from scrapy_rep.extras.webmaster.outline import outline

from .damage import damages
from .effect_checks import effect_findings
from .group_checks import group_findings
from .line_checks import file_findings, line_findings
from .mends import Mender
from .record_checks import record_findings
from .rule_checks import rule_findings
from .suppressions import without_suppressed

_CHECKS = (line_findings, group_findings, rule_findings, record_findings, effect_findings)

FINDINGS_PER_CODE = 1000
"""The most findings for one code; one more says that there are others."""


def lint(body: bytes, uri: str = "") -> list[Finding]:
    """The errors and unusual parts of a robots.txt, in file order.

    Args:
        body: the file, decompressed; any octets.
        uri: the requested URI, against which Sitemap lines are checked; may be empty.

    Returns:
        The findings, those about the file as a whole first, with line 0. At most
        `FINDINGS_PER_CODE` for each code.

    Nothing in a file raises. Time is O(n log n) in the octets up to the parse limit, plus the
    comparisons of rules, at most `effect_checks.BUDGET_STEPS`.
    """
    outlined = outline(body, uri)
    damaged = damages(outlined)
    of_lines = (finding for check in _CHECKS for finding in check(outlined))
    found = [
        *file_findings(body, outlined),
        *(damage.finding for damage in damaged.values()),
        # Other findings of a damaged line are about words that its author did not mean.
        *(finding for finding in of_lines if finding.line not in damaged),
    ]
    found.sort(key=lambda finding: (finding.line, finding.column, finding.code.value))
    return list(_bounded(Mender(outlined, found, damaged).findings()))


def _bounded(found: Iterable[Finding]) -> Iterator[Finding]:
    counts: Counter[Code] = Counter()
    for finding in found:
        counts[finding.code] += 1
        if counts[finding.code] <= FINDINGS_PER_CODE:
            yield finding
        elif counts[finding.code] == FINDINGS_PER_CODE + 1:
            name = f"{finding.code.value} {finding.code.slug}"
            yield Finding(Code.TOO_MANY_FINDINGS, finding.line, detail=name)


_MOST_ROUNDS = 40  # after these, the rest stays as it is
_FIRST = (Code.UTF16, Code.BOM, Code.CR_ONLY)


def fixed(
    body: bytes,
    uri: str = "",
    codes: Iterable[Code] = tuple(Code),
    *,
    has_suppressions: bool = True,
    is_unsafe: bool = False,
) -> tuple[bytes, list[Finding]]:
    """A file after all safe fixes, and the findings that were fixed.

    Args:
        body: the file, decompressed; any octets.
        uri: the requested URI, to make Sitemap lines absolute; may be empty.
        codes: the findings to fix.
        has_suppressions: whether to skip findings that comments in the file suppress.
        is_unsafe: whether to apply unsafe fixes, too.

    The caller proves that verdicts stay the same without unsafe fixes, as `format` does.
    """
    wanted = frozenset(codes)
    done: list[Finding] = []
    for _ in range(_MOST_ROUNDS):
        found = [finding for finding in lint(body, uri) if finding.code in wanted]
        found = [one for one in found if one.is_safe or (is_unsafe and one.is_unsafe)]
        if has_suppressions:
            found = without_suppressed(body, found)
        taken = list(_together(found))
        new = edited(body, [edit for finding in taken for edit in _edits(finding)])
        if not taken or new == body:
            break
        body = new
        done += taken
    return body, done


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.proposal.edits if finding.proposal is not None else ()


def _together(found: list[Finding]) -> Iterable[Finding]:
    """The findings that change no line twice; a change of all octets comes alone and first.

    Unsafe fixes come before safe ones, which depend on the records that are meant.
    """
    octets = [finding for finding in found if finding.code in _FIRST]
    if octets:
        yield octets[0]
        return
    touched: set[int] = set()
    unsafe = [finding for finding in found if finding.is_unsafe]
    for finding in unsafe or found:
        lines = {edit.line for edit in _edits(finding) if edit.place is EditPlace.AT}
        if lines.isdisjoint(touched):
            touched |= lines
            yield finding
