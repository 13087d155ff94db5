"""Failures of a fetch on the crawl's own side: a middleware of the project, a proxy, a shortage.

They say nothing about the site. So they are never stored, and the log names the culprit.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest, NotSupported, UnsupportedURLSchemeError

from scrapy_rep.engine.components import culprit_of
from scrapy_rep.engine.transfer import MARK, SentTooOftenError, Transfer
from scrapy_rep.protocol.access.events import Failure

from .failures import failure_of

if TYPE_CHECKING:
    from scrapy import Request

    from .shortage import Shortage

PROXY = "proxy"
"""Scrapy's meta key."""

_ERROR_CHARACTERS = 300
_SECRETS = ((re.compile(r"\?\S+"), "?…"), (re.compile(r"[^\s/'\"]+:[^\s/'\"]*@"), ""))
_OF_CONNECTION = {Failure.DNS, Failure.REFUSED, Failure.TIMEOUT, Failure.NETWORK}
# Failures before the head of an answer that are those of a proxy. Over https, a connection that was
# reset or has wrong certificates may be that of the site, behind the proxy.
_OF_PROXY = {
    "http": {*_OF_CONNECTION, Failure.RESET, Failure.TLS},
    "https": _OF_CONNECTION,
}
_RESENDER = "a middleware that returns the request for each answer"
_REFUSES = "'status': 407"  # in the error of Scrapy's tunnel


class ProxyRefusedError(Exception):
    """A proxy requires credentials."""


class FaultKind(Enum):
    """The kinds of failures, which differ in whether another try may help, and in what does."""

    BROKE = "a middleware of the project broke the request"
    DROPPED = "a middleware of the project dropped the request"
    PROXY = "the proxy, or the site behind it, cannot be reached"
    CREDENTIALS = "the proxy requires credentials"
    HANDLER = "Scrapy has no download handler that can send the request"
    SHORTAGE = "this machine is short of open files, ports or memory"
    LATE = "the fetch of robots.txt took too long"


_TO_LET_PASS = (
    f"Let the middleware pass requests that have {MARK!r} in their meta, or leave the middlewares "
    "of the project out of these requests (REP_FETCH_MIDDLEWARES = 'builtin')"
)
REMEDIES = {
    FaultKind.BROKE: _TO_LET_PASS,
    FaultKind.DROPPED: _TO_LET_PASS,
    FaultKind.PROXY: "A robots.txt is fetched through the proxy of the pages: replace this proxy",
    FaultKind.CREDENTIALS: "Put them into the URL of the proxy",
    FaultKind.HANDLER: "DOWNLOAD_HANDLERS and TWISTED_REACTOR_ENABLED decide which there are",
    FaultKind.SHORTAGE: "Raise the limit that an earlier warning names",
    FaultKind.LATE: "REP_UNREACHABLE_WAIT_SECONDS decides how long it may take",
}
"""The advice after each kind of failure of a fetch."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure on the crawl's own side.

    Attributes:
        kind: what failed.
        culprit: the class of the middleware; the proxy, without credentials; or what is short.
        error: the class of the exception.
        details: its words, without what may be secret, and the file and line of the middleware.
        may_pass: whether it may end while the crawl waits.
        retry_seconds: when to try again; 0 for the usual time.
    """

    kind: FaultKind
    culprit: str
    error: str
    details: str
    may_pass: bool = False
    retry_seconds: float = 0.0

    def __str__(self) -> str:
        """The culprit and its error, as verdicts name them."""
        return f"{self.culprit}: {self.error}"


def fault_of(
    transfer: Transfer, request: Request, error: Exception, shortage: Shortage
) -> Fault | None:
    """The fault of our own side that made a request fail; None for a failure of the site.

    `request` is as it was sent.
    """
    if (found := shortage.of(error)) is not None:
        name, seconds = found
        kind, words = type(error).__name__, shown_error(error)
        return Fault(FaultKind.SHORTAGE, name, kind, words, seconds > 0, seconds)
    if isinstance(error, SentTooOftenError):
        return Fault(FaultKind.BROKE, _RESENDER, type(error).__name__, shown_error(error))
    unsent = _of_handler(request, error)
    if transfer.error is None:
        return _of_middleware(error) or unsent
    return unsent or _of_proxy(request, error, has_head=transfer.has_head)


def fault_of_page(request: Request, error: Exception) -> Fault | None:
    """The fault of our own side that made a request for a page fail; None for one of the site."""
    found = _of_middleware(error) or _of_handler(request, error)
    return found or _of_proxy(request, error, has_head=False)


def _of_handler(request: Request, error: Exception) -> Fault | None:
    if not isinstance(error, NotSupported | UnsupportedURLSchemeError):
        return None
    scheme = request.url.partition(":")[0]
    return Fault(FaultKind.HANDLER, scheme, type(error).__name__, f"({shown_error(error)})")


def _of_middleware(error: Exception) -> Fault | None:
    culprit = culprit_of(error)
    if culprit is None:
        return None
    owner, place = culprit
    kind = FaultKind.DROPPED if isinstance(error, IgnoreRequest) else FaultKind.BROKE
    # A connection of the middleware itself may work later; other errors come again.
    may_pass = isinstance(error, OSError)
    return Fault(kind, owner, type(error).__name__, f"({place}): {shown_error(error)}", may_pass)


def _of_proxy(request: Request, error: Exception, *, has_head: bool) -> Fault | None:
    proxy = str(request.meta.get(PROXY) or "").rpartition("@")[2].rpartition("//")[2]
    if proxy and (isinstance(error, ProxyRefusedError) or _REFUSES in _words(error)):
        return Fault(FaultKind.CREDENTIALS, proxy, "407", "answers 407")
    failure = failure_of(error)
    of_proxies = _OF_PROXY.get(request.url.partition(":")[0], ())
    if not proxy or has_head or failure not in of_proxies:
        return None
    details = f"({failure.value}): {shown_error(error)}"
    return Fault(FaultKind.PROXY, proxy, failure.value, details, True)


def failure_by(fault: Fault | None, error: BaseException) -> Failure:
    """The failure that an exception stands for: `local` with a fault of our own."""
    return failure_of(error) if fault is None else Failure.LOCAL


def shown_error(error: BaseException) -> str:
    """An exception in a line of limited length, without what may be secret."""
    words = f"{type(error).__name__}: {_words(error)}"
    return " ".join(_masked(words).split())[:_ERROR_CHARACTERS]


def _words(error: BaseException) -> str:
    """The words of an exception; empty if its own code fails."""
    with suppress(Exception):
        return str(error)
    return ""


def _masked(text: str) -> str:
    """A text without queries of URLs and without userinfo."""
    for pattern, words in _SECRETS:
        text = pattern.sub(words, text)
    return text
