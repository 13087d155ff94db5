"""Preferences about the use of content in a robots.txt, by the policy of a crawl."""

from __future__ import annotations

import time
from typing import Any

import pytest

from scrapy_rep import parse
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.usage.preference import Preference
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from tests.test_policy import ORIGIN, policy


class TestUsage:
    """Preferences about the use of content, from the policy, without a request."""

    _FOO = b"User-agent: foo\nContent-Usage: search=y\n"

    def policy(self, event: int | None, meaning: Meaning, body: bytes = _FOO, **of: Any) -> Policy:
        return policy(body, event=event, meaning=meaning, tokens=("foo",), fetched_at=5.0, **of)

    def test_usage_of_a_file_has_its_rules(self) -> None:
        body = self._FOO + b"Allow: /\nUser-agent: bar\nContent-Usage: search=n\nAllow: /"
        usage = file_usage(self.policy(200, Meaning.RULES, body), "https://example.com/a")
        assert usage.search is Preference.ALLOWED
        assert usage.is_complete
        assert not usage.is_stale
        assert (usage.fetched_at, usage.robots_txt) == (5.0, ORIGIN.robots_txt_uri)
        usage = file_usage(self.policy(200, Meaning.RULES, body), "/a", "bar", {"tdm": ["none"]})
        assert usage.search is Preference.DISALLOWED

    @pytest.mark.parametrize(
        ("event", "meaning", "is_complete"),
        [
            (404, Meaning.ALLOW, True),
            (403, Meaning.DISALLOW, True),
            (503, Meaning.DISALLOW, False),
            (503, Meaning.ALLOW, False),
            (None, Meaning.ALLOW, False),
        ],
    )
    def test_usage_without_a_file_says_nothing(
        self, event: int | None, meaning: Meaning, is_complete: bool
    ) -> None:
        """The body of an error, or of a file that an override replaces, says nothing."""
        usage = file_usage(self.policy(event, meaning), "/a")
        assert usage.statements == ()
        assert usage.is_complete is is_complete
        assert usage.digest == ""

    def test_usage_of_a_stale_copy_is_stale(self) -> None:
        usage = file_usage(self.policy(503, Meaning.RULES, is_stale=True), "/a")
        assert usage.search is Preference.ALLOWED
        assert usage.is_stale
        assert usage.is_complete

    def test_file_of_the_user(self) -> None:
        """It says what it says; what the site says is unknown."""
        usage = file_usage(self.policy(None, Meaning.RULES), "/a")
        assert usage.search is Preference.ALLOWED
        assert not usage.is_complete


@pytest.mark.parametrize("piece", ["|", "\t", " ", ",", ";", "a,", "a.", "-", "*", '"', "://"])
def test_long_lines_of_one_piece_are_read_in_bounded_time(piece: str) -> None:
    began_at = time.process_time()
    line = f"Content-Usage: {piece * (60_000 // len(piece))}x\n"
    file_usage(parse(("User-agent: *\n" + line * 2).encode()), "/a", "foo")
    assert time.process_time() - began_at < 4
