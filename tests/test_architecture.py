"""The packages, from top to bottom: imports point down only.

Checked by reading every import statement, those inside functions and those for types alone too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

import scrapy_rep
from scrapy_rep.extras import EXTRAS
from scrapy_rep.settings import PaceSettings

_PACKAGE = Path(scrapy_rep.__file__).parent
_ROOT = _PACKAGE.parent


def _rooms_of_the_page() -> list[list[str]]:
    """The rows of the table of packages and modules, from top to bottom."""
    return [re.findall(r"`([a-z_]+)/?`", cells[0]) for cells in _table("package or module")]


def _table(head: str) -> list[list[str]]:
    """The cells of a table of the page."""
    page = (_ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split(f"| {head} |")[1].split("\n\n")[0]
    return [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]


# Each extra, and the extras that it may import
EXTRAS_NEEDED = {
    name.strip(" `/"): {name.strip(" `/"), *re.findall(r"`([a-z]+)/`", others)}
    for name, _, others in _table("extra")
}
_RANKS = {room: rank for rank, row in enumerate(_rooms_of_the_page()) for room in row}

# What the protocol may import of the standard library: what neither reads a clock, nor does I/O,
# logs, sleeps, draws lots, starts anything, or knows where it runs.
_EFFECT_FREE = frozenset(
    {
        *["__future__", "abc", "array", "bisect", "collections", "dataclasses", "enum"],
        *["functools", "heapq", "ipaddress", "itertools", "math", "operator", "re", "string"],
        *["datetime.datetime", "datetime.timedelta"],  # but not `now`: see below
        *["binascii", "calendar.monthrange", "calendar.timegm", "codecs.getincrementaldecoder"],
        *["decimal.Decimal", "email.utils.parsedate_to_datetime", "hashlib.sha256", "json.loads"],
        *["base64.urlsafe_b64encode", "html.unescape"],
        *["json.detect_encoding", "json.dumps"],
        *["types.MappingProxyType", "typing", "urllib.parse", "zlib"],
    }
)
_MAY_IMPORT = {
    "protocol": _EFFECT_FREE
    | {"scrapy_rep.protocol", "brotli", "brotlicffi", "backports.zstd", "compression.zstd"},
    "cache": sys.stdlib_module_names | {"filelock", "scrapy_rep.cache", "scrapy_rep.protocol"},
}
# The pure values of extras
_PAGE_VALUES = _EFFECT_FREE | {
    *("scrapy_rep.protocol", "scrapy_rep.extras.structured"),
    *("scrapy_rep.extras.pages.page", "scrapy_rep.extras.pages.usage"),
}
_MAY_IMPORT |= dict.fromkeys(
    ("extras/structured.py", "extras/pages/page", "extras/pages/usage"), _PAGE_VALUES
)
_MAY_IMPORT |= dict.fromkeys(
    (
        f"extras/webmaster/{name}"
        for name in (
            *("agents", "audience", "checks", "effect", "linting", "rewrite"),
            *("findings.py", "mending.py", "outline.py"),
        )
    ),
    _PAGE_VALUES | {"scrapy_rep.extras.webmaster", "unicodedata", "pkgutil.get_data"},
)
_MODULES = sorted(_PACKAGE.rglob("*.py"))


def _is_in(module: Path, layer: str) -> bool:
    """Whether a module is in a folder of the package, at any depth."""
    return module.is_relative_to(_PACKAGE / layer)


@cache
def _nodes(module: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))


def _imported(module: Path) -> Iterator[str]:
    """The imports of a module by absolute name: modules, and names in modules."""
    package = module.relative_to(_ROOT).parts[:-1]
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{home}.{alias.name}" for alias in node.names)


def _module_of(name: str) -> Path | None:
    """The module that an imported name is, or is in; None if it is not of this package."""
    if not _is_within(name, [_PACKAGE.name]):
        return None
    place = _ROOT.joinpath(*name.split("."))
    for module in (place.with_suffix(".py"), place / "__init__.py", place.parent / "__init__.py"):
        if module.is_file():
            return module
    return place.parent.with_suffix(".py")


def _room(module: Path) -> str:
    """The package, or the module at the top, that a module is in."""
    return module.relative_to(_PACKAGE).parts[0].removesuffix(".py")


def _extra(module: Path) -> str:
    """The extra that a module is in; empty for others."""
    parts = module.relative_to(_PACKAGE / "extras").parts if _is_in(module, "extras") else ()
    return parts[0] if len(parts) > 1 else ""


def _arrows() -> Iterator[tuple[Path, Path]]:
    """The imports between modules of this package, but for its root, which imports everything."""
    for module in _MODULES:
        if module == _PACKAGE / "__init__.py":
            continue
        for name in _imported(module):
            target = _module_of(name)
            if target is not None and target not in (module, _PACKAGE / "__init__.py"):
                yield module, target


def _is_within(name: str, homes: Iterable[str]) -> bool:
    return any(name == home or name.startswith(f"{home}.") for home in homes)


def _named(module: Path) -> str:
    return module.relative_to(_PACKAGE).as_posix()


class TestLayers:
    """Data flows one way, and each layer knows only the layers below it."""

    @pytest.mark.parametrize("layer", _MAY_IMPORT)
    def test_imports_only_what_it_may(self, layer: str) -> None:
        offenders = [
            f"{_named(module)} imports {name}"
            for module in _MODULES
            if _is_in(module, layer)
            for name in _imported(module)
            if not _is_within(name, _MAY_IMPORT[layer])
        ]
        assert offenders == []

    def test_page_has_a_row_for_each_room(self) -> None:
        assert {_room(module) for module in _MODULES} - {"__init__"} == set(_RANKS)

    def test_package_has_few_files_and_folders_at_its_top(self) -> None:
        at_the_top = [module for module in _MODULES if module.parent == _PACKAGE]
        folders = {_room(module) for module in _MODULES if module.parent != _PACKAGE}
        assert len(at_the_top) <= 12
        assert len(folders) <= 13

    def test_no_two_modules_share_a_name(self) -> None:
        names = Counter(module.stem for module in _MODULES if module.stem != "__init__")
        assert [name for name, count in names.items() if count > 1] == []

    def test_imports_point_to_lower_rows(self) -> None:
        offenders = {
            f"{_named(module)} imports {_named(target)}"
            for module, target in _arrows()
            if _room(module) != _room(target) and _RANKS[_room(module)] >= _RANKS[_room(target)]
        }
        assert {one for one in offenders if "extras" not in one} == set()

    def test_only_extras_import_extras(self) -> None:
        """They can be deleted; `extras/__init__.py` lists them without an import."""
        offenders = {
            f"{_named(module)} imports {_named(target)}"
            for module, target in _arrows()
            if (to := _extra(target)) and to not in EXTRAS_NEEDED.get(_extra(module), ())
        }
        assert offenders == set()

    def test_each_extra_is_listed(self) -> None:
        found = {_extra(module) for module in _MODULES} - {""}
        assert found == {extra.name for extra in EXTRAS if extra.is_installed}
        assert {extra.name for extra in EXTRAS} == set(EXTRAS_NEEDED)

    def test_imports_have_no_circles(self) -> None:
        """Not within a room either, nor by lazy imports or those for types."""
        below: dict[Path, set[Path]] = {}
        for module, target in _arrows():
            below.setdefault(module, set()).add(target)
        left = set(_MODULES)
        while ends := {module for module in left if not below.get(module, set()) & left}:
            left -= ends
        assert sorted(map(_named, left)) == []

    def test_modules_do_not_import_from_the_package_root(self) -> None:
        """It imports everything in its turn, if asked to: a cycle that only luck would hide."""
        modules = {
            ".".join([_PACKAGE.name, *module.relative_to(_PACKAGE).with_suffix("").parts])
            for module in _MODULES
        }
        below_root = modules - {f"{_PACKAGE.name}.__init__"} | {f"{_PACKAGE.name}.extras"}
        offenders = [
            f"{_named(module)} imports {name}"
            for module in _MODULES
            for name in _imported(module)
            if _is_within(name, [_PACKAGE.name]) and not _is_within(name, below_root)
        ]
        assert offenders == []

    def test_protocol_calls_nothing_with_an_effect(self) -> None:
        effects = {"open", "print", "input", "breakpoint", "exec", "eval", "__import__"}
        clocks = {"now", "today", "utcnow"}
        offenders = [
            f"{_named(module)} calls {ast.unparse(node.func)}"
            for module in _MODULES
            if _is_in(module, "protocol")
            for node in _nodes(module)
            if isinstance(node, ast.Call)
            if getattr(node.func, "id", "") in effects or getattr(node.func, "attr", "") in clocks
        ]
        assert offenders == []

    def test_limits_of_paces_are_applied_in_one_place(self) -> None:
        """Others get the pace from there, so a setting that bounds it needs no change of theirs."""
        limits = {one.name for one in fields(PaceSettings)}
        users = {
            _named(module)
            for module in _MODULES
            for node in _nodes(module)
            if isinstance(node, ast.Attribute) and node.attr in limits
        }
        assert users == {"settings.py"}


def _loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


class TestLoading:
    """Reading a robots.txt loads neither Scrapy nor what Scrapy needs."""

    def test_loads_the_protocol_alone(self) -> None:
        loaded = _loaded_by("import scrapy_rep; scrapy_rep.parse, scrapy_rep.Origin")
        assert "scrapy_rep.protocol.document" in loaded
        foreign = {"scrapy", "twisted", "sqlite3", "asyncio", "logging", "socket", "lxml"}
        assert {name.partition(".")[0] for name in loaded} & foreign == set()
        ours = {name for name in loaded if _is_within(name, [_PACKAGE.name])}
        allowed = {"scrapy_rep", "scrapy_rep.extras", "scrapy_rep.protocol"}
        assert {n for n in ours - allowed if not n.startswith("scrapy_rep.protocol.")} == set()


_UNUSED = """
    extras.evidence extras.webmaster extras.survey extras.identity extras.fleet commands
    extras.pages.withholding extras.pages.page_html extras.pages.browsers.judge
    extras.pages.browsers.browser_pages cache.sqlite protocol.fields
    extras.pages.usage.preference extras.pages.usage.robots extras.pages.page.rules
    protocol.extensions.clean_params
"""


def test_crawl_loads_only_what_it_uses() -> None:
    """Trails, browsers, findings and what pages say are of no use to most crawls."""
    loaded = _loaded_by(
        """
import scrapy
from scrapy.crawler import CrawlerProcess

class Nothing(scrapy.Spider):
    name = "nothing"

own = {"ADDONS": {"scrapy_rep.Addon": 500}, "ROBOTSTXT_OBEY": True, "REP_STORE": "memory"}
process = CrawlerProcess({**own, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False})
process.crawl(Nothing)
process.start()
"""
    )
    assert "scrapy_rep.middleware" in loaded
    absent = [extra.package for extra in EXTRAS if not extra.is_installed]
    named = [f"scrapy_rep.{name}" for name in _UNUSED.split()]
    unused = [name for name in named if not _is_within(name, absent)]
    assert [name for name in unused if find_spec(name) is None] == []
    assert sorted(name for name in loaded if _is_within(name, unused)) == []


# The names of distributions that differ from those of their packages.
_DISTRIBUTIONS = {
    "OpenSSL": "pyopenssl",
    "backports": "backports-zstd",
    "jwm": "jwm-robotstxt",
    "pydispatch": "pydispatcher",
    "yaml": "pyyaml",
}
# Ours; Python's from 3.14 on; and one that type checkers bring.
_UNDECLARED = {"scrapy_rep", "tests", "docs", "compression", "typing_extensions"}


@pytest.mark.parametrize(
    ("folder", "extras"), [("scrapy_rep", r"(?!(?:test|others|dev|docs) )"), ("tests", "")]
)
def test_imported_packages_are_declared(folder: str, extras: str) -> None:
    project = (_ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("\n[tool.")[0]
    lists = re.findall(rf"^{extras}[a-z]+ = \[(?:.|\n)*?\](?= |\n)", project, re.MULTILINE)
    declared = {name.lower() for one in lists for name in re.findall(r'"([\w-]+)', one)}
    modules = (_ROOT / folder).rglob("*.py")
    found = {name.partition(".")[0] for module in modules for name in _imported(module)}
    foreign = found - sys.stdlib_module_names - _UNDECLARED
    names = {_DISTRIBUTIONS.get(name, name.replace("_", "-")).lower() for name in foreign}
    assert not names - declared
