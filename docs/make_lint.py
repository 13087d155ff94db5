"""Writes docs/lint: a page for each code, and an index, from the table that the code uses.

::

    python docs/make_lint.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TypeGuard

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.lint_examples import BAD, GOOD
from scrapy_rep.extras.webmaster.checks.codes import GROUPS, MEANINGS, STYLE, Code, Effect, Severity
from scrapy_rep.extras.webmaster.effect.differences import Difference, TooMuchToCompare, differences
from scrapy_rep.extras.webmaster.findings import shown
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.protocol.access.events import name_of
from scrapy_rep.protocol.access.knowledge import Answer
from scrapy_rep.protocol.document import parse

_LINES_SHOWN = 12
_COLUMNS_SHOWN = 100

_WORDS = {
    Severity.ERROR: "error: it is not used as written",
    Severity.WARNING: "warning: it is used, but crawlers differ, or it may harm the site",
    Severity.INFO: "info: good to know",
}

_HURT = {
    "The answer": "the site: crawlers that do not get the file may fetch everything, or nothing",
    "Octets and the file": "the site: some crawlers may read another text than the author wrote",
    "Lines": "the site: some crawlers may skip the line, or read it in another way",
    "Groups and user-agent lines": "the site: some crawlers may obey another group",
    "Rules": "the site: crawlers that do not follow RFC 9309 may decide in another way",
    "Wildcards and escapes": "the site: some crawlers may match other URLs than the author meant",
    "Sitemaps": "the site: search engines may miss pages that only the sitemap lists",
    "Other records": "the site: crawlers may miss what the record says",
    "Effect": "the site: crawlers may do something else than the author meant",
}
"""By section, for findings that change no verdict under RFC 9309."""

_PATH_COLUMNS = 40
_STEPS = 10_000
_COMPARED_OCTETS = 20_000  # longer examples are about limits, and take seconds each

_PROMISES = {
    Effect.KEEPS: "This is a safe fix; where it would not be, the finding says otherwise.",
    Effect.FORMATS: "`scrapy rep format` does it, and keeps every verdict.",
    Effect.CHANGES: "This may change verdicts.",
    Effect.OUTSIDE: "No command can do that.",
}

_INTRODUCTION = """\
<!-- python docs/make_lint.py makes these pages from scrapy_rep/extras/webmaster/checks. -->

# Lint codes

For users of `scrapy rep lint`: after reading these pages, you know what each finding means and
how to fix it.

```console
$ scrapy rep lint robots.txt --select all --ignore REP304
```

An *error* is not used as written. A *warning* is used, but crawlers differ, or it may harm the
site. An *info* is good to know.

Each code is in one group. By default, `scrapy rep lint` reports all groups but `style`; `--group
search,ai` chooses groups, and `--group all` takes all of them:

GROUPS

`--select`, `--extend-select` and `--ignore` take codes, their beginnings, names or groups. Comments
in a file and the [configuration](../command.md#lint) take the same.

## Safe and unsafe fixes

**A safe fix changes no verdict, loses no name, no Sitemap line and no comment, and removes no
error.**

| mark | command | what it does |
| --- | --- | --- |
| `[fix]` | `lint --fix` | makes the safe fixes |
| `[unsafe fix]` | `lint --fix --unsafe-fixes` | also writes what was meant, and shows the effect |
| `[format]` | `format` | rewrites the file |
| none | | only you can tell what is meant, or the change is elsewhere |

An error means that crawlers read something else than the author meant, as in this file:

```text
User-agent: * Disallow: /
```

Crawlers see one record, with a name and without a rule, so everything is allowed. No safe fix
changes such a line: it would make the mistake permanent. The unsafe fix writes two records. To see
it and its effect first, use `--diff --unsafe-fixes`.

While a file has an error in a rule, a user-agent line or an unreadable line, safe fixes only change
spellings. They add, remove and move nothing, since the line may be meant as another rule, or as the
beginning of a group. `format` does not write a file with errors if the new file would hide them; it
names their lines, and ends with status 1. With `--keep-errors`, it writes the file anyway. No
command changes a file that crawlers do not read as a whole, such as one beyond the parse limit, in
UTF-32 or in gzip.

The tests make all safe fixes in thousands of real files, one by one and all at once, and compare
the files before and after (`benchmarks/lint_mends.py`), also as Google's matcher and crawlers
without wildcards read them (`benchmarks/readers.py`). A fix that one of these readers does not
agree with is unsafe, and its advice names the reader."""


def pages() -> dict[str, str]:
    """The pages by file name."""
    made = {"README.md": "\n".join(_index()) + "\n"}
    for code in Code:
        made[f"{code.value}.md"] = "\n".join(_page(code)) + "\n"
    return made


def _groups() -> Iterator[str]:
    yield "| group | meaning | codes |"
    yield "| --- | --- | --- |"
    for group, meaning in MEANINGS.items():
        names = sorted(code.value for code in GROUPS[group])
        codes = ", ".join(f"[{name}]({name}.md)" for name in names)
        yield f"| `{group}` | {meaning} | {codes} |"


def _index() -> Iterator[str]:
    yield _INTRODUCTION.replace("GROUPS", "\n".join(_groups()))
    for section, checks in groupby(Code, attrgetter("section")):
        yield f"\n## {section}\n"
        yield "| code | name | severity | meaning |"
        yield "| --- | --- | --- | --- |"
        for code in checks:
            yield (
                f"| [{code.value}]({code.value}.md) | {code.slug} | {code.severity.value} | "
                f"{_cell(code.meaning)} |"
            )


def _page(code: Code) -> Iterator[str]:
    yield f"# {code.value} {code.slug}\n"
    yield f"{code.section}; {_WORDS[code.severity]}.{_group_words(code)}\n"
    yield f"{_sentence(code.meaning)}\n"
    if code.severity is not Severity.INFO:
        yield f"**Who is hurt:** {_hurt(code)}.\n"
    yield f"**What to do:** {code.fix}. {_promise(code)}\n"
    for title, example in (("Bad", BAD[code]), ("Good", GOOD[code])):
        yield f"{title}:\n"
        yield "```text"
        yield from _example(example)
        yield "```\n"
    yield "[All codes](README.md)"


def _hurt(code: Code) -> str:
    """The party that a finding hurts, by the verdicts on the two examples."""
    files = [parse(file) for file in (BAD[code], GOOD[code]) if _is_short(file)]
    found: list[Difference] = []
    if len(files) == 2:  # noqa: PLR2004 - the others are answers
        with suppress(TooMuchToCompare):
            found.extend(differences(*files, steps=_STEPS))
    found.sort(key=lambda one: (not one.before.allowed, len(one.path), one.path))
    if not found:
        return _HURT[code.section]
    path = found[0].path
    such_as = f", such as `{path}`" if len(path) <= _PATH_COLUMNS else ""
    if found[0].before.allowed:
        return f"the site: crawlers fetch URLs that the good file forbids{such_as}"
    return f"crawlers and readers: the good file allows more URLs{such_as}"


def _is_short(example: bytes | Answer) -> TypeGuard[bytes]:
    return isinstance(example, bytes) and len(example) <= _COMPARED_OCTETS


def _promise(code: Code) -> str:
    example = BAD[code]
    if code.effect is Effect.CHANGES and _is_short(example):
        found = (one for one in lint(example) if one.code is code)
        if any(one.is_unsafe for one in found):
            return "This is an unsafe fix: it may change verdicts."
    return _PROMISES[code.effect]


def _group_words(code: Code) -> str:
    told = f" Group: `{code.group}`"
    return f"{told}; not reported by default." if code.group == STYLE else f"{told}."


def _example(example: bytes | Answer) -> Iterator[str]:
    if isinstance(example, Answer):
        yield from _answer(example)
        return
    lines = _visible(example).split("\n")
    if lines[-1] == "":
        lines.pop()
    for line in lines[:_LINES_SHOWN]:
        yield (
            line
            if len(line) <= _COLUMNS_SHOWN
            else f"{line[:_COLUMNS_SHOWN]}... ({len(line):,} octets)"
        )
    if len(lines) > _LINES_SHOWN:
        yield f"... ({len(lines):,} lines)"


def _visible(octets: bytes) -> str:
    """Octets as text, with escapes for invisible characters except line ends."""
    if octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "(in UTF-16)\n" + octets.decode("utf-16")
    lines = octets.replace(b"\r\n", b"\n").split(b"\n")
    return "\n".join(shown(line) for line in lines)


def _answer(answer: Answer) -> Iterator[str]:
    for hop in answer.hops:
        yield f"GET {hop}"
    yield name_of(answer.event)
    yield from (f"{name.title()}: {value}" for name, value in answer.headers.items())
    if answer.event in range(200, 300):
        yield ""
        yield from answer.body.decode().splitlines()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def main() -> None:
    """Write the pages, and remove those of codes that no longer exist."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "lint"
    folder.mkdir(exist_ok=True)
    made = pages()
    for page in folder.glob("*.md"):
        if page.name not in made:
            page.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
