"""The requests of each slot that are under way: from the queue to the end of their download."""

from __future__ import annotations

from collections.abc import Collection

from scrapy import Request


class UnderWay:
    """Counts requests by slot: those in the middlewares, and those that reached the downloader.

    We count them ourselves: Scrapy's own set still holds a request while its signal tells that the
    request left.

    Attributes:
        out: the requests that were handed out and are still in the middlewares, with their slots.
        out_counts: how many these are, by slot.
    """

    def __init__(self) -> None:
        self.out: dict[Request, str] = {}
        self.out_counts: dict[str, int] = {}
        self._inside: dict[Request, str] = {}
        self._inside_counts: dict[str, int] = {}

    def hand_out(self, request: Request, key: str) -> None:
        """The engine was given a request, which now goes through the middlewares."""
        self.out[request] = key
        self.out_counts[key] = self.out_counts.get(key, 0) + 1

    def is_out(self, request: Request) -> bool:
        """Whether a request was handed out and is still in the middlewares."""
        return request in self.out

    def arrive(self, request: Request, key: str) -> None:
        """A request has come from the middlewares to the slot that it was handed out for."""
        del self.out[request]
        if self.out_counts[key] > 1:  # as of each request, so without another call
            self.out_counts[key] -= 1
        else:
            del self.out_counts[key]
        if request not in self._inside:
            self._inside[request] = key
            self._inside_counts[key] = self._inside_counts.get(key, 0) + 1

    def key_of(self, request: Request, key: str) -> str:
        """The slot that a request was handed out for; `key` if it was not handed out."""
        return self.out.get(request, key)

    def come_back(self, request: Request) -> str:
        """A request has left the middlewares; returns the slot that it was handed out for."""
        key = self.out.pop(request)
        _take_one(self.out_counts, key)
        return key

    def ended(self, active: Collection[Request]) -> list[Request]:
        """The requests that ended in the middlewares; `active` are those that the engine knows."""
        if type(active) is set and active.issuperset(self.out):  # as nearly always, and fast
            return []
        return [request for request in self.out if request not in active]

    def begin(self, request: Request, key: str) -> None:
        """A request has reached the downloader; it counts for the slot it was handed out for."""
        if request not in self._inside:
            key = self._inside[request] = self.key_of(request, key)
            self._inside_counts[key] = self._inside_counts.get(key, 0) + 1

    def end(self, request: Request) -> str | None:
        """A request has left the downloader; returns the slot it counted for, if it did."""
        key = self._inside.pop(request, None)
        if key is not None:
            if self._inside_counts[key] > 1:
                self._inside_counts[key] -= 1
            else:
                del self._inside_counts[key]
        elif request in self.out:  # nobody has noticed that it came
            key = self.come_back(request)
        return key

    def count(self, key: str) -> int:
        """How many requests of a slot are under way in all.

        Those that no queue handed out are among them as far as `begin` was told of them.
        """
        return self.out_counts.get(key, 0) + self._inside_counts.get(key, 0)


def _take_one(counts: dict[str, int], key: str) -> None:
    """Count one less; a count of zero takes no memory."""
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        del counts[key]
