"""A survey with PySpark on this machine, of a zip of the package; writes the aggregate as JSON.

::

    python -m tests.survey.cluster lines|warc ZIP INPUT ...
"""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers take another Python

from pyspark.sql import SparkSession

from scrapy_rep.survey.spark import merge, survey_partition, survey_warc_files


def main(kind: str, archive: str, *inputs: str) -> None:
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    context = session.sparkContext
    context.setLogLevel("ERROR")
    context.addPyFile(archive)
    if kind == "lines":
        parts = context.textFile(inputs[0], 8).mapPartitions(survey_partition)
    else:
        parts = context.parallelize(inputs, len(inputs)).mapPartitions(survey_warc_files)
    print(parts.treeReduce(merge).to_json())
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
