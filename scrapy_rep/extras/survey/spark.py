r"""Surveys on a cluster: functions for engines that map partitions and reduce, and a Spark job.

For Spark, with files of JSON lines (`inputs.json_lines` says what a line holds)::

    from scrapy_rep.extras.survey.spark import merge, survey_partition

    lines = spark.sparkContext.textFile("s3://bucket/robots/*.jsonl.gz")
    found = lines.mapPartitions(survey_partition).treeReduce(merge)
    print(found.to_json())

The result is the same, bit for bit, as that of one process. The workers need this package and no
other: ``--py-files scrapy_rep.zip`` is enough. Set ``PYSPARK_PYTHON``, so that all use the same
Python. `survey_warc` reads WARC files as streams, and `survey_warc_files` by their names: paths
that all workers can open, or URLs. If a file cannot be fetched after some tries, its task fails, so
that no file is left out in silence.

`main` is a job for a crawl of Common Crawl, or for any archive with such a list of files::

    echo 'from scrapy_rep.extras.survey.spark import main; main()' > job.py
    PYSPARK_PYTHON=python3 spark-submit --py-files scrapy_rep.zip job.py \
        https://data.commoncrawl.org/crawl-data/CC-MAIN-2026-04/robotstxt.paths.gz -o survey.json

PATHS is a list of WARC files, one path per line, gzipped or not: a file, or a URL. The paths are
relative to `--base`: a folder that all workers see, or a URL. ``scrapy rep survey merge`` and
``diff`` can read ``survey.json``.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from http.client import HTTPException
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, cast
from urllib.error import HTTPError
from urllib.request import urlopen

from scrapy_rep.extras.survey.inputs.json_lines import captures_in
from scrapy_rep.extras.survey.inputs.warc_input import captures_of_stream

from .aggregate import Aggregate
from .saved import Survey

BASE = "https://data.commoncrawl.org/"

_FILES_AT_ONCE = 50  # per task: some 15 s with the files of Common Crawl
_PAUSES_SECONDS = (2.0, 4.0, 8.0, 16.0)
_TIMEOUT_SECONDS = 60.0
_GONE = (404, 410)
_GZIP = b"\x1f\x8b"


class FetchError(Exception):
    """A file cannot be read; the message is for the user."""


def opened(base: str, path: str, *, sleep: Callable[[float], object] = time.sleep) -> IO[bytes]:
    """Open a whole file of the archive; a remote one is fetched into a temporary file first.

    Raises:
        FetchError: the file cannot be read, or not to its end.
    """
    place = path if _is_url(path) or not base else f"{base.rstrip('/')}/{path.lstrip('/')}"
    if not _is_url(place):
        try:
            return Path(place).open("rb")
        except OSError as error:
            raise FetchError(f"{place}: {error.strerror or error}") from error
    pauses = iter(_PAUSES_SECONDS)
    while True:
        try:
            return _fetched(place)
        except (OSError, HTTPException) as error:  # noqa: PERF203 - try again
            pause = next(pauses, None)
            if pause is None or (isinstance(error, HTTPError) and error.code in _GONE):
                raise FetchError(f"{place}: {error}") from error
            sleep(pause)


def _is_url(place: str) -> bool:
    return place.startswith(("https://", "http://"))


def _fetched(uri: str) -> IO[bytes]:
    with ExitStack() as undo:
        file = undo.enter_context(TemporaryFile())
        with urlopen(uri, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - http or https
            shutil.copyfileobj(answer, file)
            length = answer.headers.get("Content-Length")
        if length is not None and file.tell() != int(length):
            raise OSError(f"only {file.tell()} of {length} octets came")
        file.seek(0)
        undo.pop_all()
    return file


def paths_in(place: str) -> list[str]:
    """Read a list of paths.

    Raises:
        FetchError: the list cannot be read.
    """
    with opened("", place) as file:
        try:
            octets = file.read()
            text = gzip.decompress(octets) if octets.startswith(_GZIP) else octets
            return list(filter(None, text.decode("utf-8").split()))
        except (OSError, EOFError, ValueError) as error:
            raise FetchError(f"{place}: not a list of paths ({error})") from error


def survey_partition(
    lines: Iterable[bytes | str], *, with_lint: bool = False
) -> Iterator[Aggregate]:
    """Yield one aggregate of the JSON lines of a partition."""
    yield Aggregate.of(captures_in(lines), with_lint=with_lint)


def survey_warc(files: Iterable[BinaryIO], *, with_lint: bool = False) -> Iterator[Aggregate]:
    """Yield one aggregate of the WARC files of a partition; each is read as a stream."""
    captures = chain.from_iterable(map(captures_of_stream, files))
    yield Aggregate.of(captures, with_lint=with_lint)


def survey_warc_files(
    names: Iterable[str], base: str = "", *, with_lint: bool = False
) -> Iterator[Aggregate]:
    """Yield one aggregate of the WARC files with these names, which are relative to `base`.

    Raises:
        FetchError: a file cannot be read.
    """
    yield from survey_warc(_each_opened(names, base), with_lint=with_lint)


def _each_opened(names: Iterable[str], base: str) -> Iterator[BinaryIO]:
    for name in names:
        with opened(base, name) as file:
            yield cast("BinaryIO", file)


def merge(one: Aggregate, other: Aggregate) -> Aggregate:
    """The sum of both: associative, commutative, with `Aggregate()` as zero."""
    return one + other


def surveyed(context: Any, paths: list[str], base: str, *, with_lint: bool) -> Aggregate:
    """Survey files with the workers of a SparkContext."""
    tasks = -(-len(paths) // _FILES_AT_ONCE) or 1
    tasks = max(tasks, min(len(paths), context.defaultParallelism))
    read = partial(survey_warc_files, base=base, with_lint=with_lint)
    found: Aggregate = context.parallelize(paths, tasks).mapPartitions(read).treeReduce(merge)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run the job."""
    parser = argparse.ArgumentParser(description="Survey the WARC files of a list.")
    parser.add_argument("paths", metavar="PATHS", help="the list: a file, or a URL")
    parser.add_argument("--base", default=BASE, help=f"a folder or URL (default: {BASE})")
    parser.add_argument("--lint", action="store_true", help="lint every file")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="survey.json")
    options = parser.parse_args(arguments)
    try:
        paths = paths_in(options.paths)
    except FetchError as error:
        parser.exit(2, f"{error}\n")

    from pyspark.sql import SparkSession  # only the driver needs it

    session = SparkSession.builder.appName("scrapy-rep survey").getOrCreate()
    found = surveyed(session.sparkContext, paths, options.base, with_lint=options.lint)
    survey = Survey(found, (options.paths,))
    part = Path(f"{options.output}.part")
    part.write_text(survey.to_json() + "\n", encoding="utf-8")
    part.replace(options.output)
    session.stop()
