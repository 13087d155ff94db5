"""Where a request waits for its turn among those that other processes send to its site."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.protocol.access.origin import Origin


class Gate(Protocol):
    """What keeps one pace over several processes."""

    @property
    def factor(self) -> int:
        """By how much this process is to be slower than the site allows."""

    def is_open(
        self,
        origin: Origin,
        delay_seconds: float,
        request: Request,
        *,
        is_awaited: Callable[[], bool] = ...,
    ) -> bool:
        """Whether a request need not wait; `is_awaited` tells if another waits for its answer."""

    async def wait(
        self,
        origin: Origin,
        delay_seconds: float,
        request: Request,
        *,
        is_awaited: Callable[[], bool] = ...,
    ) -> None:
        """Come back when it is the turn of a request."""

    def end(self, request: Request) -> None:
        """A request that had its turn has ended, or is not sent."""
