"""The page of one crawl, written at its end."""

from __future__ import annotations

from pathlib import Path


def write_report(folder: Path, path: Path) -> str:
    """Write the report of a trail; what went wrong, empty if nothing did. Never raises."""
    try:
        # Loaded now: most crawls write no report.
        from .report_making import report_of, trails_at
        from .report_page import page, write

        write(path, page(report_of(trails_at([folder]))))
    except Exception as error:  # noqa: BLE001 - whatever it is, the crawl ends as it would have
        return f"{path}: {type(error).__name__}: {error}"
    return ""
