"""Connections to Redis that give the replies to some commands, or fail within a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scrapy_rep.protocol.errors import ConfigurationError

Value = TypeVar("Value")
Argument = str | bytes | int | float

_TIMEOUT_SECONDS = 0.25  # without the next reply
_CONNECT_SECONDS = 4 * _TIMEOUT_SECONDS  # redis-py asks for several things at the beginning
_HELD_UP_SECONDS = 0.05  # a timer this late shows that our own event loop stood still
_HELD_UP_TIMES = 3


@dataclass(slots=True)
class _Batch:
    """Commands that are sent together, and the replies that came so far."""

    commands: list[tuple[Argument, ...]]
    replies: list[Any] = field(default_factory=list)


class Connections:
    """A few connections to one Redis.

    Attributes:
        address: where Redis is, for people; without a password.
    """

    def __init__(self, url: str, count: int) -> None:
        """Prepare at most so many connections; the first commands connect.

        Raises:
            ConfigurationError: redis-py is not installed, or the URL is wrong.
        """
        self._pool = _pool(url, count)
        self.address = _address(self._pool.connection_kwargs)

    async def close(self) -> None:
        """Disconnect."""
        await self._pool.disconnect()

    async def sent(self, commands: list[tuple[Argument, ...]]) -> list[Any]:
        """The replies to some commands, errors among them as values.

        Raises:
            Exception: there was no connection, or it broke, or a reply did not come in time. The
                commands may have been carried out.
        """
        connection = await _patiently(self._pool.get_connection(), _CONNECT_SECONDS)
        batch = _Batch(commands)
        try:
            await _patiently(
                _exchanged(connection, batch), _TIMEOUT_SECONDS, lambda: len(batch.replies)
            )
        except BaseException:
            await connection.disconnect(nowait=True)  # replies may come that nobody reads
            raise
        else:
            if any(code_of(reply) == "READONLY " for reply in batch.replies):
                await connection.disconnect()  # by this name there may be another master now
        finally:
            await self._pool.release(connection)
        return batch.replies


async def _exchanged(connection: Any, batch: _Batch) -> None:
    """Send a batch and read its replies."""
    await connection.send_packed_command(connection.pack_commands(batch.commands))
    while len(batch.replies) < len(batch.commands):
        batch.replies.append(await _reply(connection))


async def _reply(connection: Any) -> Any:
    """The next reply; an error is a value."""
    from redis.exceptions import ResponseError

    try:
        return await connection.read_response()
    except ResponseError as error:
        return error


async def _patiently(
    work: Awaitable[Value], seconds: float, progress: Callable[[], int] = lambda: 0
) -> Value:
    """The result of some work.

    A callback of a spider may hold the event loop for longer than Redis has time. Then the timer
    and the reply are there at once: a timer that is late gives the work its time again, three times
    at most.

    Raises:
        TimeoutError: it made no progress for so many seconds.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    chances = _HELD_UP_TIMES
    try:
        while True:
            before, due_at = progress(), loop.time() + seconds
            await asyncio.wait([task], timeout=seconds)
            if task.done():
                return task.result()
            is_held_up = loop.time() > due_at + _HELD_UP_SECONDS
            chances -= is_held_up
            if progress() == before and not (is_held_up and chances >= 0):
                raise TimeoutError(f"no reply in {seconds:g} seconds")
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


def _pool(url: str, count: int) -> Any:
    """Connections of redis-py, which leave time limits and retries to us.

    Raises:
        ConfigurationError: redis-py is not installed, or the URL is wrong.
    """
    try:
        from redis.asyncio import ConnectionPool
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise ConfigurationError(
            f'Redis needs a package that is not there ({error}): pip install "scrapy-rep[redis]"'
        ) from None
    try:
        pool: Any = ConnectionPool.from_url(
            url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=None,
            socket_connect_timeout=None,
        )
    except ValueError as error:
        raise ConfigurationError(f"REP_REDIS_URL cannot be used: {error}") from None
    pool.max_connections = count  # a URL may name a number as well, of which nobody would know
    pool.connection_kwargs["decode_responses"] = False
    return pool


def _address(options: Mapping[str, Any]) -> str:
    place = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    return f"{place}/{options.get('db') or 0}"


def is_unknown(reply: object) -> bool:
    """Whether a reply says that Redis does not know the script."""
    from redis.exceptions import NoScriptError

    return isinstance(reply, NoScriptError)


def code_of(error: object) -> str:
    """What redis-py cuts off the front of an error, as far as it has classes for it."""
    codes = {
        "NoScriptError": "NOSCRIPT ",
        "OutOfMemoryError": "OOM ",
        "ReadOnlyError": "READONLY ",
        "NoPermissionError": "NOPERM ",
        "MovedError": "MOVED ",
        "AskError": "ASK ",
    }
    return codes.get(type(error).__name__, "")
