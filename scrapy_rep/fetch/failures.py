"""Maps exceptions to failures: one table for all event loops and download handlers.

Each handler wraps the errors of its library in its own way. A connection that is refused, reset or
closed during the TLS handshake is one class in one handler, and three classes in another. So an
exception is looked up together with its causes. The table holds names of classes, because few of
the libraries are installed: the top-level package and the class (or the module, if two classes
share a name), or an error number.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Iterator

from twisted.python.failure import Failure as TwistedFailure

from scrapy_rep.protocol.access.events import Failure

_MOST_CAUSES = 100  # of one exception; only a hostile chain is longer
_STREAM_RESET = "a-reset-of-a-stream"
_STREAM_RESETS = ("RST_STREAM", "StreamReset")  # only the text tells, in Scrapy and in httpx
# Raised and caught in every handshake, so every failure in a handshake has them as context.
_NO_FAILURES = frozenset(
    f"{library}Want{end}Error" for library in ("ssl.SSL", "OpenSSL.") for end in ("Read", "Write")
)
_OF_HTTP2 = ("h2.", "httpx.", "httpx2.", "httpcore.", "httpcore2.")

_SHORTAGES = frozenset(
    f"errno.{name}" for name in ("EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL")
)

_Table = tuple[tuple[Failure, frozenset[str]], ...]


def _table(text: str) -> _Table:
    """The rows of a table, one a line: the event, and the names that stand for it."""
    rows = (line.split() for line in text.splitlines() if line.strip())
    return tuple((Failure(event), frozenset(names)) for event, *names in rows)


# Decisions of Scrapy, its middlewares or ours: only the exception itself is looked up. Most of what
# cannot be decoded is from Scrapy's decompression.
_OUTERMOST = _table("""
local        scrapy.IgnoreRequest scrapy.DownloadCancelledError scrapy.NotConfigured
local        scrapy.NotSupported scrapy.StopDownload scrapy.UnsupportedURLSchemeError
local        scrapy_rep.CancelledElsewhereError
truncated    scrapy.ResponseDataLossError asyncio.IncompleteReadError
undecodable  scrapy_rep.UndecodableError builtins.EOFError gzip.BadGzipFile zlib.error struct.error
undecodable  brotli.error brotlicffi.error compression.ZstdError backports.ZstdError
""")

# Events on the wire: the exception and all its causes are looked up, row by row.
#
# - local: this machine has no more files, ports or memory for connections.
# - The first network: we aborted the connection. Twisted derives its error from that of a reset.
# - timeout: Python 3.10 has that of asyncio apart.
# - The first reset: the other side left the handshake. That is no TLS error, though ssl raises one.
# - The second reset: ConnectionLost by its module, for that of FTP is any loss.
#   RemoteTerminatedConnection is a GOAWAY.
# - The last rows: no route to the host. Scrapy's handlers for asyncio call every failure to connect
#   a refusal.
_WIRE = _table(f"""
local    {" ".join(_SHORTAGES)}
network  scrapy_rep.OversizedAnswerError twisted.ConnectionAborted
timeout  scrapy.DownloadTimeoutError builtins.TimeoutError asyncio.TimeoutError
timeout  twisted.TimeoutError twisted.TCPTimedOutError errno.ETIMEDOUT
dns      scrapy.CannotResolveHostError socket.gaierror twisted.DNSLookupError
dns      aiohttp.ClientConnectorDNSError
reset    ssl.SSLEOFError ssl.SSLZeroReturnError anyio.EndOfStream anyio.ClosedResourceError
tls      ssl.SSLError ssl.CertificateError OpenSSL.Error service_identity.VerificationError
tls      twisted.VerifyError twisted.SimpleVerificationError aiohttp.ClientSSLError
tls      aiohttp.ServerFingerprintMismatch
reset    {_STREAM_RESET} scrapy.RemoteTerminatedConnection builtins.ConnectionResetError
reset    builtins.ConnectionAbortedError builtins.BrokenPipeError anyio.BrokenResourceError
reset    twisted.internet.error.ConnectionLost errno.ECONNRESET errno.ECONNABORTED errno.EPIPE
refused  builtins.ConnectionRefusedError twisted.ConnectionRefusedError errno.ECONNREFUSED
network  builtins.OSError twisted.ConnectError
refused  scrapy.DownloadConnectionRefusedError
""")


def _failure_in(table: _Table, found: set[str]) -> Failure | None:
    """The failure of the first row that has one of these names."""
    return next((failure for failure, names in table if not found.isdisjoint(names)), None)


def failure_of(error: BaseException) -> Failure:
    """The failure for an exception of Scrapy or of a download handler.

    An exception that is not in the table is a network failure.
    """
    own = _failure_in(_OUTERMOST, _names(error))
    return _on_the_wire(_all_names(error)) if own is None else own


def shortage_in(error: BaseException) -> str:
    """The name of the error number, such as EMFILE, if this machine is short; otherwise empty."""
    found = _all_names(error) & _SHORTAGES
    return min(found).removeprefix("errno.") if found else ""


def is_loss(error: BaseException) -> bool:
    """Whether a download failed because its connection was lost or stopped speaking HTTP.

    If a body had begun, it is cut short then. A reset of an HTTP/2 stream is not a loss, because
    the other side announces it.
    """
    names = _all_names(error)
    is_failed = "scrapy.DownloadFailedError" in names and _STREAM_RESET not in names
    return is_failed and _on_the_wire(names) in (Failure.RESET, Failure.NETWORK)


def _on_the_wire(found: set[str]) -> Failure:
    return _failure_in(_WIRE, found) or Failure.NETWORK


def _all_names(error: BaseException) -> set[str]:
    return {name for cause in _causes(error) for name in _names(cause)}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, each once."""
    waiting = deque([error])
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_CAUSES:
        cause = waiting.popleft()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting.extend(_direct_causes(cause))


def _direct_causes(cause: BaseException) -> Iterator[BaseException]:
    if isinstance(cause, TwistedFailure) and isinstance(cause.value, BaseException):
        yield cause.value
    if cause.__cause__ is not None:
        yield cause.__cause__
    elif cause.__context__ is not None and not cause.__suppress_context__:
        yield cause.__context__
    for many in ("reasons", "exceptions", "args"):
        found = getattr(cause, many, ())
        if isinstance(found, list | tuple):
            yield from (one for one in found if isinstance(one, BaseException))


def _names(cause: BaseException) -> set[str]:
    """The names of a cause that the table may hold."""
    if isinstance(cause, TwistedFailure):  # Scrapy's HTTP/2: a class, with text as its value
        kind: type | None = cause.type
    else:
        kind = type(cause)
    names: set[str] = set()
    for one in kind.__mro__ if kind is not None else ():
        package = one.__module__.partition(".")[0]
        names |= {f"{package}.{one.__name__}", f"{one.__module__}.{one.__name__}"}
    if not names.isdisjoint(_NO_FAILURES):
        return set()
    if any(name.startswith(_OF_HTTP2) for name in names):
        text = str(cause.value if isinstance(cause, TwistedFailure) else cause)
        names |= {_STREAM_RESET for word in _STREAM_RESETS if word in text}
    number = getattr(cause, "errno", None) or getattr(cause, "osError", None)
    if isinstance(number, int) and number in errno.errorcode:
        names.add(f"errno.{errno.errorcode[number]}")
    return names
