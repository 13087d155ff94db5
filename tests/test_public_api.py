"""The public names are there, and come from where they say."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import typing
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import scrapy_rep
from scrapy_rep import RobotsTxtDisallowed, RobotsTxtUnreachable, parse
from tests import user_of_star, user_project
from tests.crawling import REPOSITORY

STORES = ("scrapy_rep.cache.base", "scrapy_rep.cache.entry")  # public as well
_ROOMS = ("", ".extras.pages", ".extras.webmaster", ".protocol", ".protocol.fields")
ROOMS = {room: import_module(room) for room in map("scrapy_rep{}".format, _ROOMS)}
PUBLIC: list[tuple[str, str]] = [
    (room, name)
    for room, module in ROOMS.items()
    for name in vars(module)["__all__"]  # which type checkers do not see
]


def _found(room: str, name: str) -> Any:
    return getattr(ROOMS[room], name)


@pytest.mark.parametrize(("room", "name"), PUBLIC)
def test_public_names_exist(room: str, name: str) -> None:
    assert _found(room, name).__name__.rpartition(".")[2] == name
    assert _found(room, name) is _found(room, name), "a module of this name would take its place"


def test_each_public_name_is_in_one_room() -> None:
    assert len({name for _, name in PUBLIC}) == len(PUBLIC)


def test_the_reference_names_every_public_name() -> None:
    page = (REPOSITORY / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    documented = {
        (section.partition("\n")[0], name)
        for section in page.split("currentmodule:: ")
        for name in re.findall(r"auto(?:class|function|exception):: (\w+)", section)
    }
    assert documented == {*PUBLIC} - {("scrapy_rep", "signals")}


def test_version_is_that_of_the_package() -> None:
    assert scrapy_rep.__version__ == version("scrapy-rep")


def test_other_names_do_not_exist() -> None:
    # If type checkers took any name, mypy would find nothing to ignore here.
    with pytest.raises(AttributeError, match="no_such_name"):
        scrapy_rep.no_such_name  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="no_such_name"):
        scrapy_rep.extras.pages.no_such_name  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("kind", [RobotsTxtDisallowed, RobotsTxtUnreachable])
@pytest.mark.parametrize("copied", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copies_of_errors_have_the_same_message(
    kind: type[RobotsTxtDisallowed], copied: Callable[[Exception], Exception]
) -> None:
    error = kind(parse(b"User-agent: *\nDisallow: /a\n").verdict("/a", "FooBot"))
    error.seen = "by a middleware"  # type: ignore[attr-defined]
    twin = copied(error)
    assert type(twin) is kind
    assert str(twin) == str(error)
    assert str(error).startswith("Forbidden by robots.txt"), "Scrapy's own words"
    assert vars(twin) == vars(error)


def _documented(room: str, name: str) -> Iterator[tuple[str, object]]:
    """The members of a public class that the reference shows, with their functions."""
    page = (REPOSITORY / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    entry = page.partition(f"autoclass:: {name}\n")[2].partition(".. auto")[0]
    excluded = re.search(r":exclude-members: (.*)", entry)
    hidden = set(excluded[1].split(", ")) if excluded else set()
    for member, value in vars(_found(room, name)).items() if ":members:" in entry else ():
        if not member.startswith("_") and member not in hidden:
            found = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if inspect.isfunction(found):
                yield member, found


def _types_in(hint: object) -> Iterator[type]:
    if isinstance(hint, type):
        yield hint
    for part in typing.get_args(hint):
        yield from _types_in(part)


def test_documented_members_name_only_public_types() -> None:
    """Those of the interface of a store apart, which lives in a public module of its own."""
    named = {name: _found(room, name) for room, name in PUBLIC}  # some load when they are asked
    public = {*named.values()}
    seen: dict[str, set[type]] = {}
    for room, name in PUBLIC:
        for member, function in _documented(room, name):
            hints = typing.get_type_hints(function, localns=named).values()
            seen[f"{name}.{member}"] = {one for hint in hints for one in _types_in(hint)}
    assert seen["Policy.verdict"] >= {str, scrapy_rep.Verdict}
    foreign = {
        f"{member}: {one.__qualname__}"
        for member, types in seen.items()
        for one in types - public
        if one.__module__.startswith("scrapy_rep.") and not one.__module__.startswith(STORES)
    }
    assert foreign == set()


def test_public_names_are_listed() -> None:
    assert [(room, name) for room, name in PUBLIC if name not in dir(ROOMS[room])] == []


def test_all_names_can_be_imported_at_once() -> None:
    rooms = ("scrapy_rep", "scrapy_rep.extras.webmaster")
    assert {name for room, name in PUBLIC if room in rooms} <= vars(user_of_star).keys()
    assert len(user_of_star.errors_of(b"User-agent: *\nDisallow: a\n", "/b")) == 1


def test_project_of_a_user_uses_every_name_without_an_ignore() -> None:
    source = Path(user_project.__file__).read_text(encoding="utf-8")
    assert [name for _, name in PUBLIC if source.count(name) < 2] == []
    assert "type:" + " ignore" not in source


def test_project_of_a_user_works() -> None:
    body = b"User-agent: FooBot\nDisallow: /a\nDisallow: x\n"
    assert user_project.judged(body, "/b", "FooBot")
    assert not user_project.judged(body, "/a", "FooBot")
    assert any("Disallow: /a" in line for line in user_project.report(body))
