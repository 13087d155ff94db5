"""The suites: packages with tests in their source distributions that run without the Internet.

The source distributions of scrapy-playwright and scrapy-rotating-proxies have no tests.
"""

from __future__ import annotations

from typing import NamedTuple

_PYTEST = ("pytest<10", "pytest-timeout", "pytest-twisted")
_QUIET = ("-W", "ignore::pytest.PytestRemovedIn10Warning")  # the suites make errors of warnings


class Suite(NamedTuple):
    """The tests of a package.

    Attributes:
        package: the name on PyPI.
        extras: of the package, that its tests need.
        needs: other packages that its tests need, from its tox.ini.
        arguments: of pytest.
        needs_redis: whether its tests need a Redis server.
        left_out: files that cannot concern us, or cannot be compared, by pattern.
    """

    package: str
    extras: str = ""
    needs: tuple[str, ...] = _PYTEST
    arguments: tuple[str, ...] = ("--reactor=asyncio", *_QUIET)
    needs_redis: bool = False
    left_out: tuple[str, ...] = ()


SUITES = {
    suite.package: suite
    for suite in (
        Suite(
            "scrapy",
            extras="[httpx,images,robotparser,s3,twisted-http2]",
            needs=(
                *_PYTEST,
                *("pexpect", "psutil", "pyftpdlib", "pygments", "sybil"),
                "pytest-rerunfailures",
            ),
            arguments=("-m", "not requires_internet", *_QUIET),
            left_out=(
                *(
                    "*/benchmarks/*",
                    "*/test_command_genspider.py",
                    "*/test_command_startproject.py",
                ),
                *("*/test_downloader_handler*", "*/test_http2_*", "*/test_utils_*"),
            ),
        ),
        Suite("scrapy-poet"),
        Suite(  # tests of sessions do not end in time with Scrapy's own middleware
            "scrapy-zyte-api",
            extras="[provider]",
            left_out=("*/test_sessions_*",),
        ),
        Suite(
            "spidermon",
            extras="[monitoring]",
            needs=(*_PYTEST, "packaging", "pytest-mock"),
            arguments=("--reactor=asyncio", "-W", "default"),
        ),
        Suite(  # newer versions of pytest do not call a `setup` of test classes
            "scrapy-redis",
            needs=("pytest<8", "pytest-timeout", "mock"),
            arguments=(),
            needs_redis=True,
        ),
    )
}
