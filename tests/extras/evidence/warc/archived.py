"""Crawls with an archive, and its records, read by warcio."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.crawling import Crawl, Loop, crawl
from tests.crawls.settings import URLS_SPIDER, WITH_SCRAPYS_QUEUE


@dataclass(frozen=True)
class Found:
    """A record of an archive.

    Attributes:
        kind: its WARC-Type.
        fields: the fields of its head.
        status: of a response, its status line; of a request, its request line.
        headers: of HTTP, in lower case.
        payload: the octets after the head.
        told: the fields of a metadata record; a list if a name occurs several times.
    """

    kind: str
    fields: dict[str, str]
    status: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    payload: bytes = b""
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.fields["WARC-Record-ID"]

    @property
    def uri(self) -> str:
        return self.fields.get("WARC-Target-URI", "")


def archived(
    urls: Sequence[str],
    root: Path,
    *,
    loop: Loop = "asyncio",
    spider: str = URLS_SPIDER,
    settings: dict[str, Any] | None = None,
    **arguments: Any,
) -> tuple[Crawl, Path]:
    """A crawl of some URLs, one after another, and the folder of its archive."""
    wanted = {
        **WITH_SCRAPYS_QUEUE,
        "CONCURRENT_REQUESTS": 1,
        "REP_WARC_DIR": str(root),
        "LOG_LEVEL": "INFO",
        **(settings or {}),
    }
    result = crawl(spider, loop=loop, settings=wanted, urls=list(urls), **arguments)
    assert result.exit_code == 0, result.error
    return result, (root / "latest").resolve()


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.warc.gz*"))


def records_in(folder: Path) -> list[Found]:
    """Every record, in order."""
    return [one for file in files_in(folder) for one in _records(file)]


def _records(file: Path) -> Iterator[Found]:
    archiveiterator = pytest.importorskip("warcio.archiveiterator", reason="needs warcio")
    with file.open("rb") as stream:
        for record in archiveiterator.ArchiveIterator(stream):
            head, http = record.rec_headers, record.http_headers
            payload = record.raw_stream.read()
            told: dict[str, Any] = {}
            if record.rec_type in ("metadata", "warcinfo"):
                for line in payload.decode().splitlines():
                    name, _, value = line.partition(": ")
                    if name in ("rep-left-out", "rep-way"):
                        told.setdefault(name, []).append(value)
                    else:
                        told[name] = value
            yield Found(
                record.rec_type,
                dict(head.headers),
                "" if http is None else f"{http.protocol} {http.statusline}".strip(),
                {} if http is None else {name.lower(): value for name, value in http.headers},
                payload,
                told,
            )


def exchanges_in(folder: Path) -> list[dict[str, Found]]:
    """The records that belong together, by kind, in order; the main record is under ``main``."""
    found: dict[str, dict[str, Found]] = {}
    for one in records_in(folder):
        if one.kind == "warcinfo":
            continue
        joined = found.setdefault(one.fields.get("WARC-Concurrent-To", one.id), {})
        joined.setdefault("main", one)
        joined[one.kind] = one
    return [*found.values()]


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def warcio_checks(folder: Path) -> str:
    """The output of ``warcio check`` for all files; empty if they are valid."""
    checker = pytest.importorskip("warcio.checker", reason="needs warcio")
    from warcio.bufferedreaders import BufferedReader

    # warcio 1.8 fails on every body in br with brotli 1.2: its objects take no attributes.
    BufferedReader.DECOMPRESSORS["br"] = _brotli
    out = io.StringIO()
    with redirect_stdout(out):
        status = checker.Checker(
            SimpleNamespace(inputs=[str(file) for file in files_in(folder)], verbose=False)
        ).process_all()
    return out.getvalue() or ("" if status == 0 else f"exit {status}")


def fastwarc_reads(folder: Path) -> list[str] | None:
    """The ids of all records by fastwarc, which checks digests; None without fastwarc."""
    try:
        from fastwarc.warc import ArchiveIterator
    except ImportError:
        return None
    found: list[str] = []
    for path in files_in(folder):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                assert record.verify_block_digest(), record.record_id
                found.append(str(record.record_id))
    return found


def _brotli() -> Any:
    import brotli

    return SimpleNamespace(decompress=brotli.Decompressor().process, unused_data=None)
