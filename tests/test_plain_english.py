"""The documentation does without ten turns of phrase that slow readers down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[1]
_NAMES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")

_START = r"(?:^|(?<=[.:;!?] ))"  # of a sentence, in a text without line ends
_PHRASES = {  # what to say instead, and the phrase
    "name them: no crawler, any user, another process": (
        r"(?i)\b(?:no|any|some|every)body\b|\bno one\b"
    ),
    "begin with a noun: users that ..., the crawler that ...": (
        r"(?i)\b(?:who|whom)ever\b|\b(?:those|ones?|all|he) who\b|\b(?:of|as|by|for|to) whom\b"
    ),
    "begin with the thing, not with a clause: 'The version in force', 'Files that ...'": (
        _START + r"(?:What|Whatever|Who|Whose)\b[^.?!]*\.(?= |$)"
    ),
    "request, fetch, need or want": r"(?i)\bask(?:s|ed|ing)? for\b",
    "say it is not: 'it is not a file', 'there is no file'": (
        r"\b(?:is|are|was|were) none\b"
        r"|\b(?:[Ii]t|[Tt]hat|[Tt]his|which) (?:is|was) no (?!longer\b|more\b|less\b)\w+"
    ),
    "begin with the subject: 'Each file has ...' for 'Of each file, ...'": (
        _START + r"Of (?:an?|the|each|every|all|those|these|such|several|many|what)\b"
    ),
    "name the number or the time, or say how much by 'so ... that'": (
        r"(?i)\bso (?:many|few|much|long)\b(?! as\b)(?![^.]*\bthat\b)"
    ),
    "name the thing: 'the octets', 'the rest of the file', 'the line above'": (
        r"(?i)\bthat which\b|\ball that (?:is|are|was|were|has|have|it|they|we|you)\b"
        r"|\b(?:where|as) (?:it|they) stands?\b|\bstands? (?:there|above|below|behind)\b"
    ),
    "use a usual word: again, during, next to, also, while, so, otherwise, fix": (
        r"(?i)\b(?:anew|amid|besides?|meanwhile|thereby|lest|whence|hence|mend(?:s|ed|ing)?)\b"
        r"|\bor else\b|\bfor else\b"
    ),
    "show, describe or contain; allow or send; drop or keep": (
        r"(?i)\btell(?:s|ing)? of\b|\btold of\b|\blet(?:s|ting)? (?:\w+ )?through\b"
        r"|\b(?:hold|holds|held) back\b"
    ),
}


class Text(NamedTuple):
    """A paragraph, a heading, an item or a cell, by the place where it begins."""

    file: str
    line: int
    words: str


def test_pages_are_in_plain_english() -> None:
    found = [remark for text in _texts() for remark in _remarks(text)]
    assert not found, "\n".join(["say these plainly:", *found])


def _texts() -> Iterator[Text]:
    pages = (
        page for folder in ("docs", "changes") for page in sorted((_ROOT / folder).glob("*.md"))
    )
    for path in (*(_ROOT / name for name in _NAMES), *pages):
        yield from _blocks(path, path.read_text(encoding="utf-8"), 1)
    for path in sorted((_ROOT / "scrapy_rep" / "commands" / "help").glob("*.txt")):
        yield from _blocks(path, path.read_text(encoding="utf-8"), 1)
    for path in sorted((_ROOT / "scrapy_rep").rglob("*.py")):
        for line, docstring in _docstrings(ast.parse(path.read_text(encoding="utf-8"))):
            yield from _blocks(path, docstring, line)


def _docstrings(node: ast.Module | ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Those of a module or a class, and of its public members."""
    inner = [one for one in node.body if isinstance(one, ast.ClassDef)]
    functions = [n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for one in (node, *(one for one in functions if not one.name.startswith("_"))):
        docstring = ast.get_docstring(one)
        if docstring:
            yield one.body[0].lineno, docstring
    for one in inner:
        if not one.name.startswith("_"):
            yield from _docstrings(one)


def _blocks(path: Path, text: str, first_line: int) -> Iterator[Text]:
    """Its paragraphs and cells, without code, addresses and marks."""
    held: list[str] = []
    begin = 0
    is_code = False
    for number, written in enumerate([*text.splitlines(), ""], first_line):
        line = written.strip()
        is_fence = line.startswith("```")
        is_code ^= is_fence
        is_alone = line.startswith(("|", "#"))
        is_end = not line or is_fence or is_code or is_alone or re.match(r"[-*] |\d+\. ", line)
        if is_end and held:
            yield Text(str(path.relative_to(_ROOT)), begin, _words(" ".join(held)))
            held = []
        if is_alone and not is_code:
            for cell in line.strip("|#").split("|"):
                yield Text(str(path.relative_to(_ROOT)), number, _words(cell))
        elif line and not is_fence and not is_code:
            begin = begin if held else number
            held.append(line)


def _words(text: str) -> str:
    text = re.sub(r"``.*?``|`[^`]*`", "x", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"^(?:[-*] |\d+\. )|[*\[\]]", "", text).strip()


def _remarks(text: Text) -> Iterator[str]:
    for advice, phrase in _PHRASES.items():
        for match in re.finditer(phrase, text.words):
            words = match[0] if len(match[0]) <= 60 else f"{match[0][:57]}..."
            yield f"{text.file}:{text.line}: {words!r}: {advice}"
