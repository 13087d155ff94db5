"""One run of a subcommand: its errors, and their exit statuses."""

from __future__ import annotations

import logging
import os
import sys
from argparse import Namespace
from contextlib import suppress
from types import ModuleType

from scrapy.settings import Settings

from .terminal import CURRENT, OutputError, Terminal

OK = 0
FOUND = 1
USAGE = 2
UNREACHABLE = 3
UNSETTLED = 4
INTERNAL = 70
UNWRITABLE = 74
"""Exit statuses: all is well; something was found; wrong usage; not reachable; not settled, being
too much work; a bug of ours; the output cannot be written."""

INTERRUPTED = 130


class CommandError(Exception):
    """An error that ends a subcommand, in words for the user, with the exit status."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status


class Onward:
    """Goes on after an error with one of several sources: it is told, and its status is kept.

    ::

        onward = Onward("lint", terminal)
        with onward:
            ...
    """

    def __init__(self, name: str, terminal: Terminal) -> None:
        self._name = name
        self._terminal = terminal
        self.status = OK

    def __enter__(self) -> None:
        """Begin with one of them."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Tell its error, if it is one for the user."""
        if not isinstance(error, CommandError):
            return False
        self.complain(error)
        return True

    def complain(self, error: CommandError) -> None:
        """Tell an error."""
        self._terminal.complain(f"scrapy rep {self._name}: {error}")
        self.status = max(self.status, error.status)


def run(  # noqa: PLR0911 - a status for each kind of end
    name: str, module: ModuleType, options: Namespace, settings: Settings
) -> int:
    """Run a subcommand; errors of the user's are shown without a traceback."""
    from scrapy_rep.cache.base import StoreError
    from scrapy_rep.cache.link import LinkDownError
    from scrapy_rep.protocol.errors import RepError

    # Without any handler, Python would write warnings to standard error beside our words.
    logging.getLogger("scrapy_rep").addHandler(logging.NullHandler())
    terminal = Terminal(sys.stdout, sys.stderr)
    CURRENT.set(terminal)
    try:
        status: int = module.run(options, settings, terminal)
        terminal.flush()
    except CommandError as error:
        terminal.complain(f"scrapy rep {name}: {error}")
        return error.status
    except LinkDownError as error:
        words = str(error).rstrip(".")
        terminal.complain(
            f"scrapy rep {name}: {words}. It does not answer: start Redis, or correct REP_REDIS_URL"
        )
        return UNREACHABLE
    except (RepError, StoreError) as error:
        terminal.complain(f"scrapy rep {name}: {error}")
        return USAGE
    except (OutputError, BrokenPipeError) as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):  # the reader has stopped reading, as `head` does
            return FOUND
        terminal.complain(f"scrapy rep {name}: {error}")
        return UNWRITABLE
    except KeyboardInterrupt:
        terminal.end_line()
        return INTERRUPTED
    return status


def _drop_output() -> None:
    """Let what is still to be written go nowhere: at its end, Python would complain about it."""
    with suppress(OSError, ValueError):
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
