"""``scrapy rep`` as a process: its start, completion, and real sites."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from scrapy_rep.commands.subcommands import main
from tests.commands.calling import LOOPS, rep, rep_process
from tests.extras import needs, skip_refused
from tests.processes import REPOSITORY, without_proxies
from tests.redis_server import RedisServer
from tests.servers.handle import Answer, Site, free_port, redirect

_LIGHT = {
    *("scrapy_rep", "scrapy_rep.commands"),
    *("scrapy_rep.commands.scrapy_command", "scrapy_rep.commands.subcommands"),
    "scrapy_rep.extras",
}
_OF_FILES = (
    *(
        "lint robots.txt",
        "lint robots.txt --output-format gitlab",
        "lint none.txt",
        "lint --explain REP401",
    ),
    *("format robots.txt --diff", "diff robots.txt robots.txt --agent x", "agents robots.txt"),
)


class TestStart:
    """The command costs other commands nothing, and does not break them."""

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

    def test_files_are_read_without_scrapy(self, here: Path) -> None:
        """``scrapy-rep`` does the same as ``scrapy rep``, in a fraction of the time."""
        (here / "robots.txt").write_bytes(b"User-agent: *\nDisallow: private/\n")
        done, loaded = _script(_OF_FILES, here)
        assert not loaded & {"scrapy", "twisted", "zope", "lxml"}
        whole = [rep(*call.split()) for call in _OF_FILES]
        assert done.stdout.decode() == "".join(f"{one.out}{one.status}\n" for one in whole)
        told = "".join(one.err for one in whole)
        assert done.stderr.decode() == told.replace("scrapy rep", "scrapy-rep")

    def test_wrong_calls_name_the_mistake(self, here: Path) -> None:
        """An option that the command does not know may be one of Scrapy's."""
        for call, needs_scrapy, words in (
            ("chek robots.txt", False, b"invalid choice: 'chek'"),
            ("lint robots.txt --no-such-option", True, b"unrecognized arguments: --no-such-option"),
        ):
            done, loaded = _script([call], here)
            assert (done.stdout, "scrapy" in loaded) == (b"2\n", needs_scrapy)
            assert words in done.stderr

    @pytest.mark.slow
    def test_url_loads_scrapy(self, here: Path) -> None:
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: b\n")}) as site:
            done, loaded = _script([f"lint {site.url()} -s REP_STORE=memory"], here)
        assert done.stdout.endswith(b"1\n"), done.stderr
        assert "scrapy" in loaded

    @needs("webmaster")
    @pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
    def test_shells_complete_subcommands_options_and_files(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pytest.importorskip("shtab")
        (here / "new.txt").touch()
        scripts = {}
        for shell in ("bash", "zsh"):
            monkeypatch.setattr(sys, "argv", ["scrapy-rep", "--print-completion", shell])
            with pytest.raises(SystemExit, match="0"):
                main()
            scripts[shell] = capsys.readouterr().out
        assert scripts["zsh"].startswith("#compdef scrapy-rep\n")
        assert ":a file, a URL, or - for standard input:_files" in scripts["zsh"]
        (here / "script").write_text(scripts["bash"])
        for words, completed in (
            ("li", "lint"),
            ("lint --output-format gi", "github gitlab"),
            ("check --robots ne", "new.txt"),
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

    def test_missing_package_is_named(self, here: Path) -> None:
        done, _ = _script(["fleet"], here, missing="redis")
        assert done.stdout == b"2\n"
        assert b"Traceback" not in done.stderr
        assert b'pip install "scrapy-rep[redis]"' in done.stderr

    @pytest.mark.parametrize("call", ["check http://a/b", "lint http://a/b", "audit list ."])
    @pytest.mark.parametrize(
        ("missing", "owner"),
        [("scrapy", "scrapy-rep"), ("twisted", "Scrapy"), ("zope", "Twisted")],
    )
    def test_missing_dependency_is_one_line(
        self, here: Path, missing: str, owner: str, call: str
    ) -> None:
        """After ``pip install --no-deps``, for example."""
        done, _ = _script([call, "lint none.txt"], here, missing=missing)
        assert done.stdout == b"2\n2\n"
        first, second = done.stderr.decode().splitlines()
        words, advice = (
            f"{owner} needs the package {missing}: ",
            f" -m pip install {owner} installs it",
        )
        name = call.partition(" ")[0]
        assert first.startswith(("scrapy-rep: ", f"scrapy-rep {name}: "))
        assert words.lower() in first.lower()
        assert first.lower().endswith(advice.lower())
        assert "none.txt" in second, "files are read without it"

    def test_missing_filelock_is_named(self, here: Path) -> None:
        done, _ = _script(["watch http://a/"], here, missing="filelock")
        assert b"scrapy-rep needs the package filelock: " in done.stderr
        assert (done.stdout, b"Traceback" in done.stderr) == (b"2\n", False)

    def test_package_that_the_project_lacks_is_not_ours(self, here: Path) -> None:
        (here / "scrapy.cfg").write_text("[settings]\ndefault = shop_settings\n")
        (here / "shop_settings.py").write_text("import no_such_package\n")
        done, _ = _script(["check http://a/b"], here)
        assert (done.stdout, done.stderr) == (b"No module named 'no_such_package'\n", b"")

    def test_version_without_scrapy(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def version(name: str) -> str:
            if name == "Scrapy":
                raise PackageNotFoundError(name)
            return "1.2"

        monkeypatch.setattr(metadata, "version", version)
        monkeypatch.setattr(sys, "argv", ["scrapy-rep", "--version"])
        with pytest.raises(SystemExit, match="0"):
            main()
        assert "scrapy-rep 1.2, Scrapy (not installed), Python 3" in capsys.readouterr().err


def _script(
    calls: Iterable[str], folder: Path, missing: str = "nothing"
) -> tuple[subprocess.CompletedProcess[bytes], set[str]]:
    """Calls of ``scrapy-rep`` in one process, without the `missing` package; what it loaded.

    The status of each call is written after its output.
    """
    calls = list(calls)
    skip_refused(word for call in calls for word in call.split())
    code = (
        "import sys; from pathlib import Path\n"
        f"sys.modules[{missing!r}] = None\n"
        "from scrapy_rep.commands.subcommands import main\n"
        f"for call in {calls!r}:\n"
        "    sys.argv = ['scrapy-rep', *call.split()]\n"
        "    try: main()\n"
        "    except SystemExit as leaving: print(leaving.code or 0)\n"
        "    except ImportError as error: print(error)\n"
        "Path('loaded').write_text(chr(10).join(sys.modules))"
    )
    environment = {**without_proxies(), "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, env=environment, check=False
    )
    names = (folder / "loaded").read_text().split()
    return done, {name.partition(".")[0] for name in names}


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
def test_other_subcommands_follow_redirects(tmp_path: Path) -> None:
    file = Answer(body="User-agent: *\nDisallow: /a\nAlow: /\n", etag='"1"')
    new = tmp_path / "new.txt"
    new.write_text("User-agent: *\nDisallow: /\n")
    with Site({"/robots.txt": [redirect("/r/robots.txt"), file], "/r/*": file}) as site:
        lint = rep_process("rep", "lint", site.url("/x"), "--select", "REP0,REP206")
        assert lint.status == 1, lint.err
        assert re.findall(r"REP\d+ \w+", lint.out) == ["REP007 info", "REP206 error"]
        diff = rep_process("rep", "diff", site.url(), new)
        told = f"scrapy rep diff: {site.url('/robots.txt')}: fetched now\n"
        assert (diff.status, diff.err) == (1, told)
        assert "+ 2 | Disallow: /" in diff.out
        given = rep_process("rep", "check", "/a", "--agent", "x", "--robots", site.url(), "--json")
        assert (given.status, json.loads(given.out)["line"]) == (1, 2)


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


@pytest.mark.slow
def test_lint_reports_a_slow_answer() -> None:
    slow = Answer(body="User-agent: *\nDisallow:\n", delay_seconds=5.2)
    with Site({"/robots.txt": slow}) as site:
        options = ["--select", "REP014", "--json", "-s", "REP_STORE=memory"]
        done = rep_process("rep", "lint", site.url(), *options)
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
