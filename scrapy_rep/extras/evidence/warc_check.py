"""Checks that an archive is complete and unchanged.

Readers of WARC files do not notice a file that is cut between two records, or within the last one.
So the manifest has the length and the digest of each file.
"""

from __future__ import annotations

import re
import zlib
from base64 import b32encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1, sha256
from pathlib import Path
from typing import IO, Any

from scrapy_rep.protocol.units import counted

from .manifests import CheckOutcome, files_in, manifest_in, opened
from .warc_writer import FORMAT, OPEN

_PIECE_OCTETS = 1 << 16
_RECORD_OCTETS = 1 << 26  # of one record, decompressed; ours have a few MB
_NAME = re.compile(r"rep-.+-\d+-\d{5,}\.warc\.gz(\.open)?")
_GZIP_WBITS = 16 + zlib.MAX_WBITS


class DamagedFileError(Exception):
    """A file is not a sequence of whole records; the message is for the user."""


@dataclass
class ArchiveRun:
    """The archive of one run.

    Attributes:
        path: its folder.
        files: its WARC files, in order.
        manifest: the content of the manifest; None if it is missing or invalid.
        manifest_sha256: the digest of the manifest, for signatures; empty without one.
    """

    path: Path
    files: list[Path]
    manifest: dict[str, Any] | None
    manifest_sha256: str


def archive_at(path: Path) -> ArchiveRun | None:
    """The archive in a folder; None without one."""
    path = path.resolve()
    # Read before the folder is listed, so that all files in the manifest exist.
    manifest, digest = manifest_in(path, _is_manifest)
    try:
        files = sorted(one for one in path.iterdir() if _NAME.fullmatch(one.name))
    except OSError:
        return None
    if not files and manifest is None:
        return None
    return ArchiveRun(path, files, manifest, digest)


def _is_manifest(found: object) -> bool:
    return isinstance(found, dict) and found.get("format") == FORMAT


def check(run: ArchiveRun) -> CheckOutcome:
    """Check an archive. Reads each file once, and keeps one record at a time."""
    found = CheckOutcome()
    told = files_in(run.manifest)
    # A file is finished, then added to the manifest: a kill may come in between, once.
    unnamed = max((path.name for path in run.files if path.name not in told), default="")
    last = unnamed if not _has_end(run.manifest) and unnamed > max(told, default="") else ""
    for path in run.files:
        may_be_unnamed = run.manifest is None or path.name == last or path.name.endswith(OPEN)
        _check_file(path, told.pop(path.name, None), found, may_be_unnamed=may_be_unnamed)
    for name in told:
        found.wrong(f"{name}: in the manifest, but missing")
    _check_manifest(run, found)
    return found


def _check_file(
    path: Path, told: Mapping[str, Any] | None, found: CheckOutcome, *, may_be_unnamed: bool
) -> None:
    digest = sha256()
    octets = records = 0
    damage = ""
    try:
        with opened(path) as file:
            for member, kind in _members(file):
                digest.update(member)
                octets += len(member)
                records += bool(kind)
                found.counts[kind] += bool(kind)
    except (DamagedFileError, OSError) as error:
        damage = f"{path.name}: after {counted(records, 'whole record')}: {error}"
    if told is None:
        if may_be_unnamed:
            lack = damage or f"{path.name}: not finished; it has {counted(records, 'whole record')}"
            found.missing.append(lack)
        else:
            found.wrong(f"{path.name}: not in the manifest")
        return
    if damage:
        found.wrong(damage)
        return
    facts = {"octets": octets, "records": records, "sha256": digest.hexdigest()}
    found.compare(path.name, told, facts)


def _check_manifest(run: ArchiveRun, found: CheckOutcome) -> None:
    manifest = run.manifest
    if manifest is None:
        found.missing.append("manifest.json is missing or invalid")
        return
    if not _has_end(manifest):
        found.missing.append("the archive has no end: the crawl was killed, or is still running")
    failed = manifest.get("failed")
    if failed:
        why = f" ({manifest['error']})" if "error" in manifest else ""
        found.missing.append(f"exchanges that could not be archived: {failed}{why}")
    if _has_end(manifest) and not found.problems:
        total = found.counts.total()
        if manifest.get("records") != total:
            found.wrong(f"{manifest.get('records')} records in the manifest, but {total} found")


def _has_end(manifest: Mapping[str, Any] | None) -> bool:
    return manifest is not None and isinstance(manifest.get("end"), dict)


def _members(file: IO[bytes]) -> Iterator[tuple[bytes, str]]:
    """Yield each gzip member of a file; with the last one of a record, its WARC-Type.

    Raises:
        DamagedFileError: a record is damaged, or cut.
    """
    inflater, record = zlib.decompressobj(_GZIP_WBITS), bytearray()
    rest, is_amid = b"", False
    while piece := rest or file.read(_PIECE_OCTETS):
        try:
            record += inflater.decompress(piece, _RECORD_OCTETS - len(record) + 1)
        except zlib.error as error:
            raise DamagedFileError(str(error)) from None
        if len(record) > _RECORD_OCTETS or inflater.unconsumed_tail:
            raise DamagedFileError("a record is too large to be one of ours")
        rest = inflater.unused_data
        kind, is_amid = "", not inflater.eof
        if inflater.eof:
            kind = _kind_of(bytes(record))
            inflater, record = zlib.decompressobj(_GZIP_WBITS), bytearray()
        yield piece[: len(piece) - len(rest)], kind
    if is_amid:
        raise DamagedFileError("the file is cut within a record")


def _kind_of(record: bytes) -> str:
    """The WARC-Type of a record; also checks its digest.

    Raises:
        DamagedFileError: it is not a record, or the digest of its block is wrong.
    """
    head, end, block = record.partition(b"\r\n\r\n")
    lines = head.decode("utf-8", "replace").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    if not end or not lines[0].startswith("WARC/"):
        raise DamagedFileError("not a record")
    length = fields.get("content-length", "")
    if not length.isascii() or not length.isdigit() or block[int(length) :] != b"\r\n\r\n":
        raise DamagedFileError("the length of a record differs from its head")
    digest = b32encode(sha1(block[: int(length)], usedforsecurity=False).digest()).decode()
    if fields.get("warc-block-digest") != f"sha1:{digest}":
        raise DamagedFileError("the digest of a record's block is wrong")
    return fields.get("warc-type") or "unknown"
