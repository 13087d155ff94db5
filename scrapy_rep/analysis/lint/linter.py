"""All that can be said against a robots.txt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.findings import Finding
from scrapy_rep.analysis.outline import outline

from .effect_checks import effect_findings
from .file_checks import file_findings
from .group_checks import group_findings
from .line_checks import line_findings
from .mends import with_mends
from .record_checks import record_findings
from .rule_checks import rule_findings

FINDINGS_PER_CODE = 1000
"""How many findings of one code are given; one more tells that there are others."""


def lint(body: bytes, uri: str = "") -> list[Finding]:
    """What is wrong or unusual in a robots.txt, in the order of its lines.

    Args:
        body: the file, decompressed; any octets.
        uri: where it was asked for, against which Sitemap lines are looked at; may be empty.

    Returns:
        The findings; those about the file as a whole, with line 0, first. At most
        `FINDINGS_PER_CODE` of each code.

    Nothing in a file raises. Time is O(n log n) in the octets up to the parse limit, but for the
    comparisons of rules, of which there are no more than `effect_checks.BUDGET_STEPS`.
    """
    outlined = outline(body, uri)
    found = [
        *file_findings(body, outlined),
        *line_findings(outlined),
        *group_findings(outlined),
        *rule_findings(outlined),
        *record_findings(outlined),
        *effect_findings(outlined),
    ]
    found.sort(key=lambda finding: (finding.line, finding.column, finding.code.value))
    return list(_bounded(with_mends(outlined, found, len(body))))


def _bounded(found: list[Finding]) -> Iterator[Finding]:
    counts: Counter[Code] = Counter()
    for finding in found:
        counts[finding.code] += 1
        if counts[finding.code] <= FINDINGS_PER_CODE:
            yield finding
        elif counts[finding.code] == FINDINGS_PER_CODE + 1:
            name = f"{finding.code.value} {finding.code.slug}"
            yield Finding(Code.TOO_MANY_FINDINGS, finding.line, detail=name)
