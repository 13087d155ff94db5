"""``scrapy rep`` as a process: its start, completion, and real sites."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.commands.calling import LOOPS, rep_process
from tests.processes import REPOSITORY, Scrapy, without_proxies
from tests.redis_server import RedisServer
from tests.servers.handle import Answer, Site, free_port, redirect

_LIGHT = {
    *("scrapy_rep", "scrapy_rep.commands"),
    *("scrapy_rep.commands.scrapy_command", "scrapy_rep.commands.subcommands"),
}


class TestStart:
    """The command costs other commands nothing, and does not break them."""

    def test_command_module_is_light(self) -> None:
        """After the modules of Scrapy, ``-X importtime`` shows four light ones."""
        done = subprocess.run(
            [
                sys.executable,
                "-X",
                "importtime",
                "-c",
                "import scrapy.cmdline, scrapy_rep.commands.scrapy_command",
            ],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = re.findall(r"\| +([\w.]+)$", done.stderr, re.MULTILINE)
        assert set(loaded[loaded.index("scrapy.cmdline") + 1 :]) == _LIGHT

    def test_other_commands_load_only_light_modules(self) -> None:
        """``scrapy version`` loads them by the entry point."""
        code = (
            "import sys; from scrapy.cmdline import execute\n"
            "try: execute(['scrapy', 'version'])\n"
            "except SystemExit as leaving: print(leaving.code or 0)\n"
            "print(*sorted(name for name in sys.modules if name.startswith('scrapy_rep')))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
        )
        version, status, loaded = done.stdout.splitlines()
        assert (version.split()[0], status, set(loaded.split())) == ("Scrapy", "0", _LIGHT)

    @pytest.mark.parametrize(
        "call",
        [
            *["lint robots.txt", "lint robots.txt --output-format junit", "rule REP401"],
            *["format robots.txt --diff", "diff robots.txt robots.txt --agent x"],
            *[
                "agents robots.txt",
                "--version",
                "lint none.txt",
                "lint robots.txt --no-such-option",
                "",
                "chek robots.txt",
            ],
        ],
    )
    def test_files_are_read_without_scrapy(self, here: Path, call: str) -> None:
        """``scrapy-rep`` does the same as ``scrapy rep``, in a fraction of the time."""
        (here / "robots.txt").write_bytes(b"User-agent: *\nDisallow: private/\n")
        short, loaded = _script(call, here)
        is_handed_on = "--no-such-option" in call  # it may be one of Scrapy's
        assert bool(loaded & {"scrapy", "twisted", "zope", "lxml"}) is is_handed_on
        whole = Scrapy("rep", *call.split(), folder=here).end()
        assert (short.returncode, short.stdout) == (whole.returncode, whole.stdout)
        # A usage names only the options that each has.
        is_usage = b"usage:" in whole.stderr
        assert is_usage is (b"usage:" in short.stderr)
        assert is_usage or short.stderr == whole.stderr.replace(b"scrapy rep", b"scrapy-rep")

    @pytest.mark.slow
    def test_urls_and_stores_load_scrapy(self, here: Path) -> None:
        (here / "robots.txt").write_bytes(b"User-agent: *\nDisallow: /a\n")
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: b\n")}) as site:
            for call, status in (
                ("check /a --robots robots.txt --agent x", 1),
                ("lint robots.txt -s REP_STORE=memory --nolog", 0),
                (f"lint {site.url()}", 1),
                (f"lint {site.url()} -s REP_STORE=memory", 1),
                (f"diff robots.txt {site.url()}", 1),
                ("cache list", 1),
            ):
                done, loaded = _script(call, here)
                assert done.returncode == status, done.stderr
                assert "scrapy" in loaded
                assert b"Traceback" not in done.stderr

    @pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
    def test_bash_completes(self, here: Path) -> None:
        pytest.importorskip("shtab")
        (here / "new.txt").touch()
        done, _ = _script("--print-completion bash", here)
        assert (done.returncode, done.stderr) == (0, b"")
        (here / "script").write_bytes(done.stdout)
        for words, completed in (
            ("li", "lint"),
            ("lint --out", "--output-format"),
            ("lint --output-format gi", "github gitlab"),
            ("check --robots ne", "new.txt"),
            ("agents ne", "new.txt"),
        ):
            code = (
                f"source ./script; COMP_WORDS=(scrapy-rep {words})\n"
                f"COMP_CWORD={len(words.split())}\n"
                '_shtab_scrapy_rep; echo "${COMPREPLY[@]}"'
            )
            found = subprocess.run(
                ["bash", "-c", code], cwd=here, capture_output=True, text=True, check=True
            )
            assert found.stdout == f"{completed}\n"

    def test_zsh_completes(self, here: Path) -> None:
        pytest.importorskip("shtab")
        done, _ = _script("--print-completion zsh", here)
        assert done.stdout.startswith(b"#compdef scrapy-rep\n")
        assert b":a file, a URL, or - for standard input:_files" in done.stdout

    def test_missing_package_is_named(self, here: Path) -> None:
        helped, _ = _script("fleet --help", here, missing="redis")
        assert (helped.returncode, b"--watch" in helped.stdout) == (0, True)
        done, _ = _script("fleet", here, missing="redis")
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr
        assert b'pip install "scrapy-rep[redis]"' in done.stderr

    @pytest.mark.slow
    def test_help_lists_the_command(self) -> None:
        listed = rep_process("-h")
        assert listed.status == 0
        assert "  rep           Test, lint, rewrite and compare robots.txt files" in listed.out
        assert "-s NAME=VALUE" in rep_process("rep", "lint", "-h").out


def _script(
    call: str, folder: Path, missing: str = "nothing"
) -> tuple[subprocess.CompletedProcess[bytes], set[str]]:
    """A call of ``scrapy-rep`` without the `missing` package, and the packages that it loaded."""
    code = (
        "import sys, atexit; from pathlib import Path\n"
        f"sys.modules[{missing!r}] = None\n"
        "from scrapy_rep.commands.subcommands import main\n"
        "atexit.register(lambda: Path('loaded').write_text(chr(10).join(sys.modules)))\n"
        f"sys.argv = ['scrapy-rep', *{call.split()!r}]; main()"
    )
    environment = {**without_proxies(), "PYTHONPATH": str(REPOSITORY)}
    environment |= dict.fromkeys(("HOME", "XDG_CACHE_HOME"), str(folder))  # where its store is
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, env=environment, check=False
    )
    names = (folder / "loaded").read_text().split()
    return done, {name.partition(".")[0] for name in names}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    file = Answer(body="User-agent: *\nDisallow: /a\nAlow: /\n", etag='"1"')
    with Site({"/robots.txt": [redirect("/r/robots.txt"), file], "/r/*": file}) as site:
        yield site


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_check_fetches_as_a_crawl_would(loop: str, tmp_path: Path) -> None:
    with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site:
        urls = [site.url("/a/1"), site.url("/b"), f"http://127.0.0.1:{free_port()}/"]
        options = ["--json", *LOOPS[loop], *_store(tmp_path), "-s", "REP_QUICK_RETRY_SECONDS="]
        done = rep_process("rep", "check", *urls, *options)
        assert done.status == 3, done.err
        rows = done.rows
        assert [(row["allowed"], row["line"]) for row in rows] == [
            (False, 2),
            (True, 0),
            (False, 0),
        ]
        assert rows[0]["access"]["hops"] == [site.url("/robots.txt")]
        assert [row["access"]["result"] for row in rows[1:]] == ["successful", "unreachable"]
        assert rows[2]["reason"] == "unreachable"
        assert [row["access"]["source"] for row in rows] == ["site"] * 3
        stored = rep_process("rep", "check", "--cached", *urls, *options).out
        assert stored.replace('"source": "store"', '"source": "site"') == done.out
        assert site.paths() == ["/robots.txt"], "no page is fetched, and the store is used first"


@pytest.mark.slow
def test_other_subcommands_follow_redirects(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "new.txt"
    file.write_text("User-agent: *\nDisallow: /\n")
    lint = rep_process("rep", "lint", site.url("/x"), "--select", "REP0,REP206")
    assert lint.status == 1, lint.err
    assert re.findall(r"REP\d+ \w+", lint.out) == ["REP007 info", "REP206 error"]
    diff = rep_process("rep", "diff", site.url(), file)
    asked = f"scrapy rep diff: {site.url('/robots.txt')}: fetched now\n"
    assert (diff.status, diff.err) == (1, asked)
    assert "+ 2 | Disallow: /" in diff.out
    given = rep_process("rep", "check", "/a", "--agent", "x", "--robots", site.url(), "--json")
    assert (given.status, json.loads(given.out)["line"]) == (1, 2)
    refreshed = rep_process("rep", "cache", "refresh", site.url(), *_store(tmp_path))
    assert (refreshed.status, refreshed.out) == (0, f"{site.url()[:-1]}: 200 (successful)\n")
    again = rep_process("rep", "cache", "refresh", "--all", *_store(tmp_path))
    assert (again.status, again.out) == (0, f"{site.url()[:-1]}: unchanged (304)\n")


@pytest.mark.slow
def test_refresh_uses_the_copy_in_redis(redis_server: RedisServer, tmp_path: Path) -> None:
    store = [*_store(tmp_path), "-s", f"REP_REDIS_URL={redis_server.url}"]
    file = Answer(body="User-agent: *\nDisallow: /a\n", etag='"1"')
    with Site({"/robots.txt": file}) as site:
        for origins, words in ((site.url(), "200 (successful)"), ("--all", "unchanged (304)")):
            done = rep_process("rep", "cache", "refresh", origins, *store)
            assert (done.status, done.out) == (0, f"{site.url()[:-1]}: {words}\n"), done.err
            assert "Error" not in done.err
        checked = rep_process("rep", "check", "--cached", site.url("/a"), *store)
        assert (checked.status, site.paths()) == (1, ["/robots.txt"] * 2)
    with redis_server.client() as client:
        assert len(client.keys("rep:{*}:p2:*")) == 1


@pytest.mark.slow
def test_unreachable_site_ends_with_3() -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    lint = rep_process("rep", "lint", url, "--json")
    assert (lint.status, json.loads(lint.out)["code"]) == (3, "REP006")
    diff = rep_process("rep", "diff", url, "pyproject.toml")
    assert diff.status == 3
    assert "is unreachable (refused)" in diff.err
    given = rep_process("rep", "check", "/a", "--robots", url)
    assert given.status == 3


class _Slow(BaseHTTPRequestHandler):
    """Answers after 5.2 seconds."""

    def do_GET(self) -> None:
        time.sleep(5.2)
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"User-agent: *\nDisallow:\n")


@pytest.mark.slow
def test_lint_reports_a_slow_answer() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        done = rep_process("rep", "lint", url, "--refresh", "--select", "REP014", "--json")
        server.shutdown()
    (row,) = done.rows
    assert (row["code"], row["severity"]) == ("REP014", "warning")


@pytest.mark.slow
def test_wrong_setting_is_explained() -> None:
    setting = ["-s", "REP_STORE=no.such.Store"]
    done = rep_process("rep", "check", "http://127.0.0.1:1/", "--agent", "x", *setting)
    assert done.status == 2
    assert "REP_STORE = 'no.such.Store' cannot be used" in done.err
    assert "Traceback" not in done.err


def _store(folder: Path) -> list[str]:
    return ["-s", f"REP_STORE_PATH={folder / 'store.sqlite'}"]
