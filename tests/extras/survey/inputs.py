"""The same files in each kind of input."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import scrapy_rep
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.events import Event
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge, Outage
from scrapy_rep.protocol.access.origin import Origin
from tests.extras.evidence.audit.making import Judged

Files = Iterable[tuple[str, bytes]]


def folder(files: Files, at: Path) -> Path:
    path = at / "folder"
    path.mkdir()
    for host, body in files:
        (path / host).write_bytes(body)
    return path


def lines(files: Files, at: Path) -> Path:
    path = at / "files.jsonl"
    encoded = ((host, base64.b64encode(body).decode()) for host, body in files)
    path.write_text("".join(json.dumps({"host": h, "body_b64": b}) + "\n" for h, b in encoded))
    return path


def packed_lines(files: Files, at: Path) -> Path:
    path = at / "files.jsonl.gz"
    path.write_bytes(gzip.compress(lines(files, at).read_bytes()))
    return path


def record(kind: str, block: bytes, uri: str = "", more: str = "") -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n{more}"
    head += f"WARC-Target-URI: {uri}\r\n" if uri else ""
    head += f"Content-Length: {len(block)}\r\n\r\n"
    return head.encode() + block + b"\r\n\r\n"


def answer(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n{more}\r\n"
    return head.encode() + body


def resources(files: Files, at: Path) -> Path:
    path = at / "files.warc"
    path.write_bytes(
        b"".join(record("resource", body, f"http://{host}/robots.txt") for host, body in files)
    )
    return path


def warc(files: Files, at: Path) -> Path:
    """A gzip member a record."""
    path = at / "files.warc.gz"
    out = io.BytesIO()
    out.write(gzip.compress(record("warcinfo", b"software: x\r\n")))
    for host, body in files:
        uri = f"http://{host}/robots.txt"
        out.write(gzip.compress(record("request", b"GET /robots.txt HTTP/1.1\r\n\r\n", uri)))
        out.write(gzip.compress(record("response", answer(body), uri)))
        out.write(gzip.compress(record("metadata", b"fetchTimeMs: 3\r\n", uri)))
    path.write_bytes(out.getvalue())
    return path


def entry(host: str, event: Event, body: bytes, *, hops: tuple[str, ...] = ()) -> Entry:
    origin = Origin("http", host, 80)
    known = Copy(
        event,
        body,
        hops or (origin.robots_txt_uri,),
        (("content-type", "text/plain"), ("cache-control", "max-age=60")),
        1767323045.0,
        1767323045.0,
        1767326645.0,
    )
    return Entry(Key.under(origin, "FooBot"), Knowledge(known))


def outage(host: str, event: Event) -> Entry:
    origin = Origin("https", host, 443)
    known = Outage(event, (origin.robots_txt_uri,), 1.0, 2.0, 3, 4.0)
    return Entry(Key.under(origin, "FooBot"), Knowledge(None, known))


def store_of(entries: Iterable[Entry], at: Path) -> Path:
    path = at / "robots.sqlite"
    store = SqliteStore(path, 1 << 30)
    for one in entries:
        store.commit(one, None).result()
    store.close()
    return path


def store(files: Files, at: Path) -> Path:
    return store_of((entry(host, 200, body) for host, body in files), at)


def trail(files: Files, at: Path) -> Path:
    """As the middleware of a crawl writes it, over several segments."""
    crawl = Judged(at / "audit", segment_octets=1 << 16)
    for number, (host, body) in enumerate(files):
        crawl.know(host, body)
        crawl.judge([f"https://{host}/{n}" for n in range(100 if number < 20 else 5)])
    return crawl.end().path


def package(at: Path) -> Path:
    """The whole package as a zip, as the workers of a cluster import it."""
    path, folder = at / "scrapy_rep.zip", Path(scrapy_rep.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in folder.rglob("*.*"):
            if file.suffix != ".pyc":
                packed.write(file, file.relative_to(folder.parent).as_posix())
    return path


KINDS: tuple[Callable[[Files, Path], Path], ...] = (
    folder,
    lines,
    packed_lines,
    resources,
    warc,
    store,
    trail,
)
