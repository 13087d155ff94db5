"""``python -m demo.fleet``: starts Redis, the demo web and three workers, and prints a summary.

Exit status: 0 done; 1 a worker failed; 69 a Redis server or a package is not installed;
130 and similar: ended by a signal.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from types import FrameType
from typing import Any

from demo.fleet.server import PROGRAMS, RedisServer, program
from demo.summary import Part, fleet_summary
from demo.web import PACED_SITE, SITES, DemoWeb, Site

WORKERS = 3
AUDIT = "audit"
OK, FAILED, UNAVAILABLE = 0, 1, 69
_SIGNALLED = 128

_PROJECT = Path(__file__).parent.parent.parent
_SITES = (*SITES, PACED_SITE)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 0.05
_LOG_LINES = 20


class Ended(Exception):  # noqa: N818 - not an error
    """A signal to end the demo was received."""


class Signals:
    """Records signals, so that the demo ends between two steps and not within one."""

    def __init__(self) -> None:
        self.number = 0

    def note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Handle a signal."""
        self.number = self.number or number

    def check(self) -> None:
        """Raise Ended if a signal was received."""
        if self.number:
            raise Ended

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record signals inside this block."""
        before = {number: signal.signal(number, self.note) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def main() -> int:
    """Run the demo."""
    reason = _missing()
    if reason:
        print(reason, file=sys.stderr)
        return UNAVAILABLE
    signals = Signals()
    with signals.noted():
        try:
            return _run(signals)
        except Ended:
            print("ended before it was done; nothing is left behind", file=sys.stderr)
            return _SIGNALLED + signals.number
        except OSError as error:
            print(error, file=sys.stderr)
            return FAILED


def _missing() -> str:
    """Say what is not installed and how to install it; empty if nothing is missing."""
    packages = [name for name in ("redis", "scrapy_redis", "msgpack") if find_spec(name) is None]
    if packages:
        return (
            f"several workers need packages that are not installed ({', '.join(packages)}): "
            'pip install "scrapy-rep[redis]"'
        )
    if program() is None:
        return (
            f"neither {' nor '.join(PROGRAMS)} is installed, and the workers need one: install it "
            "(Debian, Ubuntu: apt install redis-server; Fedora: dnf install valkey; macOS: brew "
            "install redis). 'scrapy crawl polite' needs no Redis"
        )
    return ""


def _run(signals: Signals) -> int:
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="demo-fleet-")))
        web = DemoWeb(_SITES)
        undo.callback(web.stop)
        server = RedisServer(program() or "", folder, signals.check)
        undo.enter_context(server)
        workers = Workers(folder, server.url, web)
        undo.callback(workers.kill)
        for _ in range(WORKERS):
            signals.check()
            workers.start()
        print(f"{WORKERS} workers crawl {len(_SITES)} sites; this takes some seconds", flush=True)
        failure = workers.wait(signals)
        if failure:
            print(failure, file=sys.stderr)
            return FAILED
        print(_summary(web, workers.accounts()), flush=True)
        return _report(folder / AUDIT)


def _report(audit: Path) -> int:
    """Print one report on the audit trails of all workers."""
    done = subprocess.run(  # noqa: S603 - its words are ours
        [sys.executable, "-m", "scrapy", "rep", "report", str(audit)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    words = [f"- {line}" for line in done.stdout.splitlines()]
    lines = [wrapped for line in words for wrapped in wrap(line, 79, subsequent_indent="  ")]
    print("\n".join(["", "Their audit trails, as one:", *lines]), flush=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return FAILED
    return OK


class Workers:
    """The worker processes, each with a log and an account in the folder."""

    def __init__(self, folder: Path, url: str, web: DemoWeb) -> None:
        self._folder = folder
        self._web = web
        self._environment = {**os.environ, "DEMO_REDIS_URL": url, "SCRAPY_PROJECT": "fleet"}
        self._environment["DEMO_AUDIT_DIR"] = str(folder / AUDIT)
        self._environment.pop("SCRAPY_SETTINGS_MODULE", None)  # it takes precedence over scrapy.cfg
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start one more worker."""
        number = len(self._processes)
        arguments = {
            "sites": " ".join(self._web.urls.values()),
            "account": str(self._folder / f"{number}.json"),
        }
        words = [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
        with self._log(number).open("wb") as log:
            self._processes.append(
                subprocess.Popen(  # noqa: S603 - its words are ours
                    [sys.executable, "-m", "scrapy", "crawl", "fleet", *words],
                    cwd=_PROJECT,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C must only reach this process
                )
            )

    def _log(self, number: int) -> Path:
        return self._folder / f"{number}.log"

    def wait(self, signals: Signals) -> str:
        """Wait until all workers have ended or one has failed; return the failure, if any."""
        patience = time.monotonic() + _PATIENCE_SECONDS
        while True:
            signals.check()
            states = [process.poll() for process in self._processes]
            for number, state in enumerate(states):
                if state:
                    return self._words(number, f"failed with status {state}")
            if None not in states:
                return self._unfinished()
            if time.monotonic() > patience:
                number = states.index(None)
                return self._words(number, f"did not end in {_PATIENCE_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)

    def _unfinished(self) -> str:
        """Find spiders that did not finish, which Scrapy's exit status does not show."""
        for number, account in enumerate(self.accounts()):
            if account.get("reason") != "finished":
                return self._words(number, "did not finish")
        return ""

    def _words(self, number: int, what: str) -> str:
        lines = self._log(number).read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return "\n".join([f"worker {number + 1} {what}", *lines])

    def accounts(self) -> list[dict[str, Any]]:
        """The account of each worker; empty if the worker did not write it."""
        files = [self._folder / f"{number}.json" for number in range(len(self._processes))]
        return [json.loads(file.read_text("utf-8")) if file.exists() else {} for file in files]

    def kill(self) -> None:
        """End the workers that still run; their data ends with Redis."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()


def _summary(web: DemoWeb, accounts: list[dict[str, Any]]) -> str:
    drops: Counter[str] = Counter()
    for account in accounts:
        drops.update(account["drops"])
    return fleet_summary(
        [_part(site, web, drops) for site in _SITES],
        pages=[sum(account["pages"].values()) for account in accounts],
        trespasses=len(web.trespasses),
    )


def _part(site: Site, web: DemoWeb, drops: Counter[str]) -> Part:
    url = web.urls[site.name]
    lines = site.robots_txt.body.splitlines()
    return Part(
        site=site.name,
        files=web.robots_txt_served.count(url),
        delay=next((line for line in lines if line.startswith("Crawl-delay")), "-"),
        gap=min(
            (after - before for before, after in pairwise(sorted(web.visits[url]))), default=None
        ),
        pages=sum(page.startswith(f"{url}/") for page in web.pages_served),
        drops=drops[url],
    )


if __name__ == "__main__":
    sys.exit(main())
