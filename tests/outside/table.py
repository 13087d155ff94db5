"""The suites: where they are, at which commit, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.outside import (
    Case,
    Checkout,
    Suite,
    caches,
    javascript,
    robots_suites,
    sitemap_suites,
    structured_fields,
)
from tests.outside.robots_suites import is_allowed
from tests.outside.sitemap_suites import addresses_or_date

_PINS = """
andreburgaud/robotspy 46fd34d14c9ef4ccb18e920b0a7250bcbf285be6 2026-03-01 MIT
crawler-commons/crawler-commons 8e14e27cad529a35ee57010fbd63a91cfcfa3fcc 2026-07-27 Apache-2.0
google/robotstxt 22b355ff855419e6a3ff8ff09c0ad7fdb17116f9 2026-04-01 Apache-2.0
google/robotstxt-spec-test 552ade54b9ce6c121ffc462bceb26941749907a7 2022-03-07 Apache-2.0
http-tests/cache-tests b55b8bda3dbb8c927c04e85bd8d496a8caa3e4ba 2026-07-20 BSD-3-Clause
httpwg/structured-field-tests 1e280c3ed9ffe0ca5fdb1d97219dddc389007677 2026-06-09 BSD-3-Clause
internetarchive/heritrix3 5ada2a784a7b9ee066d6181c40777f41dc4357a3 2026-07-02 Apache-2.0
mediacloud/ultimate-sitemap-parser 68d1ccdd573be16cdfadc7f071c088642182bff1 2020-09-08 GPL-3.0+
RustPython/RustPython cc1e55e3e43f14a673901ea78ccb426ecb6c3bbb 2026-08-23 PSF-2.0
samclarke/robots-parser fc27a0010e41bb87b138f8aa9b6e4aac87125ff7 2026-08-07 MIT
scrapy/protego 81f1b35d1a2b86595fb3ff656a58a68631ba06da 2026-06-11 BSD-3-Clause
seomoz/rep-cpp ca2ae84bacb4a11471a7ce12946beada597713ee 2024-01-11 MIT
Smerity/texting_robots 8e52f3f4126cd88b23833317b4dadd91d3fcd1d3 2024-02-13 MIT OR Apache-2.0
temoto/robotstxt cadd395bcc35aaa85a924321f9c7b2d5aa66112c 2026-05-25 MIT
"""
"""Repository, commit, date of the commit, licence."""

_REPOSITORIES = {line.split()[0]: line.split(maxsplit=3)[1:] for line in _PINS.split("\n") if line}


def _suite(
    repository: str,
    cases: Callable[[Checkout], Iterator[Case]],
    answer: Callable[[Any], object] = is_allowed,
    part: str = "",
) -> Suite:
    commit, date, licence = _REPOSITORIES[repository]
    return Suite(repository, commit, date, licence, cases, answer, part)


_SUITES = [
    _suite("andreburgaud/robotspy", robots_suites.robotspy),
    _suite("crawler-commons/crawler-commons", robots_suites.crawler_commons),
    _suite(
        "crawler-commons/crawler-commons",
        sitemap_suites.crawler_commons,
        addresses_or_date,
        "sitemaps",
    ),
    _suite("google/robotstxt", robots_suites.google),
    _suite("google/robotstxt-spec-test", robots_suites.google_specification),
    _suite("http-tests/cache-tests", caches.cases, caches.answered),
    _suite("httpwg/structured-field-tests", structured_fields.cases, structured_fields.answered),
    _suite("internetarchive/heritrix3", robots_suites.heritrix),
    _suite(
        "mediacloud/ultimate-sitemap-parser",
        sitemap_suites.ultimate_sitemap_parser,
        addresses_or_date,
    ),
    # CPython's test_robotparser.py, in a repository that is a tenth as large.
    _suite("RustPython/RustPython", robots_suites.cpython, part="cpython"),
    _suite("samclarke/robots-parser", javascript.cases),
    _suite("scrapy/protego", robots_suites.protego),
    _suite("seomoz/rep-cpp", robots_suites.rep_cpp),
    _suite("Smerity/texting_robots", robots_suites.texting_robots),
    _suite("temoto/robotstxt", robots_suites.temoto),
]

SUITES = {suite.name: suite for suite in _SUITES}
"""All suites, by name."""
