"""Writes docs/examples/example-report.html: the report of two crawls of the example project.

::

    python docs/make_report.py [FOLDER]

The crawls are real. The script then replaces names, times and order in their trails, so that
each run makes the same page: ports become hosts, each decision is one second after the last
one, and each request takes 20 ms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "example_project"))

from demo.web import PACED_SITE, SITES, DemoWeb, PagesWeb

from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.html_page import write
from scrapy_rep.extras.evidence.reports.report_making import report_of
from scrapy_rep.extras.evidence.reports.report_page import page
from scrapy_rep.extras.evidence.spool import MANIFEST, SpoolFile
from scrapy_rep.extras.evidence.trail_reading import Run, runs_in

NAME = "example-report.html"

_DOCS = Path(__file__).resolve().parent
_PROJECT = _DOCS.parent / "example_project"
_URLS = "MAKE_REPORT_URLS"
_BEGAN = 1_767_268_800.0  # 2026-01-01, at noon
_STEP_SECONDS, _REQUEST_SECONDS = 1.0, 0.02
_SPIDERS = ("polite", "pages")


class Polite(DemoWeb):
    """The web of the spider `polite`, and a site with a delay."""

    def __init__(self) -> None:
        super().__init__((*SITES, PACED_SITE))
        _tell_ports(self)


class Pages(PagesWeb):
    """The web of the spider `pages`."""

    def __init__(self) -> None:
        super().__init__()
        _tell_ports(self)


def _tell_ports(web: DemoWeb) -> None:
    Path(os.environ[_URLS]).write_text(json.dumps(web.urls), encoding="utf-8")


def crawl(spider: str, folder: Path) -> dict[str, str]:
    """Crawl with a trail in `folder`; return the name of each site by its URL."""
    urls = folder / f"{spider}.json"
    settings = {
        "EXTENSIONS": json.dumps({f"make_report.{spider.title()}": 0}),
        "REP_AUDIT_DIR": str(folder / spider),
        "REP_QUICK_RETRY_SECONDS": "",
    }
    words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    path = os.pathsep.join(map(str, (_DOCS, _DOCS.parent)))
    subprocess.run(  # noqa: S603 - its words are ours
        [sys.executable, "-m", "scrapy", "crawl", spider, *words],
        cwd=_PROJECT,
        env={**os.environ, "PYTHONPATH": path, _URLS: str(urls)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    found: dict[str, str] = json.loads(urls.read_text("utf-8"))
    return {url: f"http://{name}.example" for name, url in found.items()}


class Settled:
    """A trail with fixed names, times and order."""

    def __init__(self, run: Run, names: Mapping[str, str], name: str, began_at: float) -> None:
        self._names = names
        self._name = name
        self._began_at = began_at
        self._digests: dict[str, str] = {}
        held = [self._named(record) for _, record in run.records()]
        self._by_kind = {
            kind: [one for one in held if one["t"] == kind] for kind in {one["t"] for one in held}
        }

    def _named(self, record: Mapping[str, Any]) -> dict[str, Any]:
        text = json.dumps(record)
        for url, name in self._names.items():
            text = text.replace(url, name)
        found: dict[str, Any] = json.loads(text)
        return found

    def write(self, folder: Path) -> Run:
        """Write it as a new trail."""
        folder.mkdir()
        segment = SpoolFile(folder / "1-00001.jsonl")
        for record in self._records():
            segment.append(records.line(record).encode("ascii"), 1)
        end = self._end
        segment.append(records.line(end).encode("ascii"), 1)
        mark = {"t": records.MARK, "n": end["n"], "at": end["at"], "lines": segment.records}
        segment.append(records.line({**mark, "sha256": segment.sha256}).encode("ascii"), 1)
        segment.close()
        held = {"v": 1, "run": self._name, "segments": [segment.facts], "gaps": 0, "end": end}
        (folder / MANIFEST).write_text(json.dumps(held), encoding="ascii")
        return Run(folder)

    def _records(self) -> list[dict[str, Any]]:
        (head,) = self._by_kind[records.RUN]
        known = self._policies()
        numbers = {policy["p"]: policy["new"] for policy in known}
        numbered = [one for kind in sorted(records.NUMBERED) for one in self._by_kind.get(kind, [])]
        for one in numbered:
            one.pop("waited_seconds", None)
            if "p" in one:
                one["p"] = numbers[one["p"]]
        numbered.sort(key=lambda one: json.dumps({**one, "n": 0, "at": 0}, sort_keys=True))
        for n, one in enumerate(numbered, 1):
            one.update(n=n, at=self._at(n))
        software = {"scrapy_rep": "(of this documentation)"}
        head["settings"]["REP_AUDIT_DIR"] = "audit"
        first = {**head, "run": self._name, "at": self._began_at, "software": software}
        kept = {policy["new"]: policy for policy in known}
        policies = [
            {key: value for key, value in {**kept[new], "p": new}.items() if key != "new"}
            for new in sorted(kept)
        ]
        return [first, *self._bodies(), *policies, *self._sent(), *numbered]

    def _at(self, n: int) -> float:
        return self._began_at + n * _STEP_SECONDS

    def _bodies(self) -> list[dict[str, Any]]:
        bodies = [
            {**one, "sha256": self._digests[one["sha256"]], "octets": len(one["text"].encode())}
            for one in self._by_kind.get(records.BODY, [])
        ]
        return sorted(bodies, key=lambda one: str(one["sha256"]))

    def _policies(self) -> list[dict[str, Any]]:
        """The policies with new numbers; the first policy of an origin stands for all."""
        for one in self._by_kind.get(records.BODY, []):
            self._digests[one["sha256"]] = sha256(one["text"].encode()).hexdigest()
        found = self._by_kind[records.POLICY]
        origins = sorted({one["origin"] for one in found})
        for one in reversed(found):
            one["new"] = origins.index(one["origin"]) + 1
            one["at"] = one["fetched_at"] = self._began_at
            for name in ("outage", "confirmed_at", "usable_until"):
                one.pop(name, None)
            if "body" in one:  # names of sites in the file were replaced
                one["body"] = f"sha256:{self._digests[one['body'].removeprefix('sha256:')]}"
            for hop in one.get("hops", ()):
                hop.update(at=self._began_at, seconds=_REQUEST_SECONDS)
        return [*reversed(found)]

    def _sent(self) -> list[dict[str, Any]]:
        """Visits exactly one delay apart, because the real gaps depend on the machine."""
        # Other origins of the host count only once its delay is known, which may be later.
        asking = {one["origin"] for one in self._by_kind[records.POLICY] if one.get("crawl_delay")}
        found = [one for one in self._by_kind.get(records.SENT, []) if one["origin"] in asking]
        at = self._began_at
        for one in found:
            at += one["kept_seconds"]
            one.update(at=at, left_by=at)
        return found

    @property
    def _end(self) -> dict[str, Any]:
        (end,) = self._by_kind[records.END]
        return {**end, "at": self._at(end["n"] + 1)}


def make(folder: Path) -> None:
    """Crawl, and write the page."""
    with tempfile.TemporaryDirectory(prefix="make-report-") as name:
        work = Path(name)
        runs = []
        for number, spider in enumerate(_SPIDERS):
            names = crawl(spider, work)
            (run,) = runs_in(work / spider)
            began_at = _BEGAN + 60 * number
            settled = Settled(run, names, f"20260101T120{number}00Z-{spider}", began_at)
            runs.append(settled.write(work / f"{number}-{spider}"))
        write(folder / NAME, page(report_of(runs)))


if __name__ == "__main__":
    make(Path(*(sys.argv[1:] or [_DOCS / "examples"])))
