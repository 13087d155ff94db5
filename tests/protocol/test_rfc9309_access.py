"""RFC 9309, 2.3 and 2.3.1: where the file is, and what an attempt to get it means.

One class per clause; its docstring is the clause in our words. See docs/conformance.md. What only
a fetcher or a cache can fulfil is tested where those are.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from scrapy_rep.protocol.access.events import (
    AccessPolicy,
    AccessResult,
    Event,
    Failure,
    Meaning,
    access_result,
)
from scrapy_rep.protocol.access.origin import Origin

_UNAVAILABLE = (AccessResult.UNAVAILABLE, Meaning.ALLOW)
_UNREACHABLE = (AccessResult.UNREACHABLE, Meaning.DISALLOW)


def _come_to(events: Iterable[Event]) -> set[tuple[AccessResult, Meaning]]:
    """What the events are, and what they mean as the RFC has it."""
    policy = AccessPolicy("rfc9309")
    return {(access_result(event), policy.meaning(event)) for event in events}


def _origin(uri: str) -> Origin:
    origin = Origin.of(uri)
    assert origin is not None
    return origin


class TestAccessMethod:
    """2.3: The rules MUST be at ``/robots.txt``, in lower case, at the top of the service."""

    @pytest.mark.parametrize(
        ("uri", "robots_txt"),
        [
            ("https://www.example.com/a/b?c#d", "https://www.example.com/robots.txt"),
            ("ftp://ftp.example.com/a", "ftp://ftp.example.com/robots.txt"),
            ("http://example.com:8080", "http://example.com:8080/robots.txt"),
            ("HTTP://u:p@Example.COM:80/", "http://example.com/robots.txt"),
            ("https://[::1]:444/", "https://[::1]:444/robots.txt"),
        ],
    )
    def test_uri(self, uri: str, robots_txt: str) -> None:
        assert _origin(uri).robots_txt_uri == robots_txt


class TestSuccessful:
    """2.3.1.1: After a successful download the rules that can be read MUST be followed."""

    def test_every_2xx(self) -> None:
        assert _come_to(range(200, 300)) == {(AccessResult.SUCCESSFUL, Meaning.RULES)}


class TestRedirects:
    """2.3.1.2: After more than five redirects the file MAY be taken as unavailable; so may one
    whose redirects lead nowhere.
    """

    def test_too_many(self) -> None:
        assert _come_to([Failure.REDIRECT_LIMIT]) == {_UNAVAILABLE}

    def test_to_nowhere(self) -> None:
        statuses = set(range(300, 400)) - {304}
        lost: list[Event] = [Failure.REDIRECT_LOOP, Failure.REDIRECT_TARGET, *statuses]
        assert _come_to(lost) == {_UNAVAILABLE}

    def test_304_is_none(self) -> None:
        """Not Modified leads nowhere, and says of no file that there is none."""
        assert _come_to([304]) == {_UNREACHABLE}


class TestUnavailable:
    """2.3.1.3: If the file is unavailable (4xx), any resource MAY be accessed."""

    def test_every_4xx(self) -> None:
        assert _come_to(set(range(400, 500)) - {429}) == {_UNAVAILABLE}

    def test_deviation_429(self) -> None:
        """The MAY is not used where the server asks us to slow down."""
        assert _come_to([429]) == {_UNREACHABLE}


class TestUnreachable:
    """2.3.1.4: If server or network errors keep the file from us, complete disallow MUST be
    assumed.
    """

    def test_every_5xx(self) -> None:
        assert _come_to(range(500, 600)) == {_UNREACHABLE}

    def test_every_network_error(self) -> None:
        failures = {failure for failure in Failure if not failure.value.startswith("redirect")}
        failures -= {Failure.HTML, Failure.CHALLENGE}  # an answer came
        assert len(failures) == 10
        assert _come_to(failures) == {_UNREACHABLE}

    def test_what_no_standard_knows(self) -> None:
        """The RFC is silent: the reading that obeys more."""
        assert _come_to([-1, 0, 7, 99, *range(100, 200), *range(600, 1001)]) == {_UNREACHABLE}
