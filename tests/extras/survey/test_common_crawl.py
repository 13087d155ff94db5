"""Surveys on clusters: the Spark job over Common Crawl's layout makes that of one process."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from io import BytesIO
from operator import add
from pathlib import Path

import pytest

from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.inputs.tasks import tasks_of
from scrapy_rep.extras.survey.saved import Survey
from scrapy_rep.extras.survey.spark import (
    FetchError,
    merge,
    opened,
    paths_in,
    survey_partition,
    survey_warc,
    survey_warc_files,
)
from tests.extras.survey import inputs
from tests.extras.survey.files import SMALL

WHY_NOT = (
    "PySpark is not installed"
    if find_spec("pyspark") is None
    else "no Java is installed"
    if not shutil.which("java")
    else ""
)

ENVIRONMENT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    # A job of seconds: to compile with care, and to collect in parallel, costs more than it saves.
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""Variables of Spark, in short runs."""

_CRAWL = "crawl-data/CC-MAIN-2026-04"


def _archive(root: Path) -> list[str]:
    """A crawl as Common Crawl lays it out, and the paths in its list."""
    paths = []
    for number in range(4):
        path = f"{_CRAWL}/segments/17670000{number}/robotstxt/CC-MAIN-{number:05}.warc.gz"
        (root / path).parent.mkdir(parents=True)
        made = root / str(number)
        made.mkdir()
        files = ((f"{number}.{host}", body) for host, body in SMALL.items())
        inputs.warc(files, made).replace(root / path)
        with (root / path).open("ab") as file:
            # Such archives also hold targets of redirects, and answers without a file.
            page = inputs.answer(b"<html>", more="Content-Encoding: gzip\r\n")
            for uri, block in (
                (f"http://{number}.example/login", page),
                (f"http://{number}.gone.example/robots.txt", inputs.answer(b"", "404 Not Found")),
            ):
                file.write(gzip.compress(inputs.record("response", block, uri)))
        paths.append(path)
    listed = root / _CRAWL / "robotstxt.paths.gz"
    listed.write_bytes(gzip.compress("".join(f"{path}\n" for path in paths).encode()))
    return paths


def _of_one_process(root: Path, paths: list[str]) -> Aggregate:
    tasks = (task for path in paths for task in tasks_of(root / path))
    parts = (Aggregate.of(task(), with_lint=True) for task in tasks)
    return reduce(add, parts, Aggregate())


class _Ill(BaseHTTPRequestHandler):
    """Serves a folder; each file comes wrong at first: 503, then cut short."""

    root: Path
    asked: Counter[str]

    def do_GET(self) -> None:
        self.asked[self.path] += 1
        path = self.root / self.path.lstrip("/")
        if self.asked[self.path] == 1 or not path.exists():
            self.send_error(503 if path.exists() else 404)
            return
        octets = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        is_cut = self.asked[self.path] == 2 and path.suffixes[-2:] == [".warc", ".gz"]
        self.wfile.write(octets[: -300 if is_cut else None])

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _served(root: Path) -> Iterator[tuple[str, Counter[str]]]:
    handler = type("Handler", (_Ill,), {"root": root, "asked": Counter()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", handler.asked  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


class TestFiles:
    """No file is left out, or read in part, because of the network."""

    def test_failed_fetch_is_repeated(self, tmp_path: Path) -> None:
        (path, *_) = _archive(tmp_path)
        pauses: list[float] = []
        with _served(tmp_path) as (base, asked), opened(base, path, sleep=pauses.append) as file:
            assert file.read() == (tmp_path / path).read_bytes()
        assert asked == {f"/{path}": 3}
        assert pauses == [2.0, 4.0]

    def test_missing_file_raises_at_once(self, tmp_path: Path) -> None:
        with _served(tmp_path) as (base, asked), pytest.raises(FetchError, match="404"):
            opened(base, "nothing", sleep=lambda _: None)
        assert asked == {"/nothing": 1}
        with pytest.raises(FetchError, match=r"nothing: No such file"):
            opened(str(tmp_path), "nothing")

    def test_last_failure_raises(self) -> None:
        pauses: list[float] = []
        with pytest.raises(FetchError, match="refused"):
            opened("http://127.0.0.1:1/", "x", sleep=pauses.append)
        assert len(pauses) == 4

    @pytest.mark.parametrize(
        "octets", [b"\x1f\x8bdamaged", gzip.compress(b"a\nb", mtime=0)[:-9], b"\xff"]
    )
    def test_invalid_list_raises(self, octets: bytes, tmp_path: Path) -> None:
        path = tmp_path / "paths"
        path.write_bytes(octets)
        with pytest.raises(FetchError, match="not a list of paths"):
            paths_in(str(path))


def test_partitions_add_up_to_one_process(tmp_path: Path) -> None:
    paths = _archive(tmp_path)
    assert paths_in(str(tmp_path / _CRAWL / "robotstxt.paths.gz")) == paths
    base, halves = str(tmp_path), (paths[2:], paths[:2])
    whole = reduce(add, (next(survey_warc_files(half, base, with_lint=True)) for half in halves))
    assert whole.to_json() == _of_one_process(tmp_path, paths).to_json()
    assert whole.counts["bad:not-robots-txt"] == 4
    assert whole.counts["status:404"] == 4


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
@pytest.mark.long
def test_job_runs_as_its_user_submits_it(tmp_path: Path) -> None:
    """As its user runs it: submitted as one file, with a zip of the package, over the network."""
    paths = _archive(tmp_path)
    package, script, output = (
        inputs.package(tmp_path),
        tmp_path / "job.py",
        tmp_path / "survey.json",
    )
    script.write_text("from scrapy_rep.extras.survey.spark import main; main()")
    with _served(tmp_path) as (base, asked):
        done = subprocess.run(
            [
                *(_submit(), "--master", "local[2]", "--driver-memory", "512m"),
                *("--conf", "spark.ui.enabled=false", "--py-files", package, script),
                *(f"{base}{_CRAWL}/robotstxt.paths.gz", "--base", base, "-o", output),
                "--lint",
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                **ENVIRONMENT,
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert asked == {f"/{_CRAWL}/robotstxt.paths.gz": 2} | dict.fromkeys(
        (f"/{path}" for path in paths), 3
    )
    one = _of_one_process(tmp_path, paths)
    listed = (f"{base}{_CRAWL}/robotstxt.paths.gz",)
    text = output.read_text()
    assert text == Survey(one, listed).to_json() + "\n"
    assert Survey.from_json(text).aggregate == one


def _submit() -> Path:
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "bin" / "spark-submit"


def test_functions_for_spark_add_up(tmp_path: Path) -> None:
    lines = inputs.lines(SMALL.items(), tmp_path).read_text().splitlines()
    parts = [next(survey_partition(lines[start::3])) for start in range(3)]
    whole = Aggregate.of(c for t in tasks_of(tmp_path / "files.jsonl") for c in t())
    assert merge(merge(parts[2], parts[0]), parts[1]) == whole
    assert parts[0] != whole  # they are not changed
    (found,) = survey_warc([BytesIO(inputs.warc(SMALL.items(), tmp_path).read_bytes())])
    assert found.bodies.to_json() == whole.bodies.to_json()


_CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import scrapy_rep.extras.survey.spark as spark
lines = ['{"host": "a.example", "body": "User-agent: GPTBot\\\\nDisallow: /"}']
(found,) = spark.survey_partition(lines, with_lint=True)
assert found.counts["agent:gptbot:full:none"] == 1, found.counts
assert found.counts["linted"] == 1
assert "scrapy_rep.zip" in spark.__file__, spark.__file__
foreign = {"scrapy", "twisted", "lxml", "pyspark", "pyarrow", "jinja2", "sqlite3", "asyncio"}
assert not foreign & {name.partition(".")[0] for name in sys.modules}
print("done")
"""


def test_in_a_bare_interpreter(tmp_path: Path) -> None:
    archive = inputs.package(tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _CODE, str(archive)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
