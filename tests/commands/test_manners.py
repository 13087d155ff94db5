"""``scrapy rep`` on terminals, in pipes, and with outputs that cannot be written."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_rep.commands.subcommands import SUBCOMMANDS
from scrapy_rep.commands.terminal import Terminal, harmless
from tests.commands.calling import LOOPS, Stream, rep
from tests.commands.terminals import on_terminal, plain_environment
from tests.processes import REPOSITORY, Scrapy
from tests.servers.handle import Answer, Site

# Colours, titles, the bell, the cursor, C1 and turned text: a terminal obeys all of them.
HOSTILE = "\x1b[31m\x1b]0;title\x07\x1b[2J\x08\x9b1m\u202egpj.exe\x7f\u2066".encode()
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
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


class TestWaiting:
    def test_terminal_shows_the_wait(self, silent: str) -> None:
        with on_terminal("check", silent, "-s", "REP_STORE=memory") as screen:
            assert f"fetching {silent}robots.txt: 1 s" in screen.read(until=": 1 s")
            assert f"fetching {silent}robots.txt: 3 s" in screen.read(until=": 3 s")

    @pytest.mark.slow
    def test_terminal_counts_finished_fetches(self, silent: str) -> None:
        with (
            Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site,
            on_terminal("lint", silent, site.url(), "-s", "REP_STORE=memory") as screen,
        ):
            assert "fetching robots.txt, 1 of 2 done" in screen.read(until="1 of 2 done")

    @pytest.mark.slow
    def test_pipe_gets_no_progress(self) -> None:
        with Site({"/robots.txt": Answer(body="", delay_seconds=1.2)}) as site:
            done = _process("check", site.url(), "-s", "REP_STORE=memory")
        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.parametrize(
        ("subcommand", "loop"),
        [
            ("lint", "asyncio"),
            pytest.param("lint", "select", marks=pytest.mark.slow),
            pytest.param("lint", "reactorless", marks=pytest.mark.slow),
            *(pytest.param("check", loop, marks=pytest.mark.slow) for loop in LOOPS),
        ],
    )
    def test_ctrl_c_ends_a_fetch_within_a_second(
        self, silent: str, subcommand: str, loop: str
    ) -> None:
        options = ["-s", "REP_STORE=memory", *LOOPS[loop]]
        with on_terminal(subcommand, silent, *options) as screen:
            screen.read(until=": 1 s")
            pressed_at = time.monotonic()
            screen.type("\x03")
            assert screen.status(10) == 130
            assert time.monotonic() - pressed_at < 1
            assert "Traceback" not in screen.text

    @pytest.mark.slow
    def test_ctrl_c_ends_the_reading_of_urls(self) -> None:
        with on_terminal("check", "-", "--agent", "x", "-s", "REP_STORE=memory") as screen:
            time.sleep(3)
            screen.type("\x03")
            assert screen.status(10) == 130
            assert "Traceback" not in screen.text


class TestLineByLine:
    """``check -`` judges each URL as soon as it is read."""

    @pytest.mark.slow
    @pytest.mark.parametrize("loop", LOOPS)
    def test_sites_are_judged_line_by_line(self, loop: str, tmp_path: Path) -> None:
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site:
            options = ["--agent", "x", "-s", f"REP_STORE_PATH={tmp_path / 's'}", *LOOPS[loop]]
            with _interactive("check", "-", *options) as process:
                for url, word in ((site.url("/a"), "disallowed"), (site.url("/b"), "allowed")):
                    assert _answer(process, url).startswith(f"{word}\tx\t")
                assert _answer(process, f"http://localhost:{site.port}/a").startswith("disallowed")
                assert _answer(process, "https://[\n" + site.url("/c")).startswith("allowed")
                process.stdin.close()  # type: ignore[union-attr]
                assert process.wait(20) == 2
                assert b"https://[" in process.stderr.read()  # type: ignore[union-attr]

    @pytest.mark.slow
    @pytest.mark.parametrize("options", [["--robots", "robots.txt"], ["--cached"]])
    def test_files_and_store_are_judged_line_by_line(
        self, robots: Path, options: list[str]
    ) -> None:
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site:
            store = ["-s", f"REP_STORE_PATH={robots.parent / 'store'}"]
            assert _process("check", site.url(), *store).returncode == 0
            arguments = ["check", "-", "--agent", "x", *options, *store]
            with _interactive(*arguments, folder=robots.parent) as process:
                assert _answer(process, site.url("/b")).startswith("allowed")
                assert _answer(process, site.url("/a%20b")).startswith("disallowed")

    @pytest.mark.slow
    def test_slow_site_does_not_change_the_order(self, tmp_path: Path) -> None:
        file = "User-agent: *\nDisallow: /a\n"
        with (
            Site({"/robots.txt": Answer(body=file, delay_seconds=1.5)}) as slow,
            Site({"/robots.txt": Answer(body=file)}) as fast,
        ):
            urls = [slow.url("/a"), fast.url("/1"), slow.url("/b"), fast.url("/a")]
            done = _process(
                *["check", "-", "--agent", "x", "-s", f"REP_STORE_PATH={tmp_path / 's'}"],
                stdin="\n".join(urls).encode(),
            )
        rows = [line.split(b"\t") for line in done.stdout.splitlines()]
        assert [row[4].decode() for row in rows] == urls
        assert [row[0] for row in rows] == [b"disallowed", b"allowed", b"allowed", b"disallowed"]
        assert done.returncode == 1

    @pytest.mark.slow
    def test_many_urls_need_one_fetch(self, tmp_path: Path) -> None:
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site:
            urls = [site.url(f"/{n}") for n in range(3000)]
            done = _process(
                *["check", "-", "--agent", "x", "-s", f"REP_STORE_PATH={tmp_path / 's'}"],
                stdin="\n".join(urls).encode(),
            )
            assert site.paths() == ["/robots.txt"]
        assert (done.returncode, done.stderr) == (0, b"")
        assert len(done.stdout.splitlines()) == 3000


class TestBar:
    def test_bar_stays_while_output_goes_to_a_file(self, robots: Path, tmp_path: Path) -> None:
        paths = [f"/{n}" for n in range(80_000)]
        arguments = ["check", "--agent", "x", "--no-explain", "--robots", robots, *paths]
        with on_terminal(*arguments, stdout=tmp_path / "out") as screen:
            assert screen.status(60) == 0
        assert "of 80,000 URLs" in screen.text
        cleared = re.findall(r"\r +\r", screen.text)
        assert len(cleared) == 1, "only at the end"
        assert len((tmp_path / "out").read_text().splitlines()) == 80_000


class TestHelp:
    @pytest.mark.parametrize("subcommand", SUBCOMMANDS)
    def test_help_wraps_at_the_width_of_the_terminal(self, subcommand: str) -> None:
        for columns in (72, 80, 120):
            text = _help(subcommand, columns)
            # Examples are not wrapped, so that users can copy them.
            lines = [line for line in text.split("\n") if "scrapy rep" not in line]
            assert max(map(len, lines)) <= columns
            number = next(n for n, line in enumerate(lines) if line.startswith("exit status:"))
            is_over = not lines[number + 1].strip()
            assert is_over or len(lines[number]) > columns * 0.7

    def test_names_are_not_split(self) -> None:
        assert "[tool.scrapy-rep.lint]" in _help("lint", 80)
        assert "ai-search" in _help("agents", 80)

    def test_examples_are_not_wrapped(self) -> None:
        examples = _help("lint", 80).partition("Examples:\n")[2].partition("\n\n")[0]
        assert examples.count("scrapy rep lint") == 8
        assert "\n  scrapy rep lint robots.txt\n  scrapy rep lint https" in _help("lint", 60)


def test_url_is_not_split() -> None:
    url = f"https://example.com/{'a' * 200}"
    stream = Stream(is_terminal=True)
    lines = Terminal(stream, stream).wrapped(f"the sitemap is of another host: {url}").split("\n")
    assert [line.strip() for line in lines] == ["the sitemap is of another host:", url]


class TestOutput:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("call", "how"),
        [
            *(
                (call, ">/dev/full")
                for call in (
                    "lint robots.txt",
                    "lint robots.txt --output-format sarif",
                    "lint robots.txt --json",
                    "format robots.txt",
                    "diff robots.txt other.txt",
                    "check /a /b --robots robots.txt --agent x",
                    "check - --robots robots.txt --agent x </dev/zero",
                )
            ),
            ("lint robots.txt", ">&-"),  # all commands look at that in one place
            ("check - --robots robots.txt --agent x </dev/zero", ">&-"),
        ],
    )
    def test_unwritable_output_ends_with_74(self, robots: Path, call: str, how: str) -> None:
        (robots.parent / "other.txt").write_text("User-agent: *\nDisallow: /\n")
        if "/dev/zero" in call:
            (robots.parent / "urls").write_text("/a\n/b\n")
            call = call.replace("/dev/zero", "urls")
        done = _shell(f"{call} {how}", robots.parent)
        assert done.returncode == 74
        assert re.fullmatch(rb"scrapy rep \w+: standard output .+\n", done.stderr)

    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["2>&-", "2>/dev/full", "<&-"])
    def test_closed_standard_error_is_ignored(self, robots: Path, how: str) -> None:
        done = _shell(f"lint robots.txt none {how}", robots.parent)
        assert done.returncode == 2
        assert b"REP401 error" in done.stdout
        assert b"Traceback" not in done.stderr

    @pytest.mark.slow
    def test_closed_standard_input_is_an_error(self, robots: Path) -> None:
        for call in ("lint -", "format -", "check -", "check - --robots robots.txt"):
            done = _shell(f"{call} <&-", robots.parent)
            assert done.returncode == 2, call
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
            ["lint", "robots.txt", "--select", "all"],
            ["lint", "robots.txt", "--select", "all", "--all"],
            ["lint", "robots.txt", "--select", "all", "--json"],
            ["lint", "robots.txt", "--select", "all", "--output-format", "sarif"],
            ["lint", "robots.txt", "--select", "all", "--diff"],
            ["lint", "robots.txt", "--statistics"],
            ["format", "robots.txt"],
            ["format", "robots.txt", "--mode", "compatible", "--diff"],
            ["diff", "robots.txt", "other.txt"],
            ["diff", "robots.txt", "other.txt", "--json"],
            ["check", "/a\x1b[31m", "--robots", "robots.txt", "--agent", "foo"],
            ["check", "/b", "--robots", "robots.txt", "--agent", "foo", "--json"],
        ],
        ids=" ".join,
    )
    @pytest.mark.usefixtures("here")
    def test_commands_escape_control_characters(self, call: list[str]) -> None:
        Path("robots.txt").write_bytes(HOSTILE_FILE)
        Path("other.txt").write_bytes(b"User-agent: *\nDisallow: /z\n")
        done = rep(*call, is_terminal=True)
        written = re.sub(r"\r[^\n]*?\r", "", done.out + done.err)
        assert not _OBEYED.search(_COLOUR.sub("", written))
        assert "\x1b[2J" not in written
        assert "\x1b]" not in written

    @pytest.mark.parametrize(
        "call",
        [
            ["format", "{}"],
            ["format", "{}", "--diff"],
            ["lint", "{}", "--select", "all", "--all"],
            ["lint", "{}", "--diff", "--select", "all"],
            ["lint", "no{}"],
            ["check", "/\x1b[8m", "--robots", "{}", "--rules"],
            ["agents", "{}", "/\x1b[8m"],
            ["diff", "{}", "other.txt"],
        ],
        ids=" ".join,
    )
    @pytest.mark.usefixtures("here")
    def test_colours_in_files_and_names_are_escaped(self, call: list[str]) -> None:
        name = "\x1b[8mrobots.txt"  # conceals what follows
        Path(name).write_bytes(HIDING_FILE)
        Path("other.txt").write_bytes(b"User-agent: *\nDisallow: /z\n")
        done = rep(*(word.format(name) for word in call), is_terminal=True)
        assert "\\x1b[8m" in done.out + done.err
        assert "\x1b[8m" not in done.out + done.err

    def test_octets_are_unchanged_in_a_pipe(self, tmp_path: Path) -> None:
        text = b"# Most of the file is text.\n" * 40
        (tmp_path / "robots.txt").write_bytes(text + HOSTILE_FILE)
        done = _process("format", "robots.txt", "--keep-errors", folder=tmp_path)
        assert HOSTILE in done.stdout

    def test_harmless_escapes_control_characters(self) -> None:
        assert harmless("a\tb\n\x1b[1;31mc é 漢") == "a\tb\n\\x1b[1;31mc é 漢"
        assert harmless("\x1b[2J\x1b]0;\x07\r\x9b\u202e") == "\\x1b[2J\\x1b]0;\\x07\\r\\x9b\\u202e"


def _process(
    *arguments: object, stdin: bytes = b"", folder: Path = REPOSITORY
) -> subprocess.CompletedProcess[bytes]:
    return Scrapy(
        "rep", *arguments, stdin=stdin, environment=plain_environment(), folder=folder
    ).end()


def _shell(call: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
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
