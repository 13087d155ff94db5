"""Facts as a Parquet file, one row per capture; needs pyarrow (the extra ``survey``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from .captures import ANSWER_FACTS, BODY_FACTS, Capture
from .facts import Facts

_ROWS = 20_000  # per row group: some 2 MB


class FactsFile:
    """A Parquet file being written; it replaces a file of the same name once it is complete."""

    def __init__(self, path: Path) -> None:
        """Start a file.

        Raises:
            ImportError: pyarrow is not installed.
            OSError: the file cannot be written there.
        """
        import pyarrow as pa
        from pyarrow import parquet

        self._pyarrow = pa
        self._path = path
        self._made = path.with_name(f".{path.name}.part")
        self._schema = _schema(pa)
        self._writer = parquet.ParquetWriter(str(self._made), self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows; they may be buffered."""
        self._rows += rows
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        columns = {name: [row[name] for row in self._rows] for name in self._schema.names}
        for name in ("agents", "lint", "other_keys"):
            columns[name] = [None if one is None else [*one.items()] for one in columns[name]]
        self._writer.write_table(self._pyarrow.table(columns, schema=self._schema))
        self._rows = []

    def close(self) -> None:
        """Finish the file, and move it into place."""
        if self._rows:
            self._flush()
        self._writer.close()
        self._made.replace(self._path)

    def drop(self) -> None:
        """Discard the file."""
        self._writer.close()
        self._made.unlink(missing_ok=True)


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
