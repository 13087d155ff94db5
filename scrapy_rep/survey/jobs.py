"""A survey on one machine: tasks over processes, and what comes back, in the order of the input.

A process reads the captures of a task and adds them up; the sum goes back, and with it the rows of
facts if they are wanted. Only a few tasks are under way at a time, so that memory does not grow
with the input, however fast it is read.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from scrapy_rep.survey.inputs.tasks import Task

from .aggregate import Aggregate, Remembered
from .captures import Bad, Capture, row_of

_UNDER_WAY = 3  # tasks for each process


@dataclass(frozen=True, slots=True)
class SurveyWanted:
    """What a survey is to find out.

    Attributes:
        lint: whether to lint every file.
        rows: whether the facts of each capture are wanted, too.
        strata: the stratum of each host that has one.
    """

    lint: bool = False
    rows: bool = False
    strata: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class SurveyPart:
    """What some captures say.

    Attributes:
        aggregate: all together.
        rows: the facts of each, if they were wanted.
    """

    aggregate: Aggregate = field(default_factory=Aggregate)
    rows: list[dict[str, Any]] = field(default_factory=list)


class SurveyWorker:
    """Reads captures; remembers the facts of files that it has seen."""

    def __init__(self, wanted: SurveyWanted) -> None:
        self._wanted = wanted
        self._read = Remembered(with_lint=wanted.lint)

    def part(self, captures: Iterable[Capture | Bad]) -> SurveyPart:
        """What some captures say."""
        part = SurveyPart()
        for counted in part.aggregate.counting(captures, self._read, self._wanted.strata):
            if self._wanted.rows:
                part.rows.append(row_of(*counted))
        return part


_worker: SurveyWorker | None = None


def _begin(wanted: SurveyWanted) -> None:
    """Make the worker of this process; an interrupt is for the process that waits for it."""
    global _worker  # noqa: PLW0603 - what a process of a pool remembers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = SurveyWorker(wanted)


def _do(task: Task) -> SurveyPart:
    assert _worker is not None  # noqa: S101 - `_begin` has made it
    return _worker.part(task.captures())


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put an interrupt off until this is done.

    Another thread may take the signal for this one, so that a mask alone puts nothing off; and what
    begins meanwhile, threads and processes, inherits the mask alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python interrupts no other thread
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    has_mask = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if has_mask else set()
    try:
        yield
    finally:
        if has_mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
    if came:
        signal.raise_signal(signal.SIGINT)


def parts_of(tasks: Iterable[Task], wanted: SurveyWanted, jobs: int) -> Iterator[SurveyPart]:
    """The parts of all tasks, in their order.

    Raises:
        InputError: an input cannot be read; StoreError: nor can a store.
    """
    if jobs == 1:
        worker = SurveyWorker(wanted)
        yield from (worker.part(task.captures()) for task in tasks)
        return
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(wanted,)
    )
    under_way: deque[Future[SurveyPart]] = deque()
    try:
        for task in tasks:
            with uninterrupted():  # a process that is half begun would be waited for, for ever
                under_way.append(pool.submit(_do, task))
            if len(under_way) >= jobs * _UNDER_WAY:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
