"""A survey on one machine: tasks are spread over processes, and results come in input order.

A process reads the captures of a task and adds them up. It returns the sum, and the rows of facts
if they are wanted. Only a few tasks are under way at a time, so that memory does not grow with the
input, however fast it is read.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from scrapy_rep.extras.survey.inputs.tasks import Task

from .aggregate import SurveyPart, SurveyReader

_UNDER_WAY = 3  # tasks for each process


_reader = SurveyReader()


def _begin(reader: SurveyReader) -> None:
    """Set the reader of this process, and leave interrupts to the main process."""
    global _reader  # noqa: PLW0603 - a process of a pool keeps it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _reader = reader


def _do(task: Task) -> SurveyPart:
    return _reader.part(task())


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay an interrupt until this block ends.

    Another thread may take the signal for this one, so a signal mask alone delays nothing; and new
    threads and processes inherit only the mask.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python interrupts the main thread only
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


def parts_of(tasks: Iterable[Task], reader: SurveyReader, jobs: int) -> Iterator[SurveyPart]:
    """Yield the parts of all tasks, in their order.

    Raises:
        InputError: an input cannot be read; StoreError: a store cannot be read.
    """
    if jobs == 1:
        yield from (reader.part(task()) for task in tasks)
        return
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(reader,)
    )
    under_way: deque[Future[SurveyPart]] = deque()
    try:
        for task in tasks:
            with uninterrupted():  # a half-started process would hang the pool
                under_way.append(pool.submit(_do, task))
            if len(under_way) >= jobs * _UNDER_WAY:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
