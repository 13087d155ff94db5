"""Known crawlers: the one table of them, and what lint says by it."""

from __future__ import annotations

import importlib.util
import re
from datetime import date, datetime, timezone
from pathlib import Path
from types import ModuleType

import pytest

from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.usage.categories import POLICY_TOKENS
from scrapy_rep.extras.webmaster.agents import crawlers
from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, DATED, crawler_of
from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.protocol.document import parse
from tests.crawling import REPOSITORY
from tests.protocol.reading import URI
from tests.shared import SHARED, needs_shared


def _maker() -> ModuleType:
    path = Path(REPOSITORY) / "docs" / "make_agents.py"
    spec = importlib.util.spec_from_file_location("make_agents", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _details(body: str, code: Code) -> list[str]:
    return [found.detail for found in lint(body.encode(), URI) if found.code is code]


class TestTable:
    @needs_shared
    def test_table_is_made_from_the_list(self) -> None:
        assert SHARED is not None
        lines = (SHARED / "agents.jsonl").read_text(encoding="utf-8").splitlines()
        made = _maker().table(lines, DATED)
        assert made == Path(crawlers.__file__).with_suffix(".txt").read_text(encoding="utf-8")

    def test_release_has_a_recent_list(self) -> None:
        """At most 90 days older than the release of the changelog, if that has a date."""
        changelog = (Path(REPOSITORY) / "CHANGELOG.md").read_text(encoding="utf-8")
        released = re.search(r"^## [0-9.]+.*?(\d{4}-\d\d-\d\d|unreleased)", changelog, re.MULTILINE)
        assert released is not None
        listed = date.fromisoformat(DATED)
        if released[1] != "unreleased":
            assert (date.fromisoformat(released[1]) - listed).days <= 90, "check the crawlers"
        assert listed <= datetime.now(timezone.utc).date()

    def test_names_are_unique(self) -> None:
        names = [crawler.name for crawler in CRAWLERS]
        assert len(names) == len(set(names)) == 427 + len(POLICY_TOKENS)

    def test_table_of_crawlers_has_known_values(self) -> None:
        for crawler in CRAWLERS:
            assert crawler.obeys in ("yes", "no", "partly", "own-group-only", "unknown")
            assert {crawler.crawl_delay, crawler.wildcards} <= {"yes", "no", "unknown"}
            assert crawler.by in ("operator", "list", "memory")
            assert not crawler.fallback or crawler_of(crawler.fallback) is not None

    def test_source_of_a_statement(self) -> None:
        google, images = crawler_of("GOOGLEBOT"), crawler_of("YandexImages")
        assert google is not None
        assert images is not None
        assert google.whose_word("crawl_delay") == "as its operator documents"
        assert images.whose_word("crawl_delay") == "by a list of crawlers"
        assert images.whose_word("obeys") == "by a list of crawlers"
        assert not images.is_said("obeys")

    def test_only_policy_tokens_state_uses_of_content(self) -> None:
        for crawler in CRAWLERS:
            named = parse(f"User-agent: {crawler.token}\nDisallow: /\n".encode())
            assert bool(file_usage(named, "/").statements) is crawler.is_policy


class TestLint:
    @pytest.mark.parametrize("name", ["Amazonbot", "GoogleOther-Image"])
    def test_ignored_crawl_delay_is_found(self, name: str) -> None:
        body = f"User-agent: {name}\nDisallow: /x\nCrawl-delay: 5\n"
        (detail,) = _details(body, Code.CRAWL_DELAY_IGNORED)
        assert detail.startswith(f"{name.lower()}, ")

    def test_crawlers_that_ignore_star_are_listed(self) -> None:
        (detail,) = _details("User-agent: *\nDisallow: /\n", Code.OWN_TOKEN_ONLY)
        named = detail.split(", ")
        assert {"Mediapartners-Google", "APIs-Google", "AdsBot-Google-Mobile"} <= {*named}
        body = "User-agent: adsbot-google\nUser-agent: *\nDisallow: /\n"
        (detail,) = _details(body, Code.OWN_TOKEN_ONLY)
        assert {*named} - {*detail.split(", ")} == {"AdsBot-Google"}

    @pytest.mark.parametrize(
        ("name", "details"),
        [
            ("facebookexternalhit", []),
            ("Google-Agent", ["as its operator documents"]),
            ("Slackbot", ["by a list of crawlers"]),
            ("Amzn-User", ["by a list of crawlers"]),
        ],
    )
    def test_crawlers_that_may_not_obey(self, name: str, details: list[str]) -> None:
        body = f"User-agent: {name}\nDisallow: /x\n"
        assert _details(body, Code.UNENFORCEABLE) == details

    def test_group_that_replaces_a_fallback_is_needed(self) -> None:
        body = "User-agent: Googlebot-News\nDisallow: /x\n\nUser-agent: *\nDisallow: /x\n"
        assert _details(body, Code.GROUP_LIKE_STAR) == [""]
        body += "\nUser-agent: Googlebot\nDisallow: /y\n"
        assert _details(body, Code.GROUP_LIKE_STAR) == []
