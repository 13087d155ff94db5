"""One answer put on the wire, and every way in which that can go wrong."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus

from tests.servers.answers import Answer, Fault
from tests.servers.bodies import blocks, is_streamed

# The octets have to reach the client before the RST overtakes them.
_BEFORE_RESET_SECONDS = 0.05


async def send(
    writer: asyncio.StreamWriter, answer: Answer, method: str, headers: Mapping[str, str]
) -> bool:
    """Send the answer to a request; say whether the connection can take another one."""
    await asyncio.sleep(answer.delay_seconds)
    if is_not_modified(answer, headers):
        writer.write(_head(answer, status=HTTPStatus.NOT_MODIFIED))
        return True
    faulty = _FAULTS.get(answer.fault)
    if faulty is not None:
        await faulty(writer, answer)
        return False
    if is_streamed(answer):
        await _send_chunked(writer, answer)
        return False
    body = b"".join(blocks(answer))
    writer.write(_head(answer, f"Content-Length: {len(body)}"))
    if method != "HEAD":
        await _send_body(writer, answer, body)
    return True


def is_not_modified(answer: Answer, headers: Mapping[str, str]) -> bool:
    """Whether the client has what the answer would say (RFC 9110, 13.2.2: the etag goes first)."""
    known = headers.get("if-none-match")
    if known is not None:
        return answer.etag is not None and answer.etag in map(str.strip, known.split(","))
    return answer.last_modified is not None and answer.last_modified == headers.get(
        "if-modified-since"
    )


def _head(answer: Answer, framing: str = "", status: int | None = None) -> bytes:
    code = answer.status if status is None else status
    lines = [
        f"HTTP/{answer.version} {code} {(code == answer.status and answer.reason) or _phrase(code)}"
    ]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    if "content-type" not in {name.lower() for name, _ in answer.headers}:
        lines.append("Content-Type: text/plain")
    for name, value in (
        ("ETag", answer.etag),
        ("Last-Modified", answer.last_modified),
        ("Content-Encoding", answer.content_encoding),
    ):
        if value is not None:
            lines.append(f"{name}: {value}")
    lines += [framing] if framing else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unheard Of"


async def _send_body(writer: asyncio.StreamWriter, answer: Answer, body: bytes) -> None:
    async for piece in _dripping(answer, body):
        writer.write(piece)
        await writer.drain()


async def _dripping(answer: Answer, block: bytes) -> AsyncIterator[bytes]:
    if answer.drip is None:
        yield block
        return
    octets, seconds = answer.drip
    for start in range(0, len(block), octets):
        if start:
            await asyncio.sleep(seconds)
        yield block[start : start + octets]


async def _send_chunked(writer: asyncio.StreamWriter, answer: Answer, *, end: bool = True) -> None:
    writer.write(_head(answer, "Transfer-Encoding: chunked"))
    for block in blocks(answer):
        async for piece in _dripping(answer, block):
            if piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        await asyncio.sleep(0)
    if end:
        writer.write(b"0\r\n\r\n")


async def _close_before_answer(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.close()


async def _reset_before_answer(writer: asyncio.StreamWriter, answer: Answer) -> None:
    reset(writer)


async def _reset_in_headers(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(_head(answer)[:24])
    await writer.drain()
    await asyncio.sleep(_BEFORE_RESET_SECONDS)
    reset(writer)


async def _reset_in_body(writer: asyncio.StreamWriter, answer: Answer) -> None:
    body = b"".join(blocks(answer))
    writer.write(_head(answer, f"Content-Length: {len(body) + 1}"))
    await _send_body(writer, answer, body[: (len(body) + 1) // 2])
    await asyncio.sleep(_BEFORE_RESET_SECONDS)
    reset(writer)


async def _truncated_length(writer: asyncio.StreamWriter, answer: Answer) -> None:
    body = b"".join(blocks(answer))
    writer.write(_head(answer, f"Content-Length: {len(body) + 100}"))
    await _send_body(writer, answer, body)


async def _truncated_chunked(writer: asyncio.StreamWriter, answer: Answer) -> None:
    await _send_chunked(writer, answer, end=False)


async def _wrong_chunk(writer: asyncio.StreamWriter, answer: Answer) -> None:
    await _send_chunked(writer, answer, end=False)
    writer.write(b"no hexadecimal number\r\nwhatever\r\n")


async def _close_open(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(_head(answer))
    await _send_body(writer, answer, b"".join(blocks(answer)))


async def _reset_open(writer: asyncio.StreamWriter, answer: Answer) -> None:
    await _close_open(writer, answer)
    await asyncio.sleep(_BEFORE_RESET_SECONDS)
    reset(writer)


async def _cut_open(writer: asyncio.StreamWriter, answer: Answer) -> None:
    await _close_open(writer, answer)
    await asyncio.sleep(_BEFORE_RESET_SECONDS)
    writer.transport.abort()


async def _header_flood(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(_head(answer)[:-2])
    await _flood(writer, b"X-Flood: %s\r\n" % (b"x" * 1000))


async def _informational_flood(writer: asyncio.StreamWriter, answer: Answer) -> None:
    await _flood(writer, b"HTTP/1.1 100 Continue\r\n\r\n")


async def _extension_flood(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(_head(answer, "Transfer-Encoding: chunked"))
    writer.write(b"%x\r\n%b\r\n" % (len(answer.octets), answer.octets))
    await _flood(writer, b"1;%s\r\n#\r\n" % (b"x" * 1000))


async def _flood(writer: asyncio.StreamWriter, piece: bytes) -> None:
    while True:
        writer.write(piece * 64)
        await writer.drain()
        await asyncio.sleep(0)


async def _slow_headers(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(_head(answer)[:-2])
    while True:
        writer.write(b"X-Slow: x\r\n")
        await writer.drain()
        await asyncio.sleep(0.2)


async def _garbage(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(b"\x15\x03\x01 220 this is not HTTP \xff\xfe\r\n\r\n" + answer.octets)


async def _hang(writer: asyncio.StreamWriter, answer: Answer) -> None:
    await asyncio.sleep(86_400)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST: an abort with lingering for no time at all."""
    connection = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


_FAULTS: dict[Fault, Callable[[asyncio.StreamWriter, Answer], Awaitable[None]]] = {
    "close_before_answer": _close_before_answer,
    "reset_before_answer": _reset_before_answer,
    "reset_in_headers": _reset_in_headers,
    "reset_in_body": _reset_in_body,
    "truncated_length": _truncated_length,
    "truncated_chunked": _truncated_chunked,
    "wrong_chunk": _wrong_chunk,
    "close_open": _close_open,
    "reset_open": _reset_open,
    "cut_open": _cut_open,
    "header_flood": _header_flood,
    "informational_flood": _informational_flood,
    "extension_flood": _extension_flood,
    "slow_headers": _slow_headers,
    "garbage": _garbage,
    "hang": _hang,
}
