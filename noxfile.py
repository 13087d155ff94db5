"""The matrix: each Python with each Scrapy that it can run.

`nox -l` lists the sessions; `nox -s "tests-3.10(scrapy='2.15')"` runs one. Tests run crawls in each
event loop by themselves. A Python that is not installed is skipped with a warning.
"""

from __future__ import annotations

import sys

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests", "lint", "docs"]

_PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
_SCRAPIES = {  # up to 2.18, with what Scrapy needs and does not bring to run without a reactor
    "2.15": ["Scrapy==2.15.*", "httpx"],
    "2.16": ["Scrapy==2.16.*", "httpx"],
    "2.17": ["Scrapy==2.17.*", "httpx"],
    "2.18": ["Scrapy[httpx]==2.18.*"],
    "newest": ["Scrapy"],
    "unreleased": ["Scrapy @ git+https://github.com/scrapy/scrapy"],
}


_OLDEST = "3.10", "2.15"
# Tests of what leans on Scrapy's insides, or of crawls that differ from release to release. All
# others give the same with each Scrapy, and with each Python that `tests` runs.
_DEPENDENT = [
    "tests/test_addon.py",
    "tests/test_loops.py",
    "tests/test_queue.py",
    "tests/test_robotparser.py",
    "tests/test_stock.py",
    "tests/cache/test_crawls.py::TestPlaces",
    "tests/commands/test_process.py",
    "tests/faults/test_endings.py",
    "tests/faults/test_events.py",
    "tests/protocol/test_vectors.py",
    "tests/crawls/test_access.py",
    "tests/crawls/test_asking.py",
    "tests/crawls/test_by_hand.py",
    "tests/crawls/test_carried.py",
    "tests/crawls/test_concurrency.py",
    "tests/crawls/test_meddling.py",
    "tests/crawls/test_pace.py",
    "tests/crawls/test_parsers.py",
    "tests/crawls/test_resume.py",
    "tests/crawls/test_settings.py",
    "tests/crawls/test_sitemaps.py",
]


@nox.session(python=_PYTHONS)
@nox.parametrize("scrapy", list(_SCRAPIES))
def tests(session: nox.Session, scrapy: str) -> None:
    """The test command of the README; arguments after `--` are pytest's."""
    session.install(".[test]", *_SCRAPIES[scrapy])
    session.run("pytest", "-n", "6", "--dist", "loadfile", *session.posargs)


@nox.session(python=_PYTHONS)
@nox.parametrize("scrapy", list(_SCRAPIES))
def matrix(session: nox.Session, scrapy: str) -> None:
    """A cell of the matrix in a few minutes: what depends on Scrapy, and all of the pure core."""
    session.install(".[test]", *_SCRAPIES[scrapy])
    arguments = session.posargs or [*_DEPENDENT, "tests/protocol"]
    session.run("pytest", "-n", "6", "--dist", "loadfile", *arguments)


@nox.session(python=_OLDEST[0])
def oldest(session: nox.Session) -> None:
    """The oldest pair, with the tests that depend on either; what the workflow of CI runs too."""
    session.install(".[test]", *_SCRAPIES[_OLDEST[1]])
    session.run("pytest", "-n", "3", "--dist", "loadfile", *(session.posargs or _DEPENDENT))


@nox.session(venv_backend="none")
def suites(session: nox.Session) -> None:
    """The tests of Scrapy and of its plugins, with our add-on; `tests.suites` says which.

    Each suite has its own virtual environment. Arguments after `--` are those of `tests.suites`.
    """
    session.run(sys.executable, "-m", "tests.suites", *session.posargs, external=True)


@nox.session
def outside(session: nox.Session) -> None:
    """The cases of suites that others wrote; arguments after `--` are those of `tests.outside`."""
    session.install(".")
    session.run("python", "-m", "tests.outside", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Lint and types."""
    session.install(".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation site, with warnings as errors."""
    session.install(".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "build/docs")
