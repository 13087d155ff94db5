"""WARC archives in words: whether one is whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scrapy_rep.proof.warc_check import ArchiveRun, check

from .running import FOUND, OK, UNSETTLED
from .trails import safe

if TYPE_CHECKING:
    from .terminal import Terminal


def verify_archive(run: ArchiveRun, terminal: Terminal, *, as_json: bool) -> int:
    """Tell whether an archive is whole and unchanged."""
    found = check(run)
    status = FOUND if found.problems else UNSETTLED if found.missing else OK
    total = found.counts.total()
    if as_json:
        held = {
            "run": run.path.name,
            "problems": found.problems,
            "missing": found.missing,
            "records": total,
            "counts": dict(found.counts),
            "manifest_sha256": run.manifest_sha256,
        }
        terminal.line(json.dumps(held))
        return status
    for problem in found.problems:
        terminal.line(f"{terminal.paint('wrong', 'red', 'bold')}: {safe(problem)}")
    for lack in found.missing:
        terminal.line(f"{terminal.paint('missing', 'yellow', 'bold')}: {safe(lack)}")
    words = {FOUND: "was changed or damaged", UNSETTLED: "is not complete", OK: "is whole"}
    held_words = ", ".join(f"{count:,} {safe(kind)}" for kind, count in found.counts.items())
    terminal.line(f"{safe(run.path.name)} {words[status]}: {total:,} records; {held_words}")
    if run.manifest_sha256:
        terminal.line(f"SHA-256 of {run.path / 'manifest.json'}: {run.manifest_sha256}")
    return status
