"""5: which event an exception is, over all that led to it."""

from __future__ import annotations

import errno
import gzip
import socket
import ssl
import zlib
from typing import Any

import pytest
from OpenSSL import SSL
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from twisted.internet import error
from twisted.protocols.ftp import ConnectionLost as FtpConnectionLost
from twisted.python.failure import Failure as TwistedFailure
from twisted.web.client import ResponseFailed

from scrapy_rep.fetch.failures import failure_of, is_loss
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.codings import UndecodableError

tx: Any = error  # whose classes have no annotations


def caused(outer: BaseException, *causes: BaseException) -> BaseException:
    """An exception that was raised from another, that from the next, and so on."""
    error = outer
    for cause in causes:
        error.__cause__ = cause
        error = cause
    return outer


def failed(*reasons: BaseException) -> BaseException:
    """Errors of Twisted, as Scrapy passes them on."""
    failures = [TwistedFailure(reason) for reason in reasons]  # type: ignore[no-untyped-call]
    return caused(DownloadFailedError(), ResponseFailed(failures))  # type: ignore[no-untyped-call]


def amid(outer: BaseException, context: BaseException) -> BaseException:
    """An exception that was raised while another was handled."""
    outer.__context__ = context
    return outer


def numbered(number: int) -> OSError:
    """What libraries make that set the number later: Python names no class by it."""
    error = OSError("by its number alone")
    error.errno = number
    return error


_REFUSED = DownloadConnectionRefusedError
CASES: list[tuple[BaseException, Failure]] = [
    (CannotResolveHostError(), Failure.DNS),
    (caused(_REFUSED(), socket.gaierror(-2, "")), Failure.DNS),
    (tx.DNSLookupError(), Failure.DNS),
    (_REFUSED(), Failure.REFUSED),
    (tx.ConnectionRefusedError(), Failure.REFUSED),
    (caused(_REFUSED(), OSError(errno.ECONNREFUSED, "")), Failure.REFUSED),
    (caused(_REFUSED(), OSError(errno.EHOSTUNREACH, "")), Failure.NETWORK),
    (tx.NoRouteError(), Failure.NETWORK),
    (caused(_REFUSED(), ssl.SSLCertVerificationError(1, "")), Failure.TLS),
    (caused(_REFUSED(), OSError("x"), ssl.SSLError(1, "")), Failure.TLS),
    (caused(_REFUSED(), ConnectionResetError()), Failure.RESET),
    (caused(_REFUSED(), ssl.SSLEOFError(8, "")), Failure.RESET),
    (failed(SSL.Error([("", "", "certificate verify failed")])), Failure.TLS),
    (failed(tx.ConnectionLost()), Failure.RESET),
    (failed(tx.ConnectionDone()), Failure.NETWORK),
    (failed(tx.ConnectionAborted()), Failure.NETWORK),
    (failed(ValueError()), Failure.NETWORK),
    (FtpConnectionLost("", TwistedFailure(tx.ConnectionDone())), Failure.NETWORK),  # type: ignore[no-untyped-call]
    (FtpConnectionLost("", TwistedFailure(tx.ConnectionLost())), Failure.RESET),  # type: ignore[no-untyped-call]
    (caused(DownloadFailedError(), OSError(errno.ECONNRESET, "")), Failure.RESET),
    (caused(DownloadFailedError(), BrokenPipeError()), Failure.RESET),
    (amid(DownloadFailedError(), ConnectionResetError()), Failure.RESET),
    (DownloadTimeoutError(), Failure.TIMEOUT),
    (TimeoutError(), Failure.TIMEOUT),
    (tx.TCPTimedOutError(), Failure.TIMEOUT),
    (caused(_REFUSED(), OSError(errno.ETIMEDOUT, "")), Failure.TIMEOUT),
    (ResponseDataLossError(), Failure.TRUNCATED),
    (caused(ResponseDataLossError(), failed(tx.ConnectionLost())), Failure.TRUNCATED),
    (UndecodableError(), Failure.UNDECODABLE),
    (EOFError(), Failure.UNDECODABLE),
    (gzip.BadGzipFile(), Failure.UNDECODABLE),
    (zlib.error(), Failure.UNDECODABLE),
    (IgnoreRequest(), Failure.LOCAL),
    (amid(IgnoreRequest(), ConnectionResetError()), Failure.LOCAL),
    (NotSupported(), Failure.LOCAL),
    (UnsupportedURLSchemeError(), Failure.LOCAL),
    (DownloadCancelledError(), Failure.LOCAL),
    (OSError(errno.ENETUNREACH, ""), Failure.NETWORK),
    (OSError(errno.EMFILE, ""), Failure.LOCAL),
    (OSError(errno.ENFILE, ""), Failure.LOCAL),
    (caused(_REFUSED(), OSError(errno.EMFILE, "")), Failure.LOCAL),
    (tx.ConnectError(osError=errno.EMFILE), Failure.LOCAL),
    (OSError("nobody knows"), Failure.NETWORK),
    (KeyError("unthought-of"), Failure.NETWORK),
    (amid(ConnectionResetError(), ssl.SSLWantReadError()), Failure.RESET),
    (numbered(errno.ETIMEDOUT), Failure.TIMEOUT),
    (numbered(errno.EPIPE), Failure.RESET),
    (tx.ConnectError(osError=errno.ECONNREFUSED), Failure.REFUSED),
    (tx.ConnectError(osError=errno.ETIMEDOUT), Failure.TIMEOUT),
]


@pytest.mark.parametrize(("error", "event"), CASES, ids=lambda one: repr(one)[:60])
def test_every_error_is_an_event(error: Any, event: Failure) -> None:
    assert failure_of(error) is event


def test_suppressed_context_is_no_cause() -> None:
    error = amid(DownloadFailedError(), ConnectionResetError())
    error.__suppress_context__ = True  # as `raise ... from None` does
    assert failure_of(error) is Failure.NETWORK


def test_circles_and_long_chains_end() -> None:
    one, two = DownloadFailedError(), OSError()
    one.__cause__, two.__cause__ = two, one
    assert failure_of(one) is Failure.NETWORK
    chain: BaseException = ConnectionResetError()
    for _ in range(10_000):
        chain = caused(ValueError(), chain)
    assert failure_of(chain) is Failure.NETWORK


def test_lost_connection_cuts_the_body() -> None:
    assert is_loss(failed(tx.ConnectionLost()))
    assert is_loss(failed(tx.ConnectionDone()))
    assert not is_loss(failed(SSL.Error([])))
    assert not is_loss(DownloadTimeoutError())
    assert not is_loss(KeyError())
    assert not is_loss(IgnoreRequest())
