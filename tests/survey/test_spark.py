"""A real PySpark makes the same as one process, bit for bit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pytest

import scrapy_rep
from scrapy_rep.survey.aggregate import Aggregate
from scrapy_rep.survey.inputs.tasks import tasks_of
from scrapy_rep.survey.spark import merge, survey_partition, survey_warc
from tests.crawling import REPOSITORY
from tests.shared import SHARED
from tests.survey import inputs
from tests.survey.files import SMALL, corpus

_PACKAGE = Path(scrapy_rep.__file__).parent
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


def test_the_functions(tmp_path: Path) -> None:
    lines = inputs.lines(SMALL.items(), tmp_path).read_text().splitlines()
    parts = [next(survey_partition(lines[start::3])) for start in range(3)]
    whole = Aggregate.of(c for t in tasks_of(tmp_path / "files.jsonl") for c in t.captures())
    assert merge(merge(parts[2], parts[0]), parts[1]) == whole
    assert parts[0] != whole  # they are not changed
    (found,) = survey_warc([BytesIO(inputs.warc(SMALL.items(), tmp_path).read_bytes())])
    assert found.bodies.to_json() == whole.bodies.to_json()


def _spark(*arguments: object, at: Path) -> str:
    archive = at / "scrapy_rep.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for module in _PACKAGE.rglob("*.py"):
            packed.write(module, module.relative_to(_PACKAGE.parent).as_posix())
    kind, *rest = map(str, arguments)
    done = subprocess.run(
        [sys.executable, "-m", "tests.survey.cluster", kind, str(archive), *rest],
        cwd=REPOSITORY,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
class TestLocalSpark:
    def test_lines(self, tmp_path: Path) -> None:
        """The corpus if it is there, otherwise the small files many times."""
        some = [(f"{n}.{host}", body) for n in range(100) for host, body in SMALL.items()]
        path = inputs.lines(corpus() if SHARED is not None else some, tmp_path)
        found = _spark("lines", path, at=tmp_path)
        one = Aggregate.of(c for task in tasks_of(path) for c in task.captures())
        assert found == one.to_json()

    def test_warc_files(self, tmp_path: Path) -> None:
        names = []
        for number in range(3):
            place = tmp_path / str(number)
            place.mkdir()
            names.append(inputs.warc(((f"{number}.{h}", b) for h, b in SMALL.items()), place))
        found = _spark("warc", *names, at=tmp_path)
        one = Aggregate.of(c for n in names for task in tasks_of(n) for c in task.captures())
        assert found == one.to_json()
