"""The survey runs from a zip, in an interpreter without Scrapy: so do the workers of clusters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.extras.survey import inputs

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
