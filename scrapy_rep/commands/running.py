"""One run of a subcommand: what it may raise, and what becomes of that."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from types import ModuleType

from scrapy.settings import Settings

from .terminal import Terminal

OK = 0
FOUND = 1
USAGE = 2
UNREACHABLE = 3
INTERNAL = 70
"""Exit statuses: what was asked about is fine; is not; was asked wrongly; could not be had."""

_INTERRUPTED = 130


class CommandError(Exception):
    """What ends a subcommand, in words for the user, and the exit status."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status


def run(name: str, module: ModuleType, options: Namespace, settings: Settings) -> int:
    """Run a subcommand to its end, without a traceback for what is wrong with its input."""
    from scrapy_rep.cache.base import StoreError
    from scrapy_rep.protocol.errors import RepError

    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        status: int = module.run(options, settings, terminal)
        terminal.flush()
    except CommandError as error:
        terminal.complain(f"scrapy rep {name}: {error}")
        return error.status
    except (RepError, StoreError) as error:
        terminal.complain(f"scrapy rep {name}: {error}")
        return USAGE
    except BrokenPipeError:  # the reader has had enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status
