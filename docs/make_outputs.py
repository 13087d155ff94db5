"""Writes the outputs of commands in docs/*.md.

::

    python docs/make_outputs.py [FOLDER [PAGE...]]

The commands of each page of `plays.py` are run in the order of the page, in one shell, against
sites on loopback. An output takes the place of that in the page if both differ in more than times,
addresses and digests. A line `…` in a page stands for lines that are left out. A `text` block shows
some lines of a log. The script ends with an error if a page needs other lines of an output.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socketserver
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from plays import PLAYS, Play

from tests.processes import start_scrapy
from tests.servers.answers import Answer, Scripted, sequence
from tests.servers.handle import Site, certificate, free_port

_DOCS = Path(__file__).resolve().parent
_ROOT = _DOCS.parent

_BLOCK = re.compile(r"^```(console|text|pycon|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_GAP = re.compile(r"^ *(?:…|\.\.\.)$")
_TIME = r"\d[\d.]* (?:d|h|min|s|seconds?|minutes?|hours?)\b(?: \d+ (?:h|min|s)\b)?"
_CHANGING = (
    (r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d )?\[[\w.]+\] [A-Z]+: ", ""),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "(date)"),
    (r"\d{8}T\d{6}Z-[0-9a-f]{6}", "(run)"),
    (r"\b[0-9a-f]{16,64}\b…?|(?<![\w-])[\w-]{43}(?![\w-])", "(digest)"),
    (r"\b127(?:\.\d+){3}\b", "(address)"),
    (
        rf"(?:(?<=\bin )|(?<=about )|(?<=process: )|(?<=\()){_TIME}|{_TIME}(?= (?:old|ago)\b)",
        "(time)",
    ),
)


# The `scrapy` of the shell: it has another process make the call, with its streams, and waits.
_SCRAPY = f"""#!{sys.executable} -IS
import json, os, socket, sys
call = [os.getpid(), os.getcwd(), dict(os.environ), sys.argv[1:]]
with socket.socket(socket.AF_UNIX) as line:
    line.connect(os.path.dirname(__file__) + "/line")
    line.sendall(json.dumps(call).encode() + b"\\n")
    sys.exit(int(line.recv(9)))
"""


class _Calls(socketserver.StreamRequestHandler):
    """Makes the calls in forks of a process that has loaded Scrapy: a new one takes longer."""

    def handle(self) -> None:
        caller, folder, environment, words = json.loads(self.rfile.readline())
        streams = [Path(f"/proc/{caller}/fd/{number}") for number in range(3)]
        process = start_scrapy(words, streams, environment, Path(folder))
        self.wfile.write(f"{process.wait()}\n".encode())


@contextmanager
def _scrapy() -> Iterator[Path]:
    """A folder with this command."""
    with tempfile.TemporaryDirectory(prefix="scrapy-") as name:
        folder = Path(name)
        (folder / "scrapy").write_text(_SCRAPY, encoding="utf-8")
        (folder / "scrapy").chmod(0o700)
        with socketserver.ThreadingUnixStreamServer(str(folder / "line"), _Calls) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield folder
            server.shutdown()


@dataclass(frozen=True)
class Call:
    """A command, and the lines that the page shows of its output; None if it shows none."""

    command: str
    shown: str | None = None
    is_log: bool = False


def _calls(page: str, play: Play) -> list[Call]:
    """The commands of a page, in order."""
    blocks = [*_BLOCK.finditer(page)]
    code = {
        f"{kind}{number}": "\n".join(call for call, _ in _CALL.findall(block)) or block
        for kind in ("console", "pycon", "python")
        for number, block in enumerate([one[2] for one in blocks if one[1] == kind], 1)
    }
    shown = [
        block
        for block in blocks
        if block[1] in ("text", "pycon")
        or (block[1] == "console" and any(output for _, output in _CALL.findall(block[2])))
    ]
    found: list[Call] = []
    for block, before in zip(shown, play.before, strict=True):
        if before is None:
            continue
        hidden = re.sub(r"@(\w+)@", lambda name: code[name[1]], before)
        if block[1] != "console":
            found.append(Call(hidden, block[2], is_log=True))
            continue
        calls = [Call(command, output or None) for command, output in _CALL.findall(block[2])]
        while calls[-1].shown is None:
            calls.pop()
        found += [Call(hidden), *calls]
    return found


def outputs(calls: list[Call], play: Play) -> list[str]:
    """The output of each call."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outputs-")))
        names: dict[str, str] = {}
        sites: dict[Site, Mapping[str, Scripted]] = {}
        for number, (name, routes) in enumerate(play.sites.items(), 1):
            if routes is None:
                names[name] = f"http://127.0.0.1:{free_port()}"
                continue
            is_local = "localhost" in name
            address = "127.0.0.1" if is_local else f"127.0.0.{number}"
            site = stack.enter_context(Site(address=address, tls=name.startswith("https:")))
            names[name] = site.url("", "localhost" if is_local else address)
            sites[site] = routes
        for site, routes in sites.items():
            site.change({path: _answers(one, names) for path, one in routes.items()})
        script = "".join(f"printf '\\n@@ {n}\\n'\n{one.command}\n" for n, one in enumerate(calls))
        for path, text in {**play.files, "script": script}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(_renamed(text, names), encoding="utf-8")
        shell = subprocess.Popen(
            ["/usr/bin/env", "bash", "script"],
            cwd=folder,
            env=_environment(folder, stack.enter_context(_scrapy())),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            encoding="utf-8",
        )
        try:
            text, _ = shell.communicate(timeout=300)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    text = _renamed(text, {f"{folder}/": "", **{real: name for name, real in names.items()}})
    text = re.sub(r"localhost:\d{5}", "localhost:8000", text)  # a server of the page itself
    return [one.rstrip("\n") + "\n" for one in re.split(r"\n@@ \d+\n", text)[1:]]


def _answers(scripted: Scripted, names: dict[str, str]) -> list[Answer]:
    """The answers of a script, with the real names of the sites."""
    answers = sequence(scripted).answers
    return [replace(one, body=_renamed(one.octets.decode(), names)) for one in answers]


def _renamed(text: str, names: dict[str, str]) -> str:
    for name, other in names.items():
        text = text.replace(name, other)
    return text


def _environment(folder: Path, commands: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "_proxy" not in name.lower()}
    places = str(commands), str(Path(sys.executable).parent), os.environ["PATH"]
    folders = {name: str(folder / ".home") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    made = {"PATH": os.pathsep.join(places), "PYTHONPATH": str(_ROOT)}
    made["SSL_CERT_FILE"] = str(certificate())
    made["PYTHONUNBUFFERED"] = "1"  # lines come in the order of a terminal
    return {**kept, **folders, **made, "NO_COLOR": "1"}


def _settled(text: str) -> str:
    """A text without times and other values that each run changes."""
    for pattern, name in _CHANGING:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text


def _agree(call: Call, output: str) -> bool:
    gap = r"(?:.*\n)*"
    lines = [
        gap if _GAP.match(line) else re.escape(_settled(line)) + r"\n"
        for line in (call.shown or "").splitlines()
    ]
    pattern = gap.join(["", *lines, ""]) if call.is_log else "".join(lines)
    return re.fullmatch(pattern, _settled(output)) is not None


def made(name: str, play: Play) -> str:
    """A page with its outputs."""
    page = (_DOCS / name).read_text(encoding="utf-8")
    calls = _calls(page, play)
    for call, output in zip(calls, outputs(calls, play), strict=True):
        if call.shown is None or _agree(call, output):
            continue
        if call.is_log or any(_GAP.match(line) for line in call.shown.splitlines()):
            sys.exit(f"docs/{name} shows\n\n{call.shown}\nof this output:\n\n{output}")
        page = page.replace(f"$ {call.command}\n{call.shown}", f"$ {call.command}\n{output}")
    return page


def main() -> None:
    """Write all pages that have outputs, or some."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _DOCS
    names = sys.argv[2:] or sorted(path.name for path in _DOCS.glob("*.md"))
    with ThreadPoolExecutor(2) as threads:
        pages = [*threads.map(lambda name: made(name, PLAYS.get(name, Play(()))), names)]
    for name, page in zip(names, pages, strict=True):
        (folder / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
