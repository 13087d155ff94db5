"""The requests of one lane in memory, for the two queues that Scrapy brings for that.

With Scrapy's classes, a lane is a priority queue and a queue for each priority, each guarded
against failures of its file. In memory nothing fails, and most origins have few requests. So here a
lane is a request, and a list for each priority once there is more than one. Other classes of queues
get a `Stock`, and so do queues on disk.
"""

from __future__ import annotations

from collections import deque

from scrapy import Request
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue

_KINDS: dict[object, bool] = {LifoMemoryQueue: False, FifoMemoryQueue: True}  # first in, first out

_Key = tuple[int, bool]  # the priority, the least first, and whether it is a start request


def is_plain(kind: object, start_kind: object) -> bool:
    """Whether these are the classes that a `MemoryStock` does the work of."""
    return kind in _KINDS and (start_kind is None or start_kind in _KINDS)


class MemoryStock:
    """The requests of one lane, in the order of `ScrapyPriorityQueue` over such queues.

    The highest priority comes first, and within one priority, start requests come last. Each
    operation costs O(1); only the end of a priority costs O(n) in the number of priorities.

    Attributes:
        count: how many there are.
        is_stuck: always False: a request in memory can be taken.
    """

    __slots__ = ("_first", "_is_fifo", "_lists", "_single", "_start_is_fifo", "count")

    is_stuck = False

    def __init__(self, kind: object, start_kind: object) -> None:
        self._is_fifo = _KINDS[kind]
        self._start_is_fifo = None if start_kind is None else _KINDS[start_kind]
        self._single: Request | None = None  # the only one; then there are no lists
        self._lists: dict[_Key, deque[Request]] | None = None
        self._first: _Key | None = None
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def push(self, request: Request) -> None:
        """Take a request in."""
        self.count += 1
        if self.count == 1:
            self._single = request
            return
        if self._single is not None:
            self._list_of(self._single).append(self._single)
            self._single = None
        self._list_of(request).append(request)

    def take(self) -> Request | None:
        """The next request; None if there is none."""
        request = self._single
        if request is not None:
            self._single = None
            self.count = 0
            return request
        if self._first is None or self._lists is None:
            return None
        requests = self._lists[self._first]
        request = requests.popleft() if self._takes_oldest(self._first) else requests.pop()
        self.count -= 1
        if not requests:
            del self._lists[self._first]
            self._first = min(self._lists, default=None)
        return request

    def put_back(self, request: Request) -> None:
        """Make a request that was taken out the next one of its priority again."""
        if not self.count:
            self.push(request)
            return
        self.count += 1
        if self._single is not None:
            self._list_of(self._single).append(self._single)
            self._single = None
        requests = self._list_of(request)
        if self._takes_oldest(self._key(request)):
            requests.appendleft(request)
        else:
            requests.append(request)

    def sample(self) -> Request | None:
        """One of the requests, which stays; None if there is none."""
        if self._single is not None or self._first is None or self._lists is None:
            return self._single
        requests = self._lists[self._first]
        return requests[0] if self._takes_oldest(self._first) else requests[-1]

    def close(self) -> list[int]:
        """Return the priorities that there are; there is nothing to close."""
        if self._single is not None:
            return [-self._single.priority]
        return list({priority for priority, _ in self._lists or ()})

    def _list_of(self, request: Request) -> deque[Request]:
        key = self._key(request)
        if self._lists is None:
            self._lists = {}
        requests = self._lists.get(key)
        if requests is None:
            requests = self._lists[key] = deque()
            if self._first is None or key < self._first:
                self._first = key
        return requests

    def _key(self, request: Request) -> _Key:
        if self._start_is_fifo is None:
            return -request.priority, False
        return -request.priority, bool(request.meta.get("is_start_request"))

    def _takes_oldest(self, key: _Key) -> bool:
        return bool(self._start_is_fifo) if key[1] else self._is_fifo
