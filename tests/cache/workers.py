"""The work of processes that share one store.

`write` writes entries, and reads those of others, until it is killed or the other end of its pipe
is closed. It logs a line for each acknowledged entry. `fetch` gets a policy for
every origin as a file fetch does, with a line of the common log in the place of a
fetch; in the place of a file it takes the URL of a Redis.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

from scrapy_rep.cache.base import Found, Leased, Store
from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Answer
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import Act, PolicyOptions, learn, standing
from tests.cache.samples import body_of, file_entry
from tests.redis_server import a_loop, redis_store

ORIGINS = 40  # of each writer: few enough that entries are replaced, many enough for many pages
LIMIT_OCTETS = 1 << 30


def origin_of(writer: int, number: int) -> Origin:
    """One of a writer's origins."""
    return Origin("http", f"w{writer}-{number % ORIGINS}", 80)


def body_for(origin: Origin, number: int) -> bytes:
    """A body with a digest and its origin, of many sizes."""
    filling = random.Random(f"{origin}{number}").randbytes((number * 977) % 20_000)
    text = b"%s %d " % (str(origin).encode(), number)
    return hashlib.sha256(text + filling).digest() + text + filling


def number_in(entry: Entry) -> int:
    """The number in a body; ValueError if the body is torn."""
    body = body_of(entry) or b""
    name, number, _ = body[32:].split(b" ", 2)
    if name.decode() != str(entry.origin) or body != body_for(entry.origin, int(number)):
        raise ValueError(f"{entry.origin}: torn")
    return int(number)


def write(path: Path, log_path: Path, writer: int, first: int, until: Connection) -> None:
    """Write, acknowledge, and look at what others wrote."""
    log = _log(log_path)
    store = SqliteStore(path, LIMIT_OCTETS)
    lots = random.Random()
    number = first
    while not until.poll():
        origin = origin_of(writer, number)
        entry = file_entry(origin, at=float(number), body=body_for(origin, number))
        store.commit(entry, None).result()
        os.write(log, b"%d\n" % number)
        number += 1
        seen = store.peek(origin_of(lots.randrange(4), lots.randrange(ORIGINS)))
        if seen is not None:
            number_in(seen)
    store.close()


def fetch(place: str, log_path: Path, seed: int, count: int) -> None:
    """Get a policy for every origin, in an order of its own."""
    log = _log(log_path)
    origins = [Origin("http", f"h{number}", 80) for number in range(count)]
    random.Random(seed).shuffle(origins)
    with ExitStack() as undo:
        store: Store
        if place.startswith("redis://"):
            local = MemoryStore(LIMIT_OCTETS)
            store = redis_store(place, local, undo.enter_context(a_loop()))
        else:
            store = SqliteStore(Path(place), LIMIT_OCTETS)
        for origin in origins:
            _settle(store, origin, lambda origin=origin: os.write(log, f"{origin}\n".encode()))  # type: ignore[misc]
        closing = store.close()
        if closing is not None:
            closing.result()


def _settle(store: Store, origin: Origin, ask: Callable[[], object]) -> None:
    rules, pause = PolicyOptions(), 0.002
    while True:
        claim = store.claim(origin, seconds=15, fresh_seconds=0.0).result()
        if isinstance(claim, Found):
            assert standing(claim.entry.known, time.time(), rules).act is Act.USE
            return
        if isinstance(claim, Leased):
            break
        time.sleep(min(pause, claim.wait_seconds))
        pause = min(2 * pause, 0.1)
    ask()
    time.sleep(0.001)
    known = claim.entry.known if claim.entry is not None else file_entry(origin).known
    answer = Answer(200, b"User-agent: *\n", (origin.robots_txt_uri,))
    known = learn(known, answer, time.time(), rules.limits)
    store.commit(Entry(origin, known), claim.lease).result()


def _log(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
