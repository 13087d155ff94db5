"""The process of one crawl: ``python -m tests.crawl_runner <folder>``, started by ``crawling``.

Reads ``job.json`` in the folder; writes ``log`` and ``result.json``. Exits with 1 if anything of
the crawl raised.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, TextIO

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.misc import load_object
from twisted.python.failure import Failure

ALWAYS = {
    "LOG_LEVEL": "DEBUG",
    "CONCURRENT_ITEMS": 2,  # for each response, Scrapy starts that many tasks: 100 by default
    "LOG_VERSIONS": [],  # to look them up takes a sixth of a short crawl
    # Both would listen on a port, and the second leaves a file in the user's profile.
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}
SETTINGS_OF_LOOPS: dict[str, dict[str, Any]] = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "reactorless": {"TWISTED_REACTOR_ENABLED": False},
}


def _peak_octets() -> int:
    """The most memory that this process has had; 0 where the system does not tell.

    Not `ru_maxrss`, which a process inherits from whoever starts it, here from all of pytest.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


class Record:
    """Everything of a crawl that its signals and warnings tell."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.errors: list[str] = []
        self.deprecations: list[str] = []
        self.finish_reason = ""
        self.loop = ""
        self.stats: dict[str, Any] = {}

    def listen(self, crawler: Crawler) -> None:
        """Connect to the signals of the crawl; they do not hold on to what they call."""
        crawler.signals.connect(self._scraped, signals.item_scraped)
        crawler.signals.connect(self._erred, signals.spider_error)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    def listen_to_warnings(self) -> None:
        """See every deprecation, however often, and pass all warnings on to where they went."""
        pass_on = warnings.showwarning

        def show(  # noqa: PLR0917 - the signature is the hook's
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, ScrapyDeprecationWarning | DeprecationWarning):
                callers = [frame.filename for frame in traceback.extract_stack()]
                if not _is_of_tests(filename) and any(
                    _is_ours(place) for place in (filename, *callers, str(message))
                ):
                    self.deprecations.append(f"{filename}:{lineno}: {category.__name__}: {message}")
            pass_on(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("always", ScrapyDeprecationWarning)
        warnings.simplefilter("always", DeprecationWarning)

    def _scraped(self, item: Any) -> None:
        self.items.append(item)

    def _erred(self, failure: Failure) -> None:
        self.errors.append(failure.getTraceback())

    def _opened(self) -> None:
        self.loop = _running_loop()

    def _closed(self, reason: str) -> None:
        self.finish_reason = reason


def _is_ours(text: str) -> bool:
    return "scrapy_rep" in text


def _is_of_tests(place: str) -> bool:
    """Whether a spider of the tests causes a warning; our middlewares are among its callers."""
    return Path(place).is_relative_to(Path(__file__).parent)


def _running_loop() -> str:
    reactor = sys.modules.get("twisted.internet.reactor")
    try:
        loop = type(asyncio.get_running_loop()).__name__
    except RuntimeError:
        loop = "none"
    return f"{type(reactor).__name__ if reactor else 'none'}/{loop}"


def run(job: dict[str, Any], log: Path) -> Record:
    """Run the crawl that a job describes."""
    record = Record()
    settings = {**ALWAYS, "LOG_FILE": str(log), **SETTINGS_OF_LOOPS[job["loop"]], **job["settings"]}
    kind = CrawlerProcess if job["loop"] == "select" else AsyncCrawlerProcess
    process = kind(settings)
    record.listen_to_warnings()
    crawler = process.create_crawler(load_object(job["spider"].replace(":", ".")))
    record.listen(crawler)
    crawling = process.crawl(crawler, **job["arguments"])
    if isinstance(crawling, asyncio.Task):
        process.start()
        error = None if crawling.cancelled() else crawling.exception()
        if error is not None:
            record.errors.append("".join(traceback.format_exception(error)))
    else:
        crawling.addErrback(lambda failure: record.errors.append(failure.getTraceback()))
        process.start()
    # A crawl that failed early has none, and says so in one of two ways.
    with contextlib.suppress(RuntimeError, AttributeError):
        record.stats = {
            **crawler.stats.get_stats(),
            "test/peak_octets": _peak_octets(),
            "test/cpu_seconds": time.process_time(),  # since the fork that this process is
        }
    return record


def main(folder: Path) -> int:
    """Run the job in the folder and write down what happened."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    record = run(job, folder / "log")
    result = {**vars(record), "error": "\n".join(record.errors)}
    (folder / "result.json").write_text(json.dumps(result, default=str), encoding="utf-8")
    return 1 if record.errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
