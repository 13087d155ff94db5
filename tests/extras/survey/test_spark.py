"""A real PySpark makes the same as one process, bit for bit."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.inputs.tasks import tasks_of
from scrapy_rep.extras.survey.spark import merge, survey_partition, survey_warc
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


def test_functions_for_spark_add_up(tmp_path: Path) -> None:
    lines = inputs.lines(SMALL.items(), tmp_path).read_text().splitlines()
    parts = [next(survey_partition(lines[start::3])) for start in range(3)]
    whole = Aggregate.of(c for t in tasks_of(tmp_path / "files.jsonl") for c in t())
    assert merge(merge(parts[2], parts[0]), parts[1]) == whole
    assert parts[0] != whole  # they are not changed
    (found,) = survey_warc([BytesIO(inputs.warc(SMALL.items(), tmp_path).read_bytes())])
    assert found.bodies.to_json() == whole.bodies.to_json()
