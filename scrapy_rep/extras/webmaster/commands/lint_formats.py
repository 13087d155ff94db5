"""The findings of `lint` for code hosts and CI: SARIF, GitHub, GitLab.

A file that could not be read is in each of them, so that it does not look like a clean one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scrapy_rep.commands.inputs import STDIN_NAME, Input
from scrapy_rep.commands.running import CommandError
from scrapy_rep.extras.webmaster.checks.codes import Code, Severity
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.protocol.lines import clean

NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_UNSAFE_WORDS = " (this may change what crawlers fetch)"

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SITE = "https://scrapy-rep.readthedocs.io/en/latest"
_FINGERPRINT = "codeAndLine/v1"
_TITLE = "scrapy rep lint"
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_GITLAB_LEVELS = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


@dataclass(frozen=True)
class FileReport:
    """The findings for one file.

    Attributes:
        file: the file.
        findings: in the order of its lines.
        suppressed: the number of findings that comments in the file suppress.
    """

    file: Input
    findings: Sequence[Finding]
    suppressed: int = 0

    @property
    def path(self) -> str:
        """The path as code hosts know it: relative to the current folder, if it is below."""
        name = self.file.name
        return "robots.txt" if name == STDIN_NAME else _path(name)

    def by_code(self) -> dict[Code, list[Finding]]:
        """The findings by code."""
        found: dict[Code, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.code, []).append(finding)
        return found

    def with_fingerprints(self) -> Iterator[tuple[Finding, str]]:
        """The findings with digests that survive changes elsewhere in the file.

        A digest is of the code and the text of the line; an equal finding later in the file gets
        the next number.
        """
        seen = Counter[str]()
        for finding in self.findings:
            line = (line_of(self.file, finding) or b"").strip()
            text = b"\0".join((finding.code.value.encode(), line, finding.octets))
            fingerprint = sha256(text).hexdigest()[:32]
            seen[fingerprint] += 1
            yield finding, f"{fingerprint}:{seen[fingerprint]}"


@lru_cache(maxsize=2)
def _lines_of(body: bytes) -> list[bytes]:
    return clean(body)[0].split(b"\n")


def line_of(file: Input, finding: Finding) -> bytes | None:
    """The line of a finding; None if it concerns the whole file."""
    lines = _lines_of(file.body) if finding.line else []
    return lines[finding.line - 1] if 0 < finding.line <= len(lines) else None


def _path(name: str) -> str:
    if "://" in name:
        return name
    path = Path(name)
    below = path.is_absolute() and path.is_relative_to(Path.cwd())
    return (path.relative_to(Path.cwd()) if below else path).as_posix()


def advice(finding: Finding) -> str:
    """The fix, with a warning if it is unsafe."""
    return finding.mend + _UNSAFE_WORDS * finding.is_unsafe


def _words(finding: Finding) -> str:
    """The meaning and the fix."""
    return f"{finding.message}: {advice(finding)}"


# SARIF 2.1.0


def _sarif(reports: Sequence[FileReport], failures: Sequence[CommandError]) -> Iterator[str]:
    from importlib.metadata import version  # slow to load

    driver = {
        "name": "scrapy-rep",
        "version": version("scrapy-rep"),
        "informationUri": f"{_SITE}/",
        "rules": list(map(_rule, Code)),
    }
    invocation = {
        "executionSuccessful": not failures,
        "toolExecutionNotifications": list(map(_notification, failures)),
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [result for report in reports for result in _results(report)],
    }
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": code.value,
        "name": code.slug,
        "shortDescription": {"text": f"{code.meaning}."},
        "help": {"text": f"{code.fix}."},
        "helpUri": page_of(code),
        "defaultConfiguration": {"level": NOUNS[code.severity]},
        "properties": {"tags": [code.group]},
    }


def page_of(code: Code) -> str:
    """The URL of the page about a code."""
    return f"{_SITE}/lint/{code.value}.html"


def _notification(failure: CommandError) -> dict[str, Any]:
    found: dict[str, Any] = {"level": "error", "message": {"text": str(failure)}}
    if failure.where:
        place = {"artifactLocation": {"uri": _uri(_path(failure.where))}}
        found["locations"] = [{"physicalLocation": place}]
    return found


def _results(report: FileReport) -> Iterator[dict[str, Any]]:
    places, uri = list(Code), _uri(report.path)
    for finding, fingerprint in report.with_fingerprints():
        place = {"artifactLocation": {"uri": uri}, "region": _region(finding)}
        yield {
            "ruleId": finding.code.value,
            "ruleIndex": places.index(finding.code),
            "level": NOUNS[finding.severity],
            "message": {"text": f"{_words(finding)}."},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": {_FINGERPRINT: fingerprint},
        }


def _region(finding: Finding) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(finding.line, 1)}
    if finding.column:
        region["startColumn"] = finding.column
    if finding.octets and finding.line:
        region["snippet"] = {"text": finding.octets.decode("utf-8", "replace")}
    return region


def _uri(path: str) -> str:
    return path if "://" in path else quote(path, errors="surrogateescape")


# GitHub: a workflow command for each finding, which becomes an annotation


def _github(reports: Sequence[FileReport], failures: Sequence[CommandError]) -> Iterator[str]:
    for report in reports:
        for finding in report.findings:
            code = finding.code.value
            place = {"line": finding.line or 1, "col": finding.column or None}
            # A site is no file of the repository.
            where = {} if "://" in report.path else {"file": report.path, **place}
            at = ":".join(str(part) for part in (report.path, finding.line) if part)
            level, title = _GITHUB_LEVELS[finding.severity], f"{_TITLE} ({code})"
            yield _command(level, f"{at}: {code} {_words(finding)}", **where, title=title)
    for failure in failures:
        yield _command("error", str(failure), title=_TITLE)


def _command(level: str, message: str, **properties: object) -> str:
    given = [(name, _escaped(str(one))) for name, one in properties.items() if one is not None]
    texts = (f"{name}={text.replace(':', '%3A').replace(',', '%2C')}" for name, text in given)
    told = ",".join(texts)
    return f"::{level} {told}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# GitLab: a report of Code Quality


def _gitlab(reports: Sequence[FileReport], failures: Sequence[CommandError]) -> Iterator[str]:
    issues = [
        _issue(report.path, finding.code.slug, _GITLAB_LEVELS[finding.severity], fingerprint)
        | {"description": f"{finding.code.value} {_words(finding)}"}
        | {"location": {"path": report.path, "lines": {"begin": max(finding.line, 1)}}}
        for report in reports
        for finding, fingerprint in report.with_fingerprints()
    ]
    for failure in failures:
        path = _path(failure.where or _TITLE)
        place = {"path": path, "lines": {"begin": 1}}
        told = {"description": str(failure), "location": place}
        issues.append(_issue(path, "unreadable", "blocker", "") | told)
    yield json.dumps(issues)


def _issue(path: str, name: str, severity: str, fingerprint: str) -> dict[str, Any]:
    # GitLab compares fingerprints over all files.
    text = f"{path}\0{name}\0{fingerprint}".encode("utf-8", "surrogateescape")
    return {"check_name": name, "severity": severity, "fingerprint": sha256(text).hexdigest()}


FORMATS: dict[str, Callable[[Sequence[FileReport], Sequence[CommandError]], Iterator[str]]] = {
    "sarif": _sarif,
    "github": _github,
    "gitlab": _gitlab,
}
"""The functions that write a whole call in each format."""
