"""One crawl in a process of its own, in the event loop of the test's choice, and what came of it.

result = crawl("tests.spiders:UrlsSpider", loop="select", settings={...}, urls=[...])
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.at_length import at_length
from tests.extras import skip_refused
from tests.processes import REPOSITORY, start_crawl, without_proxies

__all__ = ["LOOPS", "ONE_LOOP_IN_CI", "REPOSITORY", "Crawl", "Loop", "crawl", "without_proxies"]

Loop = Literal["asyncio", "select", "reactorless"]
LOOPS: tuple[Loop, ...] = ("asyncio", "select", "reactorless")
ONE_LOOP_IN_CI: tuple[Any, ...] = ("asyncio", *at_length(["select", "reactorless"]))
"""For a test that takes long, where a shorter one runs in each loop."""


@dataclass(frozen=True)
class Crawl:
    """The result of a crawl.

    Attributes:
        exit_code: 0, or 1 if there is an error, or what else ended the process.
        items: every item that was scraped, in order.
        stats: the crawl's statistics; what JSON has no word for, as text.
        finish_reason: the spider's; empty if it was never opened and closed.
        error: tracebacks of a start that failed and of every error in a callback; else empty.
        deprecations: deprecation warnings that scrapy_rep causes or that name it.
        loop: what really ran: the class of the reactor, ``/``, the class of the running asyncio
            loop; ``none`` where there is none.
        log: everything at DEBUG and above, then what the process wrote to its streams.
    """

    exit_code: int
    items: list[dict[str, Any]]
    stats: dict[str, Any]
    finish_reason: str
    error: str
    deprecations: list[str]
    loop: str
    log: str


def crawl(
    spider: str,
    *,
    loop: Loop = "asyncio",
    settings: Mapping[str, Any] | None = None,
    timeout_seconds: float = 180,
    environment: Mapping[str, str] | None = None,
    **arguments: Any,
) -> Crawl:
    """Run a spider to its end.

    Args:
        spider: ``module:Class``.
        loop: what the crawl runs in.
        settings: Scrapy's, at project priority; has to fit into JSON.
        timeout_seconds: after this the crawl is killed, and AssertionError shows its log.
        environment: additional variables; those that name proxies are not inherited.
        arguments: the spider's; have to fit into JSON.
    """
    skip_refused(settings or {})
    with tempfile.TemporaryDirectory(prefix="crawl-") as name:
        folder = Path(name)
        job = {"spider": spider, "loop": loop, "settings": settings or {}, "arguments": arguments}
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        exit_code = _run(folder, {**without_proxies(), **(environment or {})}, timeout_seconds)
        log = _read(folder / "log") + _read(folder / "streams")
        if exit_code is None:
            raise AssertionError(f"the crawl took more than {timeout_seconds} seconds\n{log}")
        result = json.loads(_read(folder / "result.json") or "{}")
    return Crawl(
        exit_code=exit_code,
        items=result.get("items", []),
        stats=result.get("stats", {}),
        finish_reason=result.get("finish_reason", ""),
        error=result.get("error", "" if exit_code == 0 else log),
        deprecations=result.get("deprecations", []),
        loop=result.get("loop", ""),
        log=log,
    )


def _run(folder: Path, environment: Mapping[str, str], timeout_seconds: float) -> int | None:
    process = start_crawl(folder, environment)
    try:
        return process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
