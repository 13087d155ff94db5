"""The layers: Scrapy's side, then the cache, then the protocol, then nothing.

::

    everything else of the package  ->  cache  ->  protocol  ->  effect-free standard library

Checked by reading every import statement, those inside functions too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import scrapy_rep

_PACKAGE = Path(scrapy_rep.__file__).parent
_ROOT = _PACKAGE.parent

# What the protocol may import of the standard library: what neither reads a clock, nor does I/O,
# logs, sleeps, draws lots, starts anything, or knows where it runs.
_EFFECT_FREE = frozenset(
    {
        *["__future__", "abc", "array", "bisect", "collections", "dataclasses", "enum"],
        *["functools", "heapq", "ipaddress", "itertools", "math", "operator", "re", "string"],
        *[
            "typing",
            "urllib.parse",
            "calendar.timegm",
            "email.utils.parsedate_to_datetime",
            "calendar.timegm",
        ],
    }
)
_MAY_IMPORT = {
    "protocol": _EFFECT_FREE | {"scrapy_rep.protocol"},
    "cache": sys.stdlib_module_names | {"redis", "scrapy_rep.cache", "scrapy_rep.protocol"},
}
_MODULES = sorted(_PACKAGE.rglob("*.py"))


def _layer(module: Path) -> str:
    """The directory of the package in which a module is; empty for its top level."""
    return next(iter(module.relative_to(_PACKAGE).parts[:-1]), "")


def _imported(module: Path) -> Iterator[str]:
    """What a module imports, by absolute name: modules, and names in modules."""
    package = [_PACKAGE.name, *module.relative_to(_PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            home = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{home}.{alias.name}" for alias in node.names)


def _is_within(name: str, homes: Iterable[str]) -> bool:
    return any(name == home or name.startswith(f"{home}.") for home in homes)


def _named(module: Path) -> str:
    return module.relative_to(_PACKAGE).as_posix()


class TestLayers:
    """Data flows one way, and each layer knows only what is below it."""

    @pytest.mark.parametrize("layer", _MAY_IMPORT)
    def test_imports_only_what_it_may(self, layer: str) -> None:
        offenders = [
            f"{_named(module)} imports {name}"
            for module in _MODULES
            if _layer(module) == layer
            for name in _imported(module)
            if not _is_within(name, _MAY_IMPORT[layer])
        ]
        assert offenders == []

    def test_nothing_knows_the_command_but_itself(self) -> None:
        """Crawls and other programs never load what is for the command line."""
        homes = {"scrapy_rep.command", "scrapy_rep.commands"}
        offenders = [
            f"{_named(module)} imports {name}"
            for module in _MODULES
            if _layer(module) != "commands" and module.name != "command.py"
            for name in _imported(module)
            if _is_within(name, homes)
        ]
        assert offenders == []

    def test_every_import_is_seen(self) -> None:
        """The test above would pass if nothing were found."""
        assert sum(_layer(module) == "protocol" for module in _MODULES) > 10
        document = set(_imported(_PACKAGE / "protocol" / "document.py"))
        assert {"scrapy_rep.protocol.records", "collections.abc.Callable"} <= document
        assert "scrapy_rep.protocol.lines.Kind" in document

    @pytest.mark.parametrize(
        "name",
        [
            *["time", "datetime.datetime", "os", "io", "logging", "random", "socket", "asyncio"],
            *["urllib.request", "urllib.request.urlopen", "email.utils.formatdate", "pathlib.Path"],
            *["scrapy", "twisted.internet.reactor", "w3lib.url", "scrapy_rep.parse"],
            *["scrapy_rep.cache.base", "scrapy_rep.middleware", "scrapy_rep.protocols", "ret"],
        ],
    )
    def test_the_protocol_may_not(self, name: str) -> None:
        assert not _is_within(name, _MAY_IMPORT["protocol"])

    def test_nothing_imports_from_the_package_root(self) -> None:
        """It imports everything in its turn, if asked to: a cycle that only luck would hide."""
        modules = {
            ".".join([_PACKAGE.name, *module.relative_to(_PACKAGE).with_suffix("").parts])
            for module in _MODULES
        }
        below_root = modules - {f"{_PACKAGE.name}.__init__"}
        offenders = [
            f"{_named(module)} imports {name}"
            for module in _MODULES
            for name in _imported(module)
            if _is_within(name, [_PACKAGE.name]) and not _is_within(name, below_root)
        ]
        assert offenders == []

    @pytest.mark.parametrize(
        "call", ["open", "print", "input", "breakpoint", "exec", "eval", "__import__"]
    )
    def test_no_effects_without_an_import(self, call: str) -> None:
        offenders = [
            _named(module)
            for module in _MODULES
            if _layer(module) == "protocol"
            for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == call
        ]
        assert offenders == []


def _loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


class TestLoading:
    """Reading a robots.txt loads neither Scrapy nor what Scrapy needs."""

    @pytest.mark.parametrize(
        "statement",
        [
            "import scrapy_rep.protocol.document",
            "from scrapy_rep import parse, AccessPolicy, Origin",
        ],
    )
    def test_loads_the_protocol_alone(self, statement: str) -> None:
        loaded = _loaded_by(statement)
        assert "scrapy_rep.protocol.document" in loaded
        foreign = {
            "scrapy",
            "twisted",
            "sqlite3",
            "asyncio",
            "logging",
            "socket",
            "lxml",
            "protego",
        }
        assert {name.partition(".")[0] for name in loaded} & foreign == set()
        ours = {name for name in loaded if _is_within(name, [_PACKAGE.name])}
        allowed = {"scrapy_rep", "scrapy_rep.protocol"}
        assert {n for n in ours - allowed if not n.startswith("scrapy_rep.protocol.")} == set()


class TestPublicNames:
    """The names of the package, where they live, and what type checkers see are one list."""

    def test_all_have_a_home(self) -> None:
        assert sorted(scrapy_rep.__all__) == sorted(scrapy_rep._HOMES)
        assert len(set(scrapy_rep.__all__)) == len(scrapy_rep.__all__)

    def test_homes_exist(self) -> None:
        homes = {_PACKAGE.joinpath(*home.split(".")) for home in scrapy_rep._HOMES.values()}
        missing = [home for home in homes if not home.with_suffix(".py").is_file()]
        assert missing == []

    def test_type_checkers_see_the_same(self) -> None:
        tree = ast.parse((_PACKAGE / "__init__.py").read_text(encoding="utf-8"))
        seen = {
            alias.name: node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
            for alias in node.names
        }
        assert seen == scrapy_rep._HOMES

    @pytest.mark.parametrize("name", sorted(scrapy_rep._HOMES))
    def test_each_can_be_had(self, name: str) -> None:
        assert getattr(scrapy_rep, name).__name__ == name

    def test_the_signals_are_a_module(self) -> None:
        assert "scrapy_rep.signals" in _loaded_by("import scrapy_rep; scrapy_rep.signals")

    def test_no_other(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            scrapy_rep.nothing  # noqa: B018
