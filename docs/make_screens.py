"""Writes docs/screens/*.svg: the output of `scrapy rep` in a terminal.

::

    python docs/make_screens.py [FOLDER]

Each screen shows one call of the command, with the colours of a terminal, as text of an SVG.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from html import escape
from io import StringIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.commands.subcommands import main as call_command

_DOCS = Path(__file__).resolve().parent
_HERE = _DOCS / "screens"

_SCREENS = {
    "check": [
        *["check", "--robots", "old.txt", "--agent", "FooBot"],
        *["https://shop.example/private/press/2026", "https://shop.example/private/x"],
    ],
    "lint": ["lint", "old.txt", "--uri", "https://shop.example/robots.txt"],
    "diff": ["diff", "old.txt", "new.txt"],
    "agents": ["agents", "old.txt", "--operator", "OpenAI", "--operator", "Anthropic"],
    "log": ["log", "access.log", "--robots", "old.txt", "--robots", "2026-11-29=new.txt"],
    "complaint": ["log", "access.log", "--trail", "audit", "--site", "https://shop.example"],
}

_COLUMNS = 104
_CELL_WIDTH, _LINE_HEIGHT, _MARGIN, _FONT = 8.4, 19, 16, 14
_FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_BACKGROUND, _PLAIN = "#0d1117", "#e6edf3"
_COLOURS = {
    "31": "#ff7b72",
    "32": "#7ee787",
    "33": "#e3b341",
    "34": "#79c0ff",
    "36": "#76e3ea",
}
_STYLE = re.compile(r"\x1b\[([\d;]*)m")


def screen(arguments: list[str]) -> str:
    """The command line of a call, and its output."""
    out, err = StringIO(), StringIO()
    sys.argv = ["scrapy", *arguments]
    with redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        call_command()
    if err.getvalue():
        raise RuntimeError(err.getvalue())
    call = f"$ scrapy rep {' '.join(arguments)}"
    lines = textwrap.wrap(call, _COLUMNS - 2, subsequent_indent="    ", break_on_hyphens=False)
    written = " \\\n".join(f"\x1b[1m{line}\x1b[0m" for line in lines)
    return f"{written}\n{out.getvalue()}"


def svg(text: str) -> str:
    """A terminal's text as an SVG."""
    lines = [line for written in text.rstrip("\n").split("\n") for line in _wrapped(written)]
    width = _COLUMNS * _CELL_WIDTH + 2 * _MARGIN
    height = len(lines) * _LINE_HEIGHT + 2 * _MARGIN
    size = f'width="{width:g}" height="{height}" viewBox="0 0 {width:g} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f'<rect width="100%" height="100%" rx="8" fill="{_BACKGROUND}"/>',
            f'<g font-family="{_FONTS}" font-size="{_FONT}" fill="{_PLAIN}" xml:space="preserve">',
            *(
                f'<text x="{_MARGIN}" y="{_MARGIN + (number + 1) * _LINE_HEIGHT - 5}">'
                f"{''.join(_spans(line))}</text>"
                for number, line in enumerate(lines)
                if line
            ),
            "</g>",
            "</svg>",
            "",
        ]
    )


Line = list[tuple[str, str]]
"""Characters with their styles."""


def _wrapped(written: str) -> Iterator[Line]:
    """Split a line into lines of at most `_COLUMNS` columns, at blanks."""
    line: Line = []
    style = ""
    at = 0
    for match in (*_STYLE.finditer(written), None):
        stop = len(written) if match is None else match.start()
        line += [(character, style) for character in written[at:stop]]
        if match is not None:
            style = "" if match[1] in ("", "0") else match[1]
            at = match.end()
    while len(line) > _COLUMNS:
        blanks = [place for place in range(_COLUMNS + 1) if line[place][0] == " "]
        stop = max(blanks, default=0) or _COLUMNS
        yield line[:stop]
        line = line[stop:]
    yield line


def _spans(line: Line) -> Iterator[str]:
    start = 0
    for stop in range(1, len(line) + 1):
        if stop == len(line) or line[stop][1] != line[start][1]:
            written = "".join(character for character, _ in line[start:stop])
            # Browsers drop white space at the start of a text, and join it within.
            text = written.lstrip(" ")
            x = _MARGIN + (stop - len(text)) * _CELL_WIDTH
            text = escape(text, quote=False).replace("  ", "\u00a0\u00a0")
            codes = line[start][1].split(";")
            weight = ' font-weight="bold"' if "1" in codes else ""
            faint = ' opacity="0.7"' if "2" in codes else ""
            fill = next((f' fill="{_COLOURS[code]}"' for code in codes if code in _COLOURS), "")
            if text:
                yield f'<tspan x="{x:g}"{fill}{weight}{faint}>{text}</tspan>'
            start = stop


def main() -> None:
    """Write all screens."""
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else _HERE
    os.environ.pop("NO_COLOR", None)
    os.environ["FORCE_COLOR"] = "1"
    os.chdir(_HERE)
    for name, arguments in _SCREENS.items():
        (folder / f"{name}.svg").write_text(svg(screen(arguments)), encoding="utf-8")


if __name__ == "__main__":
    main()
