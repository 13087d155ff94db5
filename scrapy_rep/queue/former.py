"""Where values of this package lived before, for requests that earlier versions left in a `JOBDIR`.

Spiders keep our values in the meta of requests: an `Origin`, the verdict of a page. Scrapy writes
requests to disk as pickles, and a pickle names the module of each class. A request whose class is
not found there is lost. So a module that moves leaves its former name here.
"""

from __future__ import annotations

import sys
from importlib import import_module

_ROOT = "scrapy_rep"
_MOVED = {
    "protocol.origin": "protocol.access.origin",
    "protocol.records": "protocol.extensions.records",
    "protocol.findings": "analysis.findings",
    "protocol.lint.codes": "analysis.checks.codes",
}
"""Former name: the name of today."""

_SPREAD = {"protocol.access": "protocol.access.events"}
"""Modules that are packages now: where what they held is today."""


def know_former_names() -> None:
    """Have pickles find classes by the names of the modules that they lived in before."""
    for former, today in _MOVED.items():
        sys.modules.setdefault(f"{_ROOT}.{former}", import_module(f"{_ROOT}.{today}"))
    for former, today in _SPREAD.items():
        package, module = (import_module(f"{_ROOT}.{name}") for name in (former, today))
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                vars(package).setdefault(name, value)
