"""Exchanges as values, and archives of them."""

from __future__ import annotations

from pathlib import Path

from scrapy_rep.extras.evidence.warc_records import (
    Exchange,
    Purpose,
    ReceivedAnswer,
    SentRequest,
    judged_facts,
    new_id,
)
from scrapy_rep.extras.evidence.warc_writer import ArchiveWriter

BODY = b"User-agent: *\nDisallow: /private\n"


def exchange(number: int = 0, body: bytes = BODY) -> Exchange:
    uri = f"https://h{number}.example/robots.txt"
    return Exchange(
        id=new_id(),
        uri=uri,
        purpose=Purpose(uri.removesuffix("/robots.txt"), "/robots.txt", (uri,)),
        at=1_800_000_000.25 + number,
        seconds=0.1,
        event="200",
        sent=SentRequest("GET", ((b"User-Agent", b"ExampleBot"),)),
        received=ReceivedAnswer(200, "HTTP/1.1", ((b"Content-Type", b"text/plain"),), body),
        address="192.0.2.1",
        judged=judged_facts(body),
    )


def archive(folder: Path, count: int = 3, *, segment_octets: int = 1 << 20) -> ArchiveWriter:
    """A finished archive of `count` exchanges."""
    writer = ArchiveWriter(folder, {"software": "test"}, segment_octets=segment_octets)
    for number in range(count):
        writer.put(exchange(number))
    writer.close().result(timeout=60)
    return writer
