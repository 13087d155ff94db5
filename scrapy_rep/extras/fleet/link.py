"""The connection to Redis: it runs scripts there, for the store and for the queue of a fleet.

    link = Link("redis://localhost:6379/0")
    link.open()
    reply = await link.run(Script("return redis.call('GET', KEYS[1])"), ["rep:{h}:p"])
    await link.close()

Rules for the next author:

1. Callers see only `StoreError`: `LinkDownError` if Redis cannot be reached, and the base class if
   Redis answered with an error. A script may have run although its reply was lost.
2. Calls wait while all connections are busy. That does not count as an outage: only broken
   connections and missing replies do.
3. In an outage every call fails at once. One probe at a time checks whether Redis is back. A caller
   that prefers a short wait to going on without Redis awaits `comes_back`, and calls again.
4. A cancelled call goes on in the background, and its reply is dropped. So no reply is ever given
   to another call.
5. Two calls that wait at the same time may run in either order: await the first to be sure.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from scrapy_rep.cache.base import StoreError
from scrapy_rep.protocol.errors import ConfigurationError

logger = logging.getLogger(__name__)

Value = TypeVar("Value")
Argument = str | bytes | int | float

_CONNECTIONS = 8
_CONNECT_TIMES = 3  # redis-py sends several commands on a new connection
_HELD_UP_SECONDS = 0.05  # a timer this late shows that our own event loop stood still
_HELD_UP_TIMES = 3
_PROBE_SECONDS = (0.1, 2.0)  # pauses between probes in an outage: first, longest
_BLIP_SECONDS = 1.5  # `comes_back` waits this long for the end of an outage
_STEADY_SECONDS = 10.0  # a link that breaks sooner after an outage keeps the longer pause
_CLOSE_SECONDS = 2.0  # the time limit for waiting calls when the link closes
_REPEAT_SECONDS = 60.0  # the warning about an outage is repeated after this time
_TIMEOUT = "REP_REDIS_TIMEOUT_SECONDS"


class LinkDownError(StoreError):
    """Redis cannot be reached, or does not answer in time."""

    @property
    def advice(self) -> str:
        """The advice for a user about this error."""
        return advice_on(self)


class Script:
    """A script in Lua; Redis knows it by its digest."""

    __slots__ = ("digest", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class Link:
    """A few connections to one Redis, used from one event loop.

    Attributes:
        is_up: whether Redis answered the last call, or there was no call yet.
        address: the address of Redis for messages, without a password.
    """

    def __init__(
        self,
        url: str,
        reply_seconds: float = 2.0,
        *,
        name: str = "scrapy-rep",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare the connections; the first call connects.

        Args:
            url: redis://, rediss:// or unix://, as redis-py reads it.
            reply_seconds: how long Redis may take for a reply (REP_REDIS_TIMEOUT_SECONDS).
            name: the name in CLIENT LIST, unless the URL has one (`?client_name=`).
            extra: the `extra` of every log record.

        Raises:
            ConfigurationError: redis-py is not installed, or the URL is wrong.
        """
        self._pool = _pool(url, re.sub(r"[^!-~]", "_", name))
        self._reply_seconds = reply_seconds
        self._has_tls = url.startswith("rediss:")
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self._extra = extra
        self.address = _address(self._pool.connection_kwargs)
        self.is_up = True
        self._reason = "the link is closed"
        self._user_count = 0
        self._is_closed = False
        self._probe: asyncio.Task[None] | None = None
        self._pause_seconds = _PROBE_SECONDS[0]
        self._gone_at = self._back_at = 0.0
        self._told_at: float | None = None
        self._is_back = asyncio.Event()
        self._listeners: list[Callable[[bool], None]] = []
        self._refusals: set[type] = set()

    def open(self) -> None:
        """Count one more user; each closes the link once."""
        self._user_count += 1

    async def close(self) -> None:
        """End the link with its last user; calls that wait may still run for a moment."""
        self._user_count -= 1
        if self._user_count > 0 or self._is_closed:
            return
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._drained(), _CLOSE_SECONDS)
        self._is_closed, self._reason = True, "the link is closed"
        for _ in range(_CONNECTIONS):
            self._free.release()  # wakes waiting calls, which find the link closed
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.wait([self._probe])
        await self._pool.disconnect()

    async def _drained(self) -> None:
        for _ in range(_CONNECTIONS):
            await self._free.acquire()

    def listen(self, listener: Callable[[bool], None]) -> None:
        """Call a function when an outage begins (False) and when it ends (True)."""
        self._listeners.append(listener)

    async def comes_back(self) -> bool:
        """Whether Redis is up; waits for it at the beginning of an outage."""
        left = self._gone_at + _BLIP_SECONDS - asyncio.get_running_loop().time()
        if not self.is_up and not self._is_closed and left > 0:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._is_back.wait(), left)
        return self.is_up

    async def run(
        self, script: Script, keys: Sequence[Argument], arguments: Sequence[Argument] = ()
    ) -> Any:
        """The reply of a script; strings are bytes.

        Raises:
            LinkDownError: Redis cannot be reached; the script may have run nevertheless.
            StoreError: Redis answered with an error.
        """
        self._check()
        return await asyncio.shield(self._run(script, len(keys), *keys, *arguments))

    async def _run(self, script: Script, *values: Argument) -> Any:
        from redis.exceptions import NoScriptError, OutOfMemoryError, ResponseError

        async with self._free:
            self._check()
            try:
                try:
                    return await self._reply("EVALSHA", script.digest, *values)
                except NoScriptError:  # a Redis that was restarted
                    await self._reply("SCRIPT", "LOAD", script.text)
                    return await self._reply("EVALSHA", script.digest, *values)
            except ResponseError as error:
                words = f"{type(error).__name__}: {error}{_command_in(script, error)}"
                failure = StoreError(f"Redis at {self.address}: {words}")
                if isinstance(error, OutOfMemoryError):
                    words = f"{words}; {advice_on(failure)}"
                self._tell_once(type(error), words)
                raise failure from error
            except Exception as error:  # of redis-py, of sockets, of a bad URL
                self._go_down(error)
                raise self._down() from error

    async def memory_policy(self) -> str:
        """The maxmemory-policy of the server; empty if it does not tell."""
        with suppress(Exception):  # a user may have no right to read it
            found = re.search(rb"maxmemory_policy:([\w-]+)", await self._reply("INFO", "memory"))
            return "" if found is None else found[1].decode()
        return ""

    def _check(self) -> None:
        if self._is_closed or not self.is_up:
            raise self._down()

    def _down(self) -> LinkDownError:
        return LinkDownError(f"Redis at {self.address}: {self._reason}")

    async def _reply(self, *command: Argument) -> Any:
        """The reply to a command; an error reply raises the exception of redis-py.

        Other exceptions mean a failed or broken connection, or that no reply came in time.
        The command may have been carried out.
        """
        from redis.exceptions import ReadOnlyError, ResponseError

        connection = await _patiently(
            self._pool.get_connection(),
            _CONNECT_TIMES * self._reply_seconds,
            "TLS connection" if self._has_tls else "reply",
        )
        try:
            return await _patiently(_replied(connection, command), self._reply_seconds)
        except BaseException as error:
            is_whole = isinstance(error, ResponseError)
            if not is_whole or isinstance(
                error, ReadOnlyError
            ):  # another server may be the master now
                await connection.disconnect(nowait=not is_whole)
            raise
        finally:
            await self._pool.release(connection)

    def _tell_once(self, kind: type, words: str) -> None:
        if kind not in self._refusals:
            self._refusals.add(kind)
            logger.warning("Redis at %s refuses: %s", self.address, words, extra=self._extra)

    def _go_down(self, error: BaseException) -> None:
        if not self.is_up or self._is_closed:
            return
        self._reason = _words_of(error)
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
            now = asyncio.get_running_loop().time()
            if self._told_at is None or now - self._told_at >= _REPEAT_SECONDS:
                self._told_at = now
                words = "Redis at %s does not answer (%s); it is tried again until it does"
                logger.warning(words, self.address, self._reason, extra=self._extra)
        self.is_up = True
        self._back_at = asyncio.get_running_loop().time()
        if self._told_at is not None:
            self._told_at = None
            logger.warning("Redis at %s answers again", self.address, extra=self._extra)
        self._is_back.set()
        self._tell(is_up=True)

    async def _is_answered(self) -> bool:
        await asyncio.sleep(self._pause_seconds * random.uniform(0.75, 1.25))  # noqa: S311
        self._pause_seconds = min(2 * self._pause_seconds, _PROBE_SECONDS[1])
        try:
            await self._reply("PING")
        except Exception as error:  # noqa: BLE001 - of redis-py, of sockets, of a bad URL
            self._reason = _words_of(error)
            return False
        return True

    def _tell(self, *, is_up: bool) -> None:
        for listener in self._listeners:
            listener(is_up)


async def _replied(connection: Any, command: tuple[Argument, ...]) -> Any:
    await connection.send_command(*command)
    return await connection.read_response()


async def _patiently(work: Awaitable[Value], seconds: float, what: str = "reply") -> Value:
    """The result of some work, within a time limit.

    A callback of a spider may block the event loop for longer than the limit. Then the timer fires
    together with the reply. So a timer that is late gives the work its time again.

    Raises:
        TimeoutError: it took longer.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    try:
        for _ in range(1 + _HELD_UP_TIMES):
            due_at = loop.time() + seconds
            await asyncio.wait([task], timeout=seconds)
            if task.done():
                return task.result()
            if loop.time() <= due_at + _HELD_UP_SECONDS:
                break
        raise TimeoutError(f"no {what} in {seconds:g} s ({_TIMEOUT})")
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


def redis_url(value: Any) -> str:
    """The URL of a Redis server, as redis-py reads it; empty for no Redis."""
    url = value.strip() if isinstance(value, str) else None
    if url is None:
        raise ValueError("must be a URL such as 'redis://localhost:6379/0', or '' for none")
    scheme, _, place = url.partition("://")
    if url and not (place and scheme in ("redis", "rediss", "unix")):
        raise ValueError("must begin with redis://, rediss:// (with TLS) or unix:// and say where")
    if scheme != "unix":
        _check_place(place)
    return url


def _check_place(place: str) -> None:
    """Check what follows the scheme; redis-py ignores a part of what it can't read."""
    userinfo, _, server = place.rpartition("@")
    if any(character in userinfo for character in "/?#@"):
        raise ValueError(
            "has a character before the last @ that must be percent-encoded: in a user name or "
            "password, write / as %2F, ? as %3F, # as %23 and @ as %40"
        )
    database = urlsplit(f"//{server}").path.strip("/")
    if database and not database.isdecimal():
        raise ValueError(f"has {database!r} for a database: give its number, such as /0")


def _pool(url: str, name: str) -> Any:
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
            f'Redis needs a missing package ({error}): pip install "scrapy-rep[redis]"'
        ) from None
    pool: Any = None
    try:
        pool = ConnectionPool.from_url(
            url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=None,
            socket_connect_timeout=None,
            redis_connect_func=partial(_introduce, name),
        )
        pool.connection_class(**pool.connection_kwargs)  # reads the options
    except (TypeError, ValueError) as error:
        words = re.sub(r".*unexpected keyword argument", "there is no option", str(error))
        raise ConfigurationError(f"REP_REDIS_URL cannot be used: {words}") from None
    for option in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        path = pool.connection_kwargs.get(option)
        if path and not Path(path).exists():
            raise ConfigurationError(f"REP_REDIS_URL: {option} names {path}, which is not there")
    pool.max_connections = _CONNECTIONS + 1  # one is for the probe; overrides a number in the URL
    pool.connection_kwargs["decode_responses"] = False
    return pool


async def _introduce(name: str, connection: Any) -> None:
    """Begin a connection, and set its name, if the user of Redis may do that."""
    from redis.exceptions import ResponseError

    await connection.on_connect()
    if not connection.client_name:
        await connection.send_command("CLIENT", "SETNAME", name)
        with suppress(ResponseError):
            await connection.read_response()


def _command_in(script: Script, error: Exception) -> str:
    """The command that a user of Redis may not run, if only its line in a script is known."""
    line = re.search(r"can't run this command.*user_script:(\d+)", str(error))
    command = line and re.search(r"call\('(\w+)'", script.text.splitlines()[int(line[1]) - 1])
    return f" ('{command[1].lower()}' command)" if command else ""


def _address(options: Mapping[str, Any]) -> str:
    place = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    return f"{place}/{options.get('db') or 0}"


_RIGHTS = "~rep:* +@read +@write +evalsha +script|load +ping +select +time"
# The advice on an error, by words in it.
_ADVICE = (
    (r"password|Authentication|NOAUTH", "correct the user name and the password in REP_REDIS_URL"),
    (r"DB index|Invalid Database", "give the number of a database that the server has, such as /0"),
    (r"mismatch", "use a host in REP_REDIS_URL that its certificate names"),
    (
        r"CERTIFICATE",
        "name the certificate of its authority: add ?ssl_ca_certs=/path/to/ca.pem to REP_REDIS_URL",
    ),
    (r"SSL|TLS", "start it, correct the address, or use redis:// for a server without TLS"),
    (
        r"closed by|reset by|Connection lost",
        "it may expect TLS: use rediss:// for it, or correct the address",
    ),
    (r"no reply", f"start it, correct the address, or raise {_TIMEOUT}"),
    (r"MOVED|MovedError", "give the address of the node that it names: the crawl's keys are there"),
    (
        r"NOPERM|NoPermission|permission|can't run this command",
        f"give its user at least these rights: {_RIGHTS} (ACL SETUSER), and ~<key> for start URLs",
    ),
    (r"ReadOnlyError|read only replica|MasterDown", "give the address of the master"),
    (r"loading the dataset|ClusterDown", "wait until it is ready"),
    (r"OOM|OutOfMemory", "raise maxmemory, lower REP_STORE_OCTETS, or delete other keys"),
    (r"", "start it, or correct the address in REP_REDIS_URL"),
)


_PASSING = r"loading the dataset|ReadOnlyError|read only replica|MasterDown|ClusterDown"


def passes(error: StoreError | None) -> bool:
    """Whether an error ends by itself: a server loads its data, or becomes the master."""
    return re.search(_PASSING, str(error)) is not None


def advice_on(error: StoreError) -> str:
    """The advice for a user about an error."""
    return next(
        words for pattern, words in _ADVICE if re.search(pattern, str(error), re.IGNORECASE)
    )


def _words_of(error: BaseException) -> str:
    return str(error) or type(error).__name__
