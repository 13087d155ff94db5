"""Records as octets, each a gzip member of its own, by warcio (extra `[warc]`)."""

from __future__ import annotations

from base64 import b32encode
from hashlib import sha1
from io import BytesIO

from .warc_records import VERSION, Record, date


def is_installed() -> bool:
    """Whether warcio is."""
    try:
        import warcio.warcwriter  # noqa: F401
    except ImportError:
        return False
    return True


def packed(record: Record) -> bytes:
    """A record as it stands in a file."""
    from warcio.recordloader import ArcWarcRecord
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    head = [
        ("WARC-Type", record.kind),
        ("WARC-Record-ID", f"<{record.id}>"),
        ("WARC-Date", date(record.at)),
    ]
    if record.uri:
        head.append(("WARC-Target-URI", _in_one_line(record.uri)))
    head += [(name, _in_one_line(value)) for name, value in record.fields]
    if record.payload is not None:
        head.append(("WARC-Payload-Digest", digest_of(record.payload)))
    # warcio reads heads of HTTP to write them again, and escapes what is no ASCII. Without such a
    # head, it writes a block as it is: but for the kind "revisit", and not without a digest of its
    # own unless the kind is "warcinfo". The WARC-Type that it writes is that of `head`.
    made = ArcWarcRecord(
        "warc",
        "warcinfo" if record.payload is None else record.kind,
        StatusAndHeaders("", head, protocol=f"WARC/{VERSION}"),
        BytesIO(record.block),
        None,
        _in_one_line(record.content_type),
        len(record.block),
    )
    out = BytesIO()
    WARCWriter(out, gzip=True, warc_version=VERSION).write_record(made)
    return out.getvalue()


def digest_of(octets: bytes) -> str:
    """A digest as WARC files write it, and as warcio makes that of a block."""
    return f"sha1:{b32encode(sha1(octets, usedforsecurity=False).digest()).decode('ascii')}"


def _in_one_line(value: str) -> str:
    return " ".join(value.split()).encode("utf-8", "backslashreplace").decode("utf-8")
