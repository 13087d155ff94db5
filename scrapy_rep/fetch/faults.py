"""Failures of a fetch on the crawl's own side: a middleware of the project, or a proxy.

They say nothing about the site. So they are never stored, and the log names the culprit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from scrapy_rep.engine.components import culprit_of
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.secrecy import bare, without_userinfo

from .failures import failure_of, shortage_in

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.engine.transfer import Transfer

    from .shortage import Shortage

PROXY = "proxy"
"""Scrapy's meta key."""

_ERROR_CHARACTERS = 300
_OF_CONNECTION = {Failure.DNS, Failure.REFUSED, Failure.TIMEOUT, Failure.NETWORK}
# Failures before the head of an answer that are those of a proxy. Over https, a connection that was
# reset or has wrong certificates may be that of the site, behind the proxy.
_OF_PROXY = {
    "http": {*_OF_CONNECTION, Failure.RESET, Failure.TLS},
    "https": _OF_CONNECTION,
}


class ProxyRefusedError(Exception):
    """A proxy requires credentials."""


class FaultKind(Enum):
    """The kinds of failures, which differ in whether another try may help."""

    BROKE = "a middleware of the project broke the request"
    DROPPED = "a middleware of the project dropped the request"
    PROXY = "the proxy cannot be reached, or refuses the connection"
    CREDENTIALS = "the proxy requires credentials"
    SHORTAGE = "this machine is short of open files, ports or memory"


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure on the crawl's own side.

    Attributes:
        kind: what failed.
        culprit: the class, file and line of the middleware; or the proxy, without credentials.
        error: the exception, in words.
        raised: the exception.
        retry_seconds: when to try again; 0 for the usual time.
    """

    kind: FaultKind
    culprit: str
    error: str
    raised: BaseException = field(repr=False, compare=False)
    retry_seconds: float = 0.0

    def __str__(self) -> str:
        """Its culprit and its error, in one line."""
        return f"{self.culprit}: {self.error}"

    @property
    def may_pass(self) -> bool:
        """Whether it may end while the crawl waits."""
        return self.kind is FaultKind.PROXY or self.retry_seconds > 0


def fault_of(
    transfer: Transfer, request: Request, error: Exception, shortage: Shortage
) -> Fault | None:
    """The fault of our own side that made a request fail; None for a failure of the site.

    `request` is as it was sent.
    """
    if name := shortage_in(error):
        seconds = shortage.pause_seconds(error)
        return Fault(FaultKind.SHORTAGE, name, _words(error), error, seconds)
    if transfer.error is None:
        culprit = culprit_of(error)
        if culprit is None:
            return None
        kind = FaultKind.DROPPED if isinstance(error, IgnoreRequest) else FaultKind.BROKE
        return Fault(kind, culprit, _words(error), error)
    proxy = bare(str(request.meta.get(PROXY) or ""))
    if proxy and isinstance(error, ProxyRefusedError):
        return Fault(FaultKind.CREDENTIALS, proxy, "it answers 407", error)
    failure, of_proxy = failure_of(transfer.error), _OF_PROXY.get(request.url.partition(":")[0], ())
    if not proxy or transfer.has_head or failure not in of_proxy:
        return None
    return Fault(FaultKind.PROXY, proxy, f"{failure.value}, {_words(error)}", error)


def failure_by(fault: Fault | None, error: BaseException) -> Failure:
    """The failure that an exception stands for: `local` with a fault of our own."""
    return failure_of(error) if fault is None else Failure.LOCAL


def _words(error: BaseException) -> str:
    text = " ".join(without_userinfo(f"{type(error).__name__}: {error}").split())
    return text[:_ERROR_CHARACTERS]
