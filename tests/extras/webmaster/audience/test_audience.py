"""The access of known crawlers: fallbacks, ignored groups, doubts, and accidents."""

from __future__ import annotations

import pytest

from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, crawler_of
from scrapy_rep.extras.webmaster.audience.bindings import (
    Access,
    Accident,
    Accidents,
    Binding,
    bindings,
    name_by_rfc,
)
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.protocol.document import parse
from tests.extras.webmaster.linting.corpus import RECENT, files, sample
from tests.shared import needs_shared

ALL = "User-agent: *\nDisallow: /\n"


def binding(file: str, name: str, url: str = "/") -> Binding:
    crawler = crawler_of(name)
    assert crawler is not None
    (found,) = bindings(parse(file.encode()), [crawler], [url])
    return found


def accidents(file: str, url: str = "/") -> dict[str, Accident]:
    robots_txt = parse(file.encode())
    found = Accidents(robots_txt, outline(file.encode())).among(
        bindings(robots_txt, CRAWLERS, [url])
    )
    return {one.binding.crawler.token: one for one in found}


class TestGroups:
    @pytest.mark.parametrize(
        ("file", "name", "group", "access"),
        [
            (ALL, "Googlebot", "*", Access.DISALLOWED),
            ("User-agent: Googlebot\nDisallow: /\n", "Applebot", "googlebot", Access.DISALLOWED),
            ("User-agent: Googlebot\nDisallow: /\n", "Googlebot-Image", "googlebot", None),
            ("User-agent: Applebot\nDisallow:\n" + ALL, "Applebot", "applebot", Access.ALLOWED),
            ("User-agent: msnbot\nDisallow:\n" + ALL, "bingbot", "msnbot", Access.ALLOWED),
            ("User-agent: Googlebot\nDisallow: /\n", "bingbot", "", Access.ALLOWED),
            ("User-agent: Applebot\nDisallow: /\n", "Applebot-Extended", "", Access.ALLOWED),
            (ALL, "AdsBot-Google", "*", Access.NOT_BOUND),
            ("User-agent: AdsBot-Google\nDisallow: /\n", "AdsBot-Google", None, Access.DISALLOWED),
            (ALL, "Perplexity-User", "*", Access.NOT_BOUND),
            ("User-agent: MJ12bot\nDisallow: /\n", "MJ12bot", "mj12bot", Access.DISALLOWED),
            ("User-agent: Sogou web spider\nDisallow: /\n", "Sogou web spider", "sogou", None),
            ("User-agent: 008\nDisallow: /\n", "008", "008", Access.DISALLOWED),
        ],
    )
    def test_group_of_a_crawler(
        self, file: str, name: str, group: str | None, access: Access | None
    ) -> None:
        found = binding(file, name)
        assert found.group == (name.lower() if group is None else group)
        assert found.access is (access or Access.DISALLOWED)

    def test_fallback_has_no_fallback(self) -> None:
        """So a crawler has two names at most."""
        for crawler in CRAWLERS:
            other = crawler_of(crawler.fallback) if crawler.fallback else None
            assert other is None or not other.fallback, crawler.token

    def test_every_crawler_is_judged(self) -> None:
        found = list(bindings(parse(ALL.encode()), CRAWLERS, ["/", "/a"]))
        assert len(found) == 2 * len(CRAWLERS)
        assert [one.url for one in found[:4]] == ["/", "/a", "/", "/a"]

    @pytest.mark.parametrize(
        ("name", "read"),
        [("MJ12bot", "MJ"), ("360Spider", ""), ("Sogou web spider", "Sogou"), ("GPTBot", None)],
    )
    def test_name_by_the_rfc(self, name: str, read: str | None) -> None:
        crawler = crawler_of(name)
        assert crawler is not None
        assert name_by_rfc(crawler) == read


class TestDoubts:
    @pytest.mark.parametrize(
        ("file", "name", "words"),
        [
            (ALL, "Googlebot", ()),
            (ALL, "GPTBot", ()),
            (ALL, "ChatGPT-User", ("it obeys only in part",)),
            (ALL, "KimiBot", ("whether it obeys is unknown",)),
            (ALL, "Bytespider", ("that it does not obey is said by a list of crawlers",)),
            (
                "User-agent: Googlebot\nDisallow: /\n",
                "Googlebot-News",
                ("that it takes the group of Googlebot is not documented",),
            ),
            (
                "User-agent: *\nDisallow: /*x\n",
                "GPTBot",
                ("whether it reads wildcards is unknown",),
            ),
            ("User-agent: *\nDisallow: /*x\n", "Googlebot", ()),
            (
                ALL,
                "Amzn-SearchBot",
                (
                    "that it obeys is said by a list of crawlers",
                    "if no group names it, it obeys the rules for other search crawlers",
                ),
            ),
        ],
    )
    def test_doubts_of_a_binding(self, file: str, name: str, words: tuple[str, ...]) -> None:
        assert binding(file, name, "/ax").doubts == words


class TestAccidents:
    def test_swallowed_crawler_is_an_accident(self) -> None:
        found = accidents("User-agent: Bingbot\nCrawl-delay: 5\n\nUser-agent: Bad\nDisallow: /\n")
        assert {name: one.sign for name, one in found.items()} == {"bingbot": "swallowed"}
        assert "line 1 (Bingbot) has no rules of its own" in found["bingbot"].words
        assert "line 5: Disallow: /" in found["bingbot"].words

    def test_ban_of_another_operators_fallback_is_an_accident(self) -> None:
        file = "User-agent: Googlebot\nDisallow: /\n"
        found = accidents(file)
        assert {one.sign for one in found.values()} == {"fallback"}
        assert {"Applebot", "Bravebot"} == set(found), "Google's own are meant"
        assert accidents(file + ALL) == {}, "the file bans everybody"
        assert set(accidents(file + "User-agent: Applebot\nDisallow: /\n")) == {"Bravebot"}

    def test_ban_of_an_obsolete_fallback_is_an_accident(self) -> None:
        assert set(accidents("User-agent: msnbot\nDisallow: /\n")) == {"bingbot"}

    def test_misspelt_allowed_name_is_an_accident(self) -> None:
        found = accidents("User-agent: GPTBott\nAllow: /\n" + ALL)
        assert {name: one.sign for name, one in found.items()} == {"GPTBot": "misspelt"}
        assert "line 1 allows GPTBott" in found["GPTBot"].words
        assert accidents("User-agent: GPTBott\nDisallow: /\n" + ALL) == {}

    def test_merged_groups_are_an_accident(self) -> None:
        file = "User-agent: CCBot\nDisallow:\nUser-agent: x\nUser-agent: CCBot\nDisallow: /\n"
        found = accidents(file)
        assert {name: one.sign for name, one in found.items()} == {"CCBot": "merged"}
        assert "the one of line 1 alone allows it" in found["CCBot"].words

    def test_groups_that_add_up_are_not_an_accident(self) -> None:
        file = "User-agent: CCBot\nDisallow: /a\nUser-agent: CCBot\nDisallow: /b\n"
        assert accidents(file, "/a") == accidents(file, "/b") == {}

    @pytest.mark.parametrize("file", [ALL, "", "User-agent: *\nDisallow:\n", "<html>", "\0\xff"])
    def test_plain_files_have_no_accident(self, file: str) -> None:
        assert accidents(file) == {}

    @needs_shared
    @pytest.mark.slow
    @pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.at_length)])
    def test_every_accident_in_real_files_is_a_ban(self, is_whole: bool) -> None:
        """Every accident is a ban, of a crawler in use."""
        count = 0
        for _, body in [*files(), *files(RECENT)] if is_whole else sample():
            robots_txt = parse(body)
            found = list(bindings(robots_txt, CRAWLERS, ["/", "/a"]))
            for one in Accidents(robots_txt, outline(body)).among(found):
                count += 1
                names = (one.binding.group,)
                assert not robots_txt.verdict(one.binding.url, names).allowed
                assert not one.binding.crawler.is_obsolete
        assert count
