"""Facts as a Parquet file, one row per capture; needs pyarrow (the extra ``survey``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from scrapy_rep.commands.running import unreadable
from scrapy_rep.extras.evidence.spool import replacing

from .captures import ANSWER_FACTS, BODY_FACTS, Capture
from .facts import Facts

_ROWS = 20_000  # per row group: some 2 MB


@contextmanager
def facts_file(output: str) -> Iterator[Callable[[Sequence[dict[str, Any]]], None]]:
    """Write a file, which replaces one of the same name once it is complete; gives what adds rows.

    Raises:
        ImportError: pyarrow is not installed.
        CommandError: the file cannot be written there.
    """
    import pyarrow as pa
    from pyarrow import parquet

    schema = _schema(pa)
    held: list[dict[str, Any]] = []

    def add(rows: Sequence[dict[str, Any]], least: int = _ROWS) -> None:
        held.extend(rows)
        if len(held) >= least:
            columns = {name: [row[name] for row in held] for name in schema.names}
            for name in ("agents", "lint", "other_keys"):
                columns[name] = [None if one is None else [*one.items()] for one in columns[name]]
            writer.write_table(pa.table(columns, schema=schema))
            held.clear()

    with replacing(Path(output)) as part:
        try:
            writer = parquet.ParquetWriter(str(part), schema, compression="zstd")
        except OSError as error:
            raise unreadable(output, error) from error
        with writer:
            yield add
            add((), least=1)


def _schema(pyarrow: Any) -> Any:
    """The columns, typed like the facts."""
    types = {
        "bytes": pyarrow.binary(32),
        "bool": pyarrow.bool_(),
        "int": pyarrow.int64(),
        "float": pyarrow.float64(),
        "str": pyarrow.string(),
        "Mapping[str, str]": pyarrow.map_(pyarrow.string(), pyarrow.string()),
        "Mapping[str, int]": pyarrow.map_(pyarrow.string(), pyarrow.int64()),
    }
    of = {one.name: str(one.type) for one in (*fields(Facts), *fields(Capture))}
    of["sitemaps_cross_host"] = "int"
    names = (*ANSWER_FACTS, *BODY_FACTS)
    return pyarrow.schema([(name, types[of[name].removesuffix(" | None")]) for name in names])
