"""``scrapy rep`` on terminals, in pipes, and with outputs that cannot be written."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from scrapy_rep.commands.subcommands import SUBCOMMANDS
from scrapy_rep.commands.terminal import Terminal, harmless
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import file_entry, usual_key
from tests.commands.calling import LOOPS, Stream, rep, stored
from tests.commands.terminals import on_terminal, plain_environment
from tests.extras import skip_refused
from tests.processes import REPOSITORY, Scrapy
from tests.servers.handle import Answer, Site

ESCAPED = "".join(
    char
    for char in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char not in "\n\t\u00ad"
)
"""What no terminal may get from a site, except surrogates: none of it is in valid UTF-8."""

# Colours, titles, the bell, the cursor, C1 and turned text: a terminal obeys all of them.
HOSTILE = "\x1b[31m\x1b]0;title\x07\x1b[2J\x08\x9b1m\u202egpj.exe\x7f\u2066".encode()
HOSTILE += ESCAPED.translate({ord("\r"): None, 0: None}).encode()
SURROGATE = b"# \xed\xb2\x80\n"
HOSTILE_FILE = b"".join(
    [
        b"# comment " + HOSTILE + b"\n",
        b"User-agent: foo" + HOSTILE + b"\nDisallow: /a" + HOSTILE + b"\nAllow: /b\n",
        b"Key-" + HOSTILE + b": value\nCrawl-delay: " + HOSTILE + b"\n",
        b"User-agent: *\nDisallow: x" + HOSTILE + b"\nNoindex: /" + HOSTILE + b"\n",
        b"Host: " + HOSTILE + b"\nClean-param: a" + HOSTILE + b"\n",
        b"Sitemap: https://h/" + HOSTILE + b"\nLicense: " + HOSTILE + b"\n",
        b"Content-Signal: " + HOSTILE + b"=no\nContent-Usage: /" + HOSTILE + b" train-ai=n\n",
    ]
)
FILE = b"User-agent: *\nDisallow: /a b\nDisallow: c\n"
HIDING_FILE = (
    b"User-agent: *\nDisallow: /\x1b[8mx\nLicense: \x1b[8m\nLicense: \x1b[8m\n# \x1b[8m\nAllow: \n"
)
_OBEYED = re.compile(f"[{re.escape(ESCAPED)}\ud800-\udfff]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(120)
        yield server


class TestWaiting:
    def test_terminal_shows_the_wait(self, silent: socket.socket) -> None:
        with (
            Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site,
            on_terminal("lint", _url(silent), site.url(), "-s", "REP_STORE=memory") as screen,
        ):
            shown = screen.read(until="1 of 2 done: ")
            assert "fetching robots.txt, 1 of 2 done: " in shown

    @pytest.mark.parametrize("loop", LOOPS)
    def test_ctrl_c_ends_a_fetch(self, silent: socket.socket, loop: str) -> None:
        """It does not wait for the answer."""
        options = ["-s", "REP_STORE=memory", "-s", "REP_FETCH_TIMEOUT_SECONDS=600", *LOOPS[loop]]
        with on_terminal("lint", _url(silent), *options) as screen, silent.accept()[0]:
            screen.type("\x03")
            assert screen.status(60) == 130
            assert "Traceback" not in screen.text

    @pytest.mark.slow
    def test_ctrl_c_ends_the_reading_of_urls(self) -> None:
        options = ["--agent", "x", "-s", "REP_STORE=memory"]
        with Site() as site, on_terminal("check", "-", *options) as screen:
            screen.type(site.url("/b\n"))
            assert "\tx\t" in screen.read(until="\tx\t")
            screen.type("\x03")
            assert screen.status() == 130
            assert "Traceback" not in screen.text


class TestLineByLine:
    """``check -`` judges each URL as soon as it is read."""

    @pytest.mark.slow
    def test_sites_are_judged_line_by_line(self) -> None:
        with (
            Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site,
            _interactive("check", "-", "--agent", "x", "-s", "REP_STORE=memory") as process,
        ):
            for url, word in ((site.url("/a"), "disallowed"), (site.url("/b"), "allowed")):
                assert _answer(process, url).startswith(f"{word}\tx\t")
            assert _answer(process, f"http://localhost:{site.port}/a").startswith("disallowed")
            assert _answer(process, "https://[\n" + site.url("/c")).startswith("allowed")
            process.stdin.close()  # type: ignore[union-attr]
            assert process.wait(20) == 2
            assert b"https://[" in process.stderr.read()  # type: ignore[union-attr]

    @pytest.mark.slow
    def test_files_are_judged_line_by_line(self, robots: Path) -> None:
        arguments = ["check", "-", "--agent", "x", "--robots", robots]
        with _interactive(*arguments, folder=robots.parent) as process:
            assert _answer(process, "/b").startswith("allowed")
            assert _answer(process, "/a%20b").startswith("disallowed")

    @pytest.mark.slow
    def test_many_urls_are_judged_in_their_order_by_one_fetch(self) -> None:
        """A slow site delays the answers after it, and nothing else is written."""
        slow = Answer(body="User-agent: *\nDisallow: /a\n", delay_seconds=1.5)
        with Site({"/robots.txt": slow}) as late, Site() as fast:
            urls = [late.url("/a"), *(fast.url(f"/{n}") for n in range(3000)), late.url("/b")]
            done = _process(
                *("check", "-", "--agent", "x", "-s", "REP_STORE=memory"),
                stdin="\n".join(urls).encode(),
            )
            assert late.paths() == fast.paths() == ["/robots.txt"]
        assert (done.returncode, done.stderr) == (1, b"")
        rows = [line.split(b"\t") for line in done.stdout.splitlines()]
        assert [row[4].decode() for row in rows] == urls
        assert [row[0] for row in rows] == [b"disallowed", *[b"allowed"] * 3001]


class TestBar:
    def test_bar_stays_while_output_goes_to_a_file(self, robots: Path, tmp_path: Path) -> None:
        """Each URL comes once the bar has counted the one before."""
        arguments = ["check", "-", "--agent", "x", "--robots", robots]
        pipe, out = tmp_path / "pipe", tmp_path / "out"
        os.mkfifo(pipe)
        with on_terminal(*arguments, stdin=pipe, stdout=out) as screen:
            with pipe.open("w") as urls:
                for count in range(1, 4):
                    urls.write(f"/{count}\n")
                    urls.flush()
                    assert f"{count} URLs: " in screen.read(until=f"{count} URLs: ")
            assert screen.status() == 0
        cleared = re.findall(r"\r +\r", screen.text)
        assert len(cleared) == 1, "only at the end"
        assert len(out.read_text().splitlines()) == 3

    def test_bar_has_the_number_of_all_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TERM", "xterm")
        written: Queue[str] = Queue()
        stream: Any = SimpleNamespace(
            isatty=lambda: True, closed=False, write=written.put, flush=lambda: None
        )
        for _ in Terminal(None, stream).progress(["robots.txt"], "files"):
            assert "0 of 1 files: " in written.get(timeout=60)


class TestHelp:
    @pytest.mark.parametrize("subcommand", SUBCOMMANDS)
    def test_help_wraps_at_the_width_of_the_terminal(self, subcommand: str) -> None:
        """Examples are not wrapped, and names not split, so that users can copy them."""
        for columns in (72, 120):
            lines = _help(subcommand, columns).split("\n")
            assert max(len(line) for line in lines if "scrapy rep" not in line) <= columns
            assert any(line.startswith("exit status: ") for line in lines)
        if subcommand == "lint":
            text = _help("lint", 72)
            assert "\n  scrapy rep lint robots.txt\n  scrapy rep lint https" in text
            assert "[tool.scrapy-rep.lint]" in text


def test_url_is_not_split() -> None:
    url = f"https://example.com/{'a' * 200}"
    stream = Stream(is_terminal=True)
    lines = Terminal(stream, stream).wrapped(f"the sitemap is of another host: {url}").split("\n")
    assert [line.strip() for line in lines] == ["the sitemap is of another host:", url]


class TestOutput:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "call",
        [
            "lint robots.txt >/dev/full",
            "format robots.txt >/dev/full",
            "check - --robots robots.txt --agent x <urls >/dev/full",
            "lint robots.txt >&-",
        ],
    )
    def test_unwritable_output_ends_with_74(self, robots: Path, call: str) -> None:
        (robots.parent / "urls").write_text("/a\n/b\n")
        done = _shell(call, robots.parent)
        assert done.returncode == 74
        assert re.fullmatch(rb"scrapy rep \w+: standard output .+\n", done.stderr)

    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["2>&-", "2>/dev/full"])
    def test_closed_standard_error_is_ignored(self, robots: Path, how: str) -> None:
        done = _shell(f"lint robots.txt none {how}", robots.parent)
        assert done.returncode == 2
        assert b"REP401 error" in done.stdout

    @pytest.mark.slow
    def test_closed_standard_input_is_an_error(self, robots: Path) -> None:
        done = _shell("check - --robots robots.txt <&-", robots.parent)
        assert done.returncode == 2
        assert b"standard input ('-') is closed" in done.stderr
        assert b"Traceback" not in done.stderr

    def test_unwritable_pidfile_is_an_error(self, robots: Path) -> None:
        done = _shell("lint robots.txt --pidfile none/pid", robots.parent)
        assert done.returncode == 2
        assert b"error: none/pid: No such file or directory" in done.stderr
        assert b"Traceback" not in done.stderr

    def test_closed_pipe_is_not_an_error(self, robots: Path) -> None:
        robots.write_bytes(b"User-agent: *\n" + b"Disallow: c\n" * 900)
        done = _shell("lint robots.txt --all --select REP401 | head -1", robots.parent)
        assert done.stdout.count(b"\n") == 1
        assert done.stderr == b""


class TestTerminal:
    @pytest.mark.parametrize(
        "call",
        [
            *("lint {} --select all --all", "lint {} --json", "lint {} --output-format sarif"),
            *("lint {} --diff --select all", "lint no{}", "format {} --keep-errors"),
            *("diff {} other.txt", "diff {} other.txt --json", "agents {} /\x1b[8m"),
            *("check /\x1b[8m --robots {} --rules", "check /b --robots {} --agent foo --json"),
        ],
    )
    @pytest.mark.usefixtures("here")
    def test_commands_escape_control_characters(self, call: str) -> None:
        """A name and a file may conceal what follows with a colour, as ours are written."""
        name = "\x1b[8mrobots.txt"
        Path(name).write_bytes(HOSTILE_FILE + HIDING_FILE + SURROGATE)
        Path("other.txt").write_bytes(b"User-agent: *\nDisallow: /z\n")
        done = rep(*call.format(name).split(" "), is_terminal=True)
        assert "\\x1b[8m" in done.out + done.err or "--json" in call or "sarif" in call
        written = re.sub(r"(?:\r[^\r\n]*)+\r", "", done.out + done.err)  # a status line
        assert not _OBEYED.search(_COLOUR.sub("", written))
        assert "\x1b[8m" not in written

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "call",
        [
            *("lint {url}", "lint {file} --diff --select all", "lint {file} --json"),
            *("format {file} --keep-errors", "format {file} --keep-errors --diff"),
            *("diff {file} {url}", "agents {file} /", "agents {file} --disallow training"),
            *("check {url}a", "check --rules {url}a", "check {url} --json", "check --usage {url}"),
            *("check --page {url}page", "check --sitemap {url}", "plan {url}", "watch {url}"),
            *("cache list", "cache show {url}", "cache show --body {url}", "cache log {url}"),
            *("audit explain {run} {judged}", "audit export {run}", "audit list {runs}"),
            *("audit export {run} --format csv", "audit verify {run}", "audit replay {run}"),
        ],
    )
    def test_pseudo_terminal_gets_no_control_characters(self, call: str, tmp_path: Path) -> None:
        """Each command that shows octets of a site, of a store or of a trail."""
        text = b"# Most of the file is text.\n" * 400
        file = tmp_path / "robots.txt"
        file.write_bytes(text + HOSTILE_FILE + SURROGATE)
        page = b"<title>" + HOSTILE + b"</title><meta name=robots content='" + HOSTILE + b"'>"
        sitemap = b"<urlset><url><loc>https://h/" + HOSTILE + b"</loc></url></urlset>"
        run = tmp_path / "runs"
        if call.startswith("audit"):
            pytest.importorskip("scrapy_rep.extras.evidence")
            from tests.extras.evidence.audit.making import Judged

            crawl = Judged(run)
            crawl.know("h.example", HOSTILE_FILE.replace(b"/a", b"/*"))
            crawl.judge(["https://h.example/a"])
            run = crawl.end().path
        with Site(
            {
                "/robots.txt": Answer(body=file.read_bytes(), headers=[("License", "x\u061cy")]),
                "/page": Answer(body=page, headers=[("Content-Type", "text/html")]),
                "/sitemap.xml": Answer(body=sitemap),
            }
        ) as site:
            url = site.url("/")
            origin = Origin.of(url)
            assert origin is not None
            entry = file_entry(usual_key(origin), at=time.time(), body=file.read_bytes())
            settings = stored(tmp_path, entry)
            words = call.format(
                url=url, file=file, run=run, runs=run.parent, judged="https://h.example/a"
            )
            given = [f"{name}={value}" for name, value in settings.items()]
            options = [one for setting in given for one in ("-s", setting)]
            with on_terminal(*words.split(), *options) as screen:
                screen.status()
        written = screen.text.replace("\r", "")  # of the progress line
        assert not _OBEYED.search(_COLOUR.sub("", written)), written
        assert "\x1b[8m" not in written
        assert screen.text

    def test_table_of_a_forged_trail_is_escaped(self, tmp_path: Path) -> None:
        pytest.importorskip("scrapy_rep.extras.evidence")
        from tests.extras.evidence.audit.making import Judged
        from tests.extras.evidence.report.test_first_lines import forged

        crawl = Judged(tmp_path)
        crawl.know("h.example")
        crawl.judge(["https://h.example/private"])
        run = crawl.end()
        forged(run, {"t": "decision"}, {"rule": f"Disallow: /{ESCAPED}\udc80"})
        call = ["audit", "export", run.path, "--format", "csv"]
        done = rep(*call, is_terminal=True)
        assert "\\u061c" in done.out
        assert not _OBEYED.search(done.out.replace("\r\n", ""))

    def test_commands_write_only_by_the_terminal(self) -> None:
        """So that one table decides what is escaped."""
        others = {"terminal.py", "running.py", "subcommands.py", "engine_work.py"}
        for path in (REPOSITORY / "scrapy_rep" / "commands").rglob("*.py"):
            if path.name not in others:
                assert not re.search(r"\bprint\(|sys\.std(out|err)", path.read_text("utf-8")), path

    def test_octets_are_unchanged_in_a_pipe(self, here: Path) -> None:
        text = b"# Most of the file is text.\n" * 40
        (here / "robots.txt").write_bytes(text + HOSTILE_FILE)
        assert HOSTILE.decode() in rep("format", "robots.txt", "--keep-errors").out

    def test_harmless_escapes_control_characters(self) -> None:
        assert harmless("a\tb\n\x1b[1;31mc é 漢") == "a\tb\n\\x1b[1;31mc é 漢"
        assert harmless("\x1b[2J\x1b]0;\x07\r\x9b\u202e") == "\\x1b[2J\\x1b]0;\\x07\\r\\x9b\\u202e"
        assert harmless("\u061c\u200b\udcff soft\u00adhyphen") == (
            "\\u061c\\u200b\\udcff soft\u00adhyphen"
        )
        for char in ESCAPED:
            assert harmless(char) == char.encode("unicode_escape").decode()


def _url(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/"


def _process(
    *arguments: object, stdin: bytes = b"", folder: Path = REPOSITORY
) -> subprocess.CompletedProcess[bytes]:
    return Scrapy(
        "rep", *arguments, stdin=stdin, environment=plain_environment(), folder=folder
    ).end()


def _shell(call: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    skip_refused(call.split())
    return subprocess.run(
        ["/bin/bash", "-c", f"{sys.executable} -m scrapy rep {call}"],
        cwd=folder,
        env={**plain_environment(), "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )


def _interactive(*arguments: object, folder: Path = REPOSITORY) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", "rep", *map(str, arguments)],
        cwd=folder,
        env={**plain_environment(), "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _answer(process: subprocess.Popen[bytes], url: str) -> str:
    """The answer to a URL, before the next one is written."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(url.encode() + b"\n")
    process.stdin.flush()
    return process.stdout.readline().decode()


def _help(subcommand: str, columns: int) -> str:
    return rep(subcommand, "-h", environment={"COLUMNS": str(columns)}).out
