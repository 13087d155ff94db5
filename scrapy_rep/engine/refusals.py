"""Logs a wrong setting or argument, which stops a crawl at its start, in one line.

Scrapy does not catch such an error, and documents no way for a component to stop a crawl with an
error. asyncio, Twisted or the engine would log it, each with a long traceback.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from twisted.logger import globalLogBeginner, globalLogPublisher
from twisted.python.log import PythonLoggingObserver, theLogPublisher

from scrapy_rep.protocol.errors import ConfigurationError

logger = logging.getLogger(__name__)

_ENGINE = "scrapy.core.engine"
_REPORTERS = ("asyncio", "twisted", _ENGINE)
_HEADING = "Unhandled error in Deferred:"  # of Twisted, as a record before that of the error
_TOLD = "is_told"  # an attribute, as garbage is logged, too, and has no weak references any more


@contextmanager
def refusals_in_one_line(*, at_once: bool = False) -> Iterator[None]:
    """Log a `ConfigurationError` that the block raises, and nothing catches, in one line.

    With `at_once`, it is logged in any case: code that catches the errors of a crawl would see
    another one if Scrapy fails again when it cleans up.
    """
    for name in _REPORTERS:
        logging.getLogger(name).addFilter(_FILTER)  # once: a filter is not added again
    try:
        yield
    except ConfigurationError as error:
        _log_once()
        if at_once:
            _tell(error)
        raise


def _tell(error: ConfigurationError) -> None:
    if not hasattr(error, _TOLD):
        setattr(error, _TOLD, True)
        # The cause was raised by foreign code, such as a class that the user names.
        logger.error("%s", error, exc_info=error.__cause__)


def _log_once() -> None:
    """Keep Twisted from writing errors also to the error stream, if they go to the log.

    It does so until something begins its logging, and Scrapy never does.
    """
    observers = [getattr(one, "__self__", None) for one in theLogPublisher.observers]
    to_stream = getattr(globalLogBeginner, "_temporaryObserver", None)
    if to_stream and any(isinstance(one, PythonLoggingObserver) for one in observers):
        globalLogPublisher.removeObserver(to_stream)


def _is_of_engine(error: BaseException) -> bool:
    """Whether Scrapy's engine raised an exception, and no code of the project."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_globals.get("__name__") == _ENGINE


class _InOneLine(logging.Filter):
    """Replaces a record of our error by one of our logger."""

    def __init__(self) -> None:
        super().__init__()
        self._heading: logging.LogRecord | None = None  # held back until the record of its error

    def filter(self, record: logging.LogRecord) -> bool:
        heading, self._heading = self._heading, None
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and _is_of_engine(error):
            error = error.__context__  # it failed again when it cleaned up
        if isinstance(error, ConfigurationError):
            _tell(error)
            return False
        if heading is not None:
            logging.getLogger(heading.name).callHandlers(heading)
        if record.exc_info or record.getMessage() != _HEADING:
            return True
        self._heading = record
        return False


_FILTER = _InOneLine()
