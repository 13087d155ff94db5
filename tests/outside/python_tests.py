"""Reads robots.txt cases in tests in Python: tables of rows, classes with lists, assertions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tests.outside import Case, Checkout, Robots

_BUILTINS = {"__builtins__": {"ord": ord}}


def _set(statements: list[ast.stmt], names: dict[str, Any]) -> None:
    """Run the statements that set variables, as far as they need nothing else."""
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.For):
            code = compile(ast.Module([statement], []), "suite", "exec")
            with suppress(NameError, AttributeError):
                exec(code, _BUILTINS, names)


def _robots(text: str, agent: str, url: str) -> Robots:
    return Robots(text.encode("utf-8", "surrogateescape"), agent, url)


def in_rows(checkout: Checkout, paths: list[str], constants: str) -> Iterator[Case]:
    """Cases in tables of text, agent, URL and answer; a file has the constants."""
    for path in paths:
        names: dict[str, Any] = {}
        _set(ast.parse(checkout.read(constants)).body, names)
        _set(ast.parse(checkout.read(path)).body, names)
        for name, rows in names.items():
            for count, row in enumerate(rows if isinstance(rows, list | tuple) else (), 1):
                if [type(cell) for cell in row] == [str, str, str, bool]:
                    yield Case(f"{name}#{count}", _robots(*row[:3]), row[3])


def in_classes(checkout: Checkout, path: str) -> Iterator[Case]:
    """Cases in classes with `robots_txt`, `agent`, and the lists `good` and `bad`."""
    classes: dict[str, dict[str, Any]] = {}
    for node in ast.parse(checkout.read(path)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        names = classes[node.name] = {}
        for base in bases:
            names.update(classes.get(base, {}))
        _set(node.body, names)
        for answer, key in ((True, "good"), (False, "bad")):
            for count, url in enumerate(names.get(key, ()), 1):
                pair = url if isinstance(url, tuple) else (names["agent"], url)
                yield Case(
                    f"{node.name}.{key}#{count}", _robots(names["robots_txt"], *pair), answer
                )


def in_assertions(checkout: Checkout, path: str) -> Iterator[Case]:
    """Cases in functions that parse a text and assert `can_fetch(url, agent)`."""
    for function in ast.walk(ast.parse(checkout.read(path))):
        if not (isinstance(function, ast.FunctionDef) and function.name.startswith("test")):
            continue
        names: dict[str, Any] = {"Protego": _Protego}
        count = 0
        for statement in function.body:
            _set([statement], names)
            if not isinstance(statement, ast.Assert) or "can_fetch(" not in ast.unparse(statement):
                continue
            count += 1
            question, is_denied = statement.test, isinstance(statement.test, ast.UnaryOp)
            if isinstance(question, ast.UnaryOp):
                question = question.operand
            with suppress(NameError):
                given = eval(compile(ast.Expression(question), "suite", "eval"), _BUILTINS, names)
                if isinstance(given, Robots):
                    yield Case(f"{function.name}#{count}", given, not is_denied)


class _Protego:
    """Stands for the class that a suite tests: `can_fetch` returns the question."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def parse(cls, content: str) -> _Protego:
        return cls(content)

    def can_fetch(self, url: str, agent: str) -> Robots:
        return _robots(self._text, agent, url)
