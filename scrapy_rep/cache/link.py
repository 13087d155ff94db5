"""The connection to Redis: it runs scripts there, for the store and for the queue of a fleet.

    link = Link("redis://localhost:6379/0")
    link.open()
    reply = await link.run(Script("return redis.call('GET', KEYS[1])"), ["rep:{h}:p"])
    await link.close()

Rules for the next author:

1. Callers see `StoreError` and nothing else: `LinkDownError` if Redis cannot be reached, and the
   base class if it answered with an error. A script whose reply was lost may have run.
2. Calls beyond the connections wait in a queue. A full queue is no outage: only connections that
   break, and replies that do not come, are.
3. In an outage every call fails at once. One probe at a time asks whether Redis is back. Callers
   that would rather wait a moment than go on without Redis ask `comes_back`, and call again.
4. A call that is cancelled takes nothing with it: its batch goes on, and its reply is dropped. So
   no reply can ever be taken for that of another call.
5. Two calls that wait at the same time may run in either order: await the first to be sure.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .base import StoreError
from .connections import Argument, Connections, code_of, is_unknown

logger = logging.getLogger(__name__)

_SENDERS = 2  # one alone would have short scripts wait for the replies of a long one
_BATCH_CALLS = 32
_BATCH_OCTETS = 1 << 18
_PROBE_SECONDS = (0.1, 2.0)  # between probes in an outage: at first, at last
_BLIP_SECONDS = 1.5  # an outage that is over sooner is waited for by those who ask
_STEADY_SECONDS = 10.0  # a link that breaks sooner after an outage goes on with the longer pause
_CLOSE_SECONDS = 2.0  # for what is queued when the link closes


class LinkDownError(StoreError):
    """Redis cannot be reached, or does not answer in time."""


class Script:
    """A script in Lua; Redis knows it by its digest."""

    __slots__ = ("digest", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(slots=True, eq=False)
class _Call:
    """A script to run, and who waits for its reply."""

    script: Script
    keys: Sequence[Argument]
    arguments: Sequence[Argument]
    reply: asyncio.Future[Any]

    @property
    def command(self) -> tuple[Argument, ...]:
        return ("EVALSHA", self.script.digest, len(self.keys), *self.keys, *self.arguments)

    @property
    def octets(self) -> int:
        return sum(len(part) for part in self.arguments if isinstance(part, (str, bytes)))


class Link:
    """A few connections to one Redis, used from one event loop.

    Attributes:
        is_up: whether Redis answered last, or was not asked yet.
        address: where Redis is, for people; without a password.
    """

    def __init__(self, url: str, *, extra: Mapping[str, Any] | None = None) -> None:
        """Prepare the connections; the first call connects.

        Args:
            url: redis://, rediss:// or unix://, as redis-py reads it.
            extra: goes with every log record.

        Raises:
            ConfigurationError: redis-py is not installed, or the URL is wrong.
        """
        self._connections = Connections(url, _SENDERS + 1)  # one is the probe's
        self._extra = extra
        self.address = self._connections.address
        self.is_up = True
        self._reason = "the link is closed"
        self._user_count = 0
        self._is_closed = False
        self._queue: deque[_Call] = deque()
        self._senders: set[asyncio.Task[None]] = set()
        self._probe: asyncio.Task[None] | None = None
        self._pause_seconds = _PROBE_SECONDS[0]
        self._gone_at = self._back_at = 0.0
        self._is_told = False
        self._is_back = asyncio.Event()
        self._listeners: list[Callable[[bool], None]] = []
        self._refusals: set[str] = set()

    def open(self) -> None:
        """Count one more user; each closes the link once."""
        self._user_count += 1

    async def close(self) -> None:
        """End the link with its last user; what is queued may still run for a moment."""
        self._user_count -= 1
        if self._user_count > 0 or self._is_closed:
            return
        if self._senders:
            await asyncio.wait(self._senders, timeout=_CLOSE_SECONDS)
        self._is_closed = True
        tasks = [*self._senders, *([self._probe] if self._probe is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._fail(self._queue, "the link is closed")
        self._queue.clear()
        await self._connections.close()

    def listen(self, listener: Callable[[bool], None]) -> None:
        """Have a function called when Redis goes (False) and when it is back (True)."""
        self._listeners.append(listener)

    async def comes_back(self) -> bool:
        """Whether Redis is up; waits for it if it went less than a moment ago."""
        left = self._gone_at + _BLIP_SECONDS - asyncio.get_running_loop().time()
        if not self.is_up and not self._is_closed and left > 0:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._is_back.wait(), left)
        return self.is_up

    async def run(
        self, script: Script, keys: Sequence[Argument], arguments: Sequence[Argument] = ()
    ) -> Any:
        """What a script gives; strings come as bytes.

        Raises:
            LinkDownError: Redis cannot be reached; the script may have run all the same.
            StoreError: Redis answered with an error.
        """
        if self._is_closed or not self.is_up:
            raise LinkDownError(f"Redis at {self.address}: {self._reason}")
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append(_Call(script, keys, arguments, reply))
        if len(self._senders) < _SENDERS:
            sender = asyncio.create_task(self._serve())
            self._senders.add(sender)
            # One that is cancelled before it begins does not come to the end of `_serve`.
            sender.add_done_callback(self._senders.discard)
        return await reply

    async def _serve(self) -> None:
        """Send what is queued, batch by batch, over one connection at a time."""
        while self._queue and self.is_up:
            calls = self._next_calls()
            try:
                await self._run(calls)
            except Exception as error:  # noqa: BLE001 - of redis-py, of sockets, of a bad URL
                self._go_down(error)
                self._fail(calls, self._reason)
            except asyncio.CancelledError:
                self._fail(calls, "the link is closed")
                raise
        # Now, and not in a callback: one who has just got a reply may call again before that, and
        # would take both senders for busy.
        self._senders.discard(asyncio.current_task())

    def _next_calls(self) -> list[_Call]:
        calls: list[_Call] = []
        octets = 0
        while self._queue and len(calls) < _BATCH_CALLS and octets < _BATCH_OCTETS:
            call = self._queue.popleft()
            if not call.reply.done():  # nobody waits for it any more
                calls.append(call)
                octets += call.octets
        return calls

    async def _run(self, calls: list[_Call]) -> None:
        if not calls:
            return
        replies = await self._connections.sent([call.command for call in calls])
        again = [call for call, reply in zip(calls, replies, strict=True) if is_unknown(reply)]
        for call, reply in zip(calls, replies, strict=True):
            if call not in again:
                self._settle(call, reply)
        if again:
            # A Redis that was restarted knows no script.
            loads = [("SCRIPT", "LOAD", text) for text in {call.script.text for call in again}]
            replies = await self._connections.sent([*loads, *(call.command for call in again)])
            for call, reply in zip(again, replies[len(loads) :], strict=True):
                self._settle(call, reply)

    def _settle(self, call: _Call, reply: Any) -> None:
        if call.reply.done():
            return
        if not isinstance(reply, Exception):
            call.reply.set_result(reply)
            return
        words = f"{code_of(reply)}{reply}"
        self._tell_once(words)
        call.reply.set_exception(StoreError(f"Redis at {self.address}: {words}"))

    def _tell_once(self, words: str) -> None:
        kind = words.split(" ", 1)[0]
        if kind not in self._refusals:
            self._refusals.add(kind)
            logger.warning("Redis at %s refuses: %s", self.address, words, extra=self._extra)

    def _fail(self, calls: Sequence[_Call] | deque[_Call], reason: str) -> None:
        for call in calls:
            if not call.reply.done():
                call.reply.set_exception(LinkDownError(f"Redis at {self.address}: {reason}"))

    def _go_down(self, error: BaseException) -> None:
        self._reason = _words_of(error)
        self._fail(self._queue, self._reason)
        self._queue.clear()
        if not self.is_up:
            return
        self.is_up = False
        self._is_back.clear()
        self._gone_at = asyncio.get_running_loop().time()
        if self._gone_at - self._back_at > _STEADY_SECONDS:
            self._pause_seconds = _PROBE_SECONDS[0]
        self._probe = asyncio.create_task(self._probed())
        self._tell(is_up=False)

    async def _probed(self) -> None:
        """Half-open: one PING at a time, until one is answered."""
        while not await self._is_answered():
            self._warn_once()
        self.is_up = True
        self._back_at = asyncio.get_running_loop().time()
        if self._is_told:
            self._is_told = False
            logger.warning("Redis at %s answers again", self.address, extra=self._extra)
        self._is_back.set()
        self._tell(is_up=True)

    async def _is_answered(self) -> bool:
        await asyncio.sleep(self._pause_seconds * random.uniform(0.75, 1.25))  # noqa: S311
        self._pause_seconds = min(2 * self._pause_seconds, _PROBE_SECONDS[1])
        try:
            (reply,) = await self._connections.sent([("PING",)])
        except Exception as error:  # noqa: BLE001 - of redis-py, of sockets, of a bad URL
            reply = error
        if isinstance(reply, Exception):
            self._reason = _words_of(reply)
            return False
        return True

    def _warn_once(self) -> None:
        if not self._is_told:
            self._is_told = True
            logger.warning(
                "Redis at %s does not answer (%s); it is tried again until it does",
                self.address,
                self._reason,
                extra=self._extra,
            )

    def _tell(self, *, is_up: bool) -> None:
        for listener in self._listeners:
            listener(is_up)


def _words_of(error: BaseException) -> str:
    return str(error) or type(error).__name__
