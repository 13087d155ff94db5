"""Findings as a SARIF 2.1.0 log, which code hosts read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from scrapy_rep.analysis.checks.codes import Check, Code, Severity
from scrapy_rep.analysis.checks.table import CHECKS
from scrapy_rep.analysis.findings import Finding

from .lint_words import EFFECT_WORDS, Report, line_of
from .sources import STDIN_NAME, Source

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SITE = "https://scrapy-rep.readthedocs.io/en/latest"
_FINGERPRINT = "codeAndLine/v1"


def sarif(reports: Sequence[Report]) -> str:
    """The findings of all files as a SARIF 2.1.0 log, for code hosts."""
    rules = [_sarif_rule(check) for check in CHECKS.values()]
    places = {code: place for place, code in enumerate(CHECKS)}
    results = [result for report in reports for result in _sarif_results(report, places)]
    driver = {
        "name": "scrapy-rep",
        "version": version("scrapy-rep"),
        "informationUri": f"{_SITE}/",
        "rules": rules,
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.code.value,
        "name": check.code.slug,
        "shortDescription": {"text": f"{check.meaning}."},
        "help": {"text": f"{check.mend}."},
        "helpUri": f"{_SITE}/lint/{check.code.value}.html",
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
    }


def _sarif_results(report: Report, places: dict[Code, int]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in report.findings:
        fingerprint = _fingerprint(report.source, finding)
        seen[fingerprint] += 1
        result = _sarif_result(report.source, finding, places[finding.code])
        # The second finding that is equal is another one, wherever their lines move to.
        result["partialFingerprints"] = {_FINGERPRINT: f"{fingerprint}:{seen[fingerprint]}"}
        yield result


def _fingerprint(source: Source, finding: Finding) -> str:
    """What stays of a finding as lines come and go elsewhere: its code and the text of its line."""
    line = (line_of(source, finding) or b"").strip()
    return sha256(b"\0".join((finding.code.value.encode(), line, finding.octets))).hexdigest()[:32]


def _sarif_result(source: Source, finding: Finding, place: int) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(finding.line, 1)}
    if finding.column:
        region["startColumn"] = finding.column
    if finding.octets and finding.line:
        region["snippet"] = {"text": finding.octets.decode("utf-8", "replace")}
    return {
        "ruleId": finding.code.value,
        "ruleIndex": place,
        "level": _LEVELS[finding.severity],
        "message": {
            "text": f"{finding.message}: {finding.mend}{EFFECT_WORDS.get(finding.effect, '')}."
        },
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _sarif_uri(source.name)},
                    "region": region,
                }
            }
        ],
    }


def _sarif_uri(name: str) -> str:
    from pathlib import PurePath
    from urllib.parse import quote

    if name == STDIN_NAME:
        return "robots.txt"
    return name if "://" in name else quote(PurePath(name).as_posix())
