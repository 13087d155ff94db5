"""Changes Scrapy's default settings in each Python process of a virtual environment.

`places.py` copies this file there, and a `.pth` file imports it. It changes nothing unless
`REP_SUITES_SETTINGS` contains settings as JSON. Processes that tests start inherit the variable.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_VARIABLE = "REP_SUITES_SETTINGS"
_MODULE = "scrapy.settings.default_settings"


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        vars(module).update(json.loads(os.environ[_VARIABLE]))


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


if os.environ.get(_VARIABLE):
    sys.meta_path.insert(0, _Finder())
