"""Surveys on a cluster: two functions for engines that map partitions and reduce.

For Spark, with files of JSON lines (`inputs.json_lines` says what a line holds)::

    from scrapy_rep.survey.spark import merge, survey_partition

    lines = spark.sparkContext.textFile("s3://bucket/robots/*.jsonl.gz")
    found = lines.mapPartitions(survey_partition).treeReduce(merge)
    print(found.to_json())

The result is the same, bit for bit, as that of one process. The workers need this package and no
other: ``--py-files scrapy_rep.zip`` is enough. Set ``PYSPARK_PYTHON``, or they may take another
Python.
WARC files are read by `survey_warc`, as streams, and by `survey_warc_files`, by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from scrapy_rep.survey.inputs.json_lines import captures_in
from scrapy_rep.survey.inputs.warc_input import captures_in as captures_in_file
from scrapy_rep.survey.inputs.warc_input import captures_of_stream

from .aggregate import Aggregate


def survey_partition(
    lines: Iterable[bytes | str], *, with_lint: bool = False
) -> Iterator[Aggregate]:
    """What the JSON lines of a partition say, as one aggregate."""
    yield Aggregate.of(captures_in(lines), with_lint=with_lint)


def survey_warc(files: Iterable[BinaryIO], *, with_lint: bool = False) -> Iterator[Aggregate]:
    """What the WARC files of a partition say, as one aggregate; each is read as a stream."""
    captures = chain.from_iterable(map(captures_of_stream, files))
    yield Aggregate.of(captures, with_lint=with_lint)


def survey_warc_files(names: Iterable[str]) -> Iterator[Aggregate]:
    """The same of the names of a partition's files, where all workers can open these."""
    yield Aggregate.of(chain.from_iterable(map(captures_in_file, names)))


def merge(one: Aggregate, other: Aggregate) -> Aggregate:
    """Both together: associative, commutative, with `Aggregate()` as zero."""
    return one + other
