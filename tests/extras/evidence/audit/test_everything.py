"""Crawls with a trail, an archive and a report: on a small disk, and with secrets."""

from __future__ import annotations

import gzip
import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence import warc_check
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import run_at
from scrapy_rep.extras.evidence.warc_check import archive_at
from tests.commands.calling import rep
from tests.crawling import ONE_LOOP_IN_CI, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.extras.evidence.audit.crawled import fetched, of_kind, passed
from tests.servers.handle import Answer, Site

_MISSING = [name for name in ("warcio", "jinja2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(_MISSING), reason=f"needs {_MISSING}"),
]
FILE = "User-agent: *\nDisallow: /private\n"
SECRETS = ("s3cr3t", "passw0rd", "dXNlcjpwYXNzdzByZA")  # the last is user:passw0rd


@pytest.mark.parametrize("loop", ONE_LOOP_IN_CI)
@pytest.mark.long
def test_answers_stay_the_same_on_a_full_disk(loop: Loop, small_disk: Path) -> None:
    """The trail counts the records that it lacks, and the archive its exchanges."""
    body = FILE + "# " + random.Random(7).randbytes(3000).hex()
    with Site({"/robots.txt": Answer(body=body)}, address="0.0.0.0") as site:
        paths = [f"/{'private/' if n % 3 == 0 else ''}{n}-{'x' * 99}" for n in range(600)]
        urls = [site.url(path, host=f"127.0.1.{1 + n % 35}") for n, path in enumerate(paths)]
        disk = {"REP_AUDIT_DIR": str(small_disk), "REP_WARC_DIR": str(small_disk / "warc")}
        found: list[list[tuple[str, str]]] = []
        for more in ({}, disk):
            done = crawl(URLS_SPIDER, loop=loop, settings={**ADDON, **more}, urls=urls)
            assert (done.exit_code, done.finish_reason) == (0, "finished"), done.error
            answers = [(one["url"], str(one.get("error", one.get("status")))) for one in done.items]
            found.append(sorted(answers))
    assert found[0] == found[1]
    told = check(run_at(small_disk / "latest"))
    assert told.problems == []
    assert told.counts.total() + told.lost.total() == told.last_n == 600
    assert told.lost.total() > 100
    assert told.counts.total() > 0
    archive = archive_at(small_disk / "warc" / "latest")
    assert archive is not None
    found_in_it, failed = warc_check.check(archive), done.stats["rep/warc/failed"]
    assert found_in_it.problems == []
    assert found_in_it.missing == [f"exchanges that could not be archived: {failed}"]
    assert found_in_it.counts["response"] + failed == 35
    assert done.log.count("The archive in ") == 1, "one warning"


def _outputs(root: Path, said: list[str]) -> dict[str, bytes]:
    """All files in a folder, unpacked, and the outputs of commands."""
    found = {f"said {number}": text.encode() for number, text in enumerate(said)}
    for path in root.rglob("*"):
        if path.is_file():
            octets = path.read_bytes()
            found[str(path)] = gzip.decompress(octets) if path.suffix == ".gz" else octets
    return found


def test_outputs_contain_no_secret(tmp_path: Path) -> None:
    """The trail, the archive, the report, and the outputs of commands on them."""
    root = tmp_path / "out"
    hidden = (("Set-Cookie", "session=s3cr3t"), ("Location", "http://user:passw0rd@127.0.0.1:1/x"))
    robots_txt = Answer(body=FILE, headers=hidden)
    settings: dict[str, Any] = {
        **ADDON,
        "REP_AUDIT_DIR": str(root / "audit"),
        "REP_AUDIT_QUERY": "hash",
        "REP_WARC_DIR": str(root / "warc"),
        "REP_REPORT": str(root / "report.html"),
        "REP_FETCH_META": {"http_user": "s3cr3t"},
        "DEFAULT_REQUEST_HEADERS": {"Cookie": "session=s3cr3t", "Authorization": "Basic s3cr3t"},
    }
    with Site({"/robots.txt": robots_txt, "/go": Answer(status=302, headers=hidden)}) as site:
        paths = ("/x?token=s3cr3t", "/private/y?token=s3cr3t#s3cr3t", "/go?s3cr3t")
        urls = [site.url(path).replace("//", "//user:passw0rd@") for path in paths]
        exempt = site.url("/z?token=s3cr3t").replace("//", "//user:passw0rd@")
        for some, meta in ((urls, {}), ([exempt], {"dont_obey_robotstxt": True})):
            done = crawl(URLS_SPIDER, settings=settings, urls=some, meta=meta)
            assert done.exit_code == 0, done.error
        assert site.requests()[0].headers["authorization"]
    runs = [path for path in (root / "audit").iterdir() if not path.is_symlink()]
    assert len(runs) == 2
    # Both may have begun in the same second, so their records distinguish them.
    (judged,) = (run for run in map(run_at, runs) if of_kind(run, "decision"))
    (free,) = (run for run in map(run_at, runs) if of_kind(run, "exempt"))
    assert judged.path != free.path
    assert fetched(judged)
    assert passed(judged)
    said = []
    for run in runs:
        rep("audit", "redact", run, "-o", root / f"{run.name}-given")
        rep("audit", "export", run, "--format", "csv", "-o", root / f"{run.name}.csv")
        for arguments in (
            ("audit", "verify", run),
            ("audit", "replay", run, "--json"),
            ("audit", "export", run),
            ("report", run, "--json"),
            ("survey", run, "--json"),
        ):
            output = rep(*arguments)
            assert output.out, arguments
            said += [output.out, output.err]
    outputs = _outputs(root, said)
    assert any(name.endswith("report.html") for name in outputs)
    assert sum(".warc.gz" in name for name in outputs) == 2
    for name, octets in outputs.items():
        found = [secret for secret in SECRETS if secret.encode() in octets]
        assert found == [], name
