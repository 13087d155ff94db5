"""The public names are there, and come from where they say."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import typing
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import scrapy_rep
from scrapy_rep import RobotsTxtDisallowed, RobotsTxtUnreachable, parse
from tests import user_of_star, user_project
from tests.crawling import REPOSITORY

STORES = ("scrapy_rep.cache.base", "scrapy_rep.cache.entry")  # public as well
PUBLIC: list[str] = vars(scrapy_rep)["__all__"]  # which type checkers do not see


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_exist(name: str) -> None:
    assert getattr(scrapy_rep, name).__name__.rpartition(".")[2] == name


def test_version_is_that_of_the_package() -> None:
    assert scrapy_rep.__version__ == version("scrapy-rep")


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        # If type checkers took any name, mypy would find nothing to ignore here.
        scrapy_rep.no_such_name  # type: ignore[attr-defined]  # noqa: B018


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


def _documented(name: str) -> Iterator[tuple[str, object]]:
    """The members of a public class that the reference shows, with their functions."""
    page = (REPOSITORY / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    entry = page.partition(f"autoclass:: {name}\n")[2].partition(".. auto")[0]
    excluded = re.search(r":exclude-members: (.*)", entry)
    hidden = set(excluded[1].split(", ")) if excluded else set()
    for member, value in vars(getattr(scrapy_rep, name)).items() if ":members:" in entry else ():
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
    named = {name: getattr(scrapy_rep, name) for name in PUBLIC}  # some load when they are asked
    public = {*named.values()}
    seen: dict[str, set[type]] = {}
    for name in PUBLIC:
        for member, function in _documented(name):
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
    assert {*PUBLIC} <= {*dir(scrapy_rep)}


def test_all_names_can_be_imported_at_once() -> None:
    assert {*PUBLIC} <= vars(user_of_star).keys()
    assert len(user_of_star.errors_of(b"User-agent: *\nDisallow: a\n", "/b")) == 1


def test_project_of_a_user_uses_every_name_without_an_ignore() -> None:
    source = Path(user_project.__file__).read_text(encoding="utf-8")
    assert [name for name in PUBLIC if source.count(name) < 2] == []
    assert "type:" + " ignore" not in source


def test_project_of_a_user_works() -> None:
    body = b"User-agent: FooBot\nDisallow: /a\nDisallow: x\n"
    assert user_project.judged(body, "/b", "FooBot")
    assert not user_project.judged(body, "/a", "FooBot")
    assert any("Disallow: /a" in line for line in user_project.report(body))
