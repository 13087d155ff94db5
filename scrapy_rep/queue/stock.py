"""The requests of each lane, in memory or in a folder of the `JOBDIR`.

After a peek, some queues on disk write the next request over the data that is there. So what must
be known of a queued request is remembered when the request is pushed, or its file is closed and
opened after the peek. To take a request out and push it again would lose it with a crash between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrapy.pqueues import QueueProtocol, ScrapyPriorityQueue

from .files import Damage, Files, is_exhausted, priorities_in
from .targets import folder_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .files import GuardedQueue


class Stock(ScrapyPriorityQueue):
    """The requests of one lane: Scrapy's queue for one host, made to survive broken files."""

    def __init__(
        self,
        crawler: Crawler,
        files: Files,
        start_files: Files | None,
        folder: str,
        priorities: Iterable[int],
    ) -> None:
        self._damage = files.damage
        self._in_hand: Request | None = None  # one that was taken out and put back: the next one
        self.is_stuck = False
        self._opened: list[QueueProtocol] | None = None  # while files are opened
        super().__init__(
            crawler,
            cast("type[QueueProtocol]", files),
            folder,
            priorities,
            start_queue_cls=cast("type[QueueProtocol] | None", start_files),
        )

    def __len__(self) -> int:
        return super().__len__() + (self._in_hand is not None)

    def init_prios(self, startprios: Iterable[int]) -> None:
        """Open the files of these priorities; those that hold nothing are closed and deleted.

        Up to Scrapy 2.16, nobody else closes them.
        """
        opened = self._opened = []
        try:
            super().init_prios(startprios)
        finally:
            self._opened = None
            for queue in opened:
                if not queue:
                    queue.close()

    def qfactory(self, key: int) -> QueueProtocol:
        """Open the queue of a priority."""
        return self._note(super().qfactory(key))

    def _sqfactory(self, key: int) -> QueueProtocol:
        return self._note(super()._sqfactory(key))

    def _note(self, queue: QueueProtocol) -> QueueProtocol:
        if self._opened is not None:
            self._opened.append(queue)
        return queue

    def push(self, request: Request) -> None:
        """Take a request in.

        Raises:
            ValueError: it cannot be written to disk.
        """
        try:
            super().push(request)
        except OSError as error:
            if not self.key:
                raise
            raise ValueError(f"{self.key}: {error}") from error

    def take(self) -> Request | None:
        """The next request; None if there is none or it was lost.

        Also None if it cannot be read now; then `is_stuck` is set.
        """
        self.is_stuck = False
        if self._in_hand is not None:
            request, self._in_hand = self._in_hand, None
            return request
        before = self._damage.stuck_count
        try:
            found = self.pop()
        except Exception as error:  # noqa: BLE001 - or the same lane would come next again
            self._damage.found(self.key, error, len(self))
            self._forget()
            return None
        self.is_stuck = self._damage.stuck_count != before
        return found

    def put_back(self, request: Request) -> None:
        """Make a request that was taken out the next one again; it stays in memory."""
        self._in_hand = request

    def sample(self) -> Request | None:
        """One of the requests, which stays in the queue; None if none can be read.

        Of a queue on disk, the files are closed and opened after the look. A request that cannot be
        looked at is taken out and pushed again, and lost if the crawl is killed between the two. In
        a first-in-first-out queue, it is the last of its priority then.
        """
        if self._in_hand is None:
            seen = self._seen()
            if seen is not None or not self.key:
                return seen
        elif not self.key:
            return self._in_hand
        request = self.take()
        if request is None:
            return None
        try:
            self.push(request)
        except Exception:  # noqa: BLE001 - the disk is full, say; that is logged already
            self.put_back(request)
        else:
            self._reopen()
        return request

    def _seen(self) -> Request | None:
        """The next request, by a look that takes nothing; None if its queue has no such look."""
        # Scrapy's own `peek` fails where a priority has no requests left.
        queues = [
            (priority, queue)
            for kind in (self.queues, self._start_queues)
            for priority, queue in kind.items()
            if queue
        ]
        if not queues:
            return None
        _, queue = min(queues, key=itemgetter(0))
        try:
            return cast("GuardedQueue", queue).peek()
        except Exception:  # noqa: BLE001 - whoever takes the request counts what is damaged
            return None
        finally:
            if self.key:
                self._reopen()

    def _reopen(self) -> None:
        count = len(self)
        priorities = self.close()
        self._forget()
        try:
            self.init_prios(priorities)
        except Exception as error:  # noqa: BLE001 - the process has too many files open, say
            self._damage.found(self.key, error, count - len(self))

    def close(self) -> list[int]:
        """Close all files; returns the priorities of those that are left."""
        request, self._in_hand = self._in_hand, None
        try:
            if request is not None:
                self.push(request)
                request = None
            return super().close()
        except Exception as error:  # noqa: BLE001 - the other stocks have to be closed too
            self._damage.found(self.key, error, int(request is not None))
            return list(self.queues)

    def _forget(self) -> None:
        self.queues.clear()
        self._start_queues.clear()
        self.curprio = None


class Stocks:
    """The stocks of one queue, by the names of their lanes."""

    def __init__(self, crawler: Crawler, kind: Any, start_kind: Any, key: str) -> None:
        self._crawler = crawler
        self._key = key
        damage = Damage(crawler)
        self._damage = damage
        self._files = Files(kind, damage, is_on_disk=bool(key))
        self._start_files = start_kind and Files(start_kind, damage, is_on_disk=bool(key))
        self._unopened: dict[str, list[int]] = {}

    def open(self, name: str) -> Stock:
        """The stock of a new lane, with the requests that a killed crawl left in its folder.

        Raises:
            ValueError: the process has too many files open.
        """
        folder = self._folder(name)
        try:
            return self._stock(folder, priorities_in(folder) if folder else ())
        except OSError as error:
            raise ValueError(f"{folder}: {error}") from error

    def resume(self, name: str, priorities: Iterable[int]) -> Stock | None:
        """The requests that a crawl has left of a lane; None if none can be read.

        A file that cannot be opened stays in the state that `close` returns, for the next resume.

        Raises:
            OSError: the process has too many files open.
        """
        folder = self._folder(name)
        try:
            known = sorted({int(priority) for priority in priorities})
            stock = self._stock(folder, known)
        except Exception as error:
            if is_exhausted(error):
                raise
            self._damage.found(folder, error)
            return None
        has_failed = self._damage.has
        failed = [one for one in known if has_failed(f"{folder}/{one}", f"{folder}/{one}s")]
        if failed:
            self._unopened[name] = failed
        if stock:
            return stock
        self.remove(name, stock)
        return None

    def remove(self, name: str, stock: Stock) -> None:
        """Close the stock of a lane and delete its folder, as Scrapy does."""
        stock.close()
        if self._key:
            with suppress(OSError):  # a folder that is not empty stays
                Path(self._folder(name)).rmdir()

    def close(self, stocks: Mapping[str, Stock]) -> dict[str, list[int]]:
        """Close all stocks; returns what `resume` needs."""
        state = {name: stock.close() for name, stock in stocks.items()}
        for name, priorities in self._unopened.items():
            state[name] = sorted({*state.get(name, ()), *priorities})
        return state

    def _stock(self, folder: str, priorities: Iterable[int]) -> Stock:
        return Stock(self._crawler, self._files, self._start_files, folder, priorities)

    def _folder(self, name: str) -> str:
        return f"{self._key}/{folder_of(name)}" if self._key else ""
