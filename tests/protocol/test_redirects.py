"""semantics.md, 5.5: where a redirect leads, and what of it is fetched."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.redirects import FOLLOWED, LEAST_HOPS, next_hop

_FIRST = "http://example.com/robots.txt"
_NEXT = "http://next.example/r"


def after(location: bytes | None, *, status: int = 301, limit: int = LEAST_HOPS) -> str | Event:
    """The next step after the first answer of a file fetch."""
    return next_hop([_FIRST], status, location, limit=limit)


class TestStatuses:
    """300, 301, 302, 303, 307 and 308 are followed; every other status is the event."""

    @pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
    def test_redirect_statuses_are_followed(self, status: int) -> None:
        assert after(_NEXT.encode(), status=status) == _NEXT
        assert str(status) in FOLLOWED

    @pytest.mark.parametrize("status", [200, 201, 206, 304, 305, 306, 309, 399, 404, 503])
    def test_other_statuses_are_not_followed(self, status: int) -> None:
        assert after(_NEXT.encode(), status=status) == status
        assert str(status) not in FOLLOWED


class TestTargets:
    """A Location is resolved against the URL that answered; http and https are targets."""

    @pytest.mark.parametrize(
        ("location", "target"),
        [
            (b"http://next.example/r", "http://next.example/r"),
            (b"https://next.example/r?a=b", "https://next.example/r?a=b"),
            (b"//next.example/r", "http://next.example/r"),
            (b"/other.txt", "http://example.com/other.txt"),
            (b"other.txt", "http://example.com/other.txt"),
            (b"?a", "http://example.com/robots.txt?a"),
            (b"  /other.txt\t", "http://example.com/other.txt"),
            (b"/other.txt#part", "http://example.com/other.txt"),
        ],
    )
    def test_target_of_a_redirect_is_resolved(self, location: bytes, target: str) -> None:
        assert after(location) == target

    @pytest.mark.parametrize(
        "location",
        [
            *[None, b"", b"   ", b"ftp://example.com/robots.txt", b"file:///etc/passwd"],
            *[b"data:,a", b"javascript:0", b"http://a:99999/", b"mailto:a@b.example"],
        ],
    )
    def test_redirect_without_a_target_is_a_failure(self, location: bytes | None) -> None:
        assert after(location) is Failure.REDIRECT_TARGET

    @pytest.mark.parametrize("location", [b"http://a\\@b.example/", b"http://a b/", b"//a\x01/"])
    def test_no_clear_authority(self, location: bytes) -> None:
        assert after(location) is Failure.GUARD


class TestHops:
    """RFC 9309, 2.3.1.2: at least five redirects in a row are followed."""

    @pytest.mark.parametrize("limit", [5, 6, 9])
    def test_as_many_as_the_limit(self, limit: int) -> None:
        asked = [f"{_FIRST}?{number}" for number in range(limit)]
        assert next_hop(asked, 301, _NEXT.encode(), limit=limit) == _NEXT

    @pytest.mark.parametrize("limit", [5, 6, 9])
    def test_one_redirect_too_many_is_a_failure(self, limit: int) -> None:
        asked = [f"{_FIRST}?{number}" for number in range(limit + 1)]
        found = next_hop(asked, 301, _NEXT.encode(), limit=limit)
        assert found is Failure.REDIRECT_LIMIT

    def test_the_limit_is_of_redirects_alone(self) -> None:
        asked = [f"{_FIRST}?{number}" for number in range(99)]
        assert next_hop(asked, 200, None, limit=LEAST_HOPS) == 200
        assert next_hop(asked, 302, None, limit=LEAST_HOPS) is Failure.REDIRECT_TARGET


class TestLoops:
    """A URI is not fetched twice."""

    @pytest.mark.parametrize("location", [_FIRST.encode(), b"/robots.txt", b"#part", b"robots.txt"])
    def test_redirect_to_itself_is_a_loop(self, location: bytes) -> None:
        assert after(location) is Failure.REDIRECT_LOOP

    def test_in_a_circle(self) -> None:
        assert next_hop([_FIRST, _NEXT], 308, _FIRST.encode(), limit=5) is Failure.REDIRECT_LOOP

    def test_whoever_is_said_to_ask(self) -> None:
        assert after(b"http://user@example.com/robots.txt") is Failure.REDIRECT_LOOP

    @pytest.mark.parametrize(
        ("asked", "cookies_at", "step"),
        [
            ([_FIRST], 1, _FIRST),
            ([_FIRST, _NEXT], 1, _FIRST),
            ([_FIRST, _NEXT], 2, _FIRST),
            ([_FIRST, _FIRST], 1, Failure.REDIRECT_LOOP),
            ([_FIRST] * 5, 5, _FIRST),
            ([_FIRST] * 6, 6, Failure.REDIRECT_LIMIT),
        ],
    )
    def test_once_a_cookie_was_set(
        self, asked: list[str], cookies_at: int, step: str | Failure
    ) -> None:
        """A site may answer otherwise then: to ask again is no loop, but a hop."""
        location = _FIRST.encode()
        assert next_hop(asked, 302, location, limit=5, cookies_at=cookies_at) == step


class TestUserinfo:
    """Credentials that a site writes into a Location are not sent."""

    @pytest.mark.parametrize(
        "userinfo", ["", "user:secret@", "user@", ":@", "@", "a@b:c@", "%40:%2F@", "user:@"]
    )
    @pytest.mark.parametrize(
        "rest", ["h.example/p", "h.example:81/p?q=a@b", "[::1]:81/", "h.example"]
    )
    def test_userinfo_of_a_redirect_is_left_out(self, userinfo: str, rest: str) -> None:
        assert after(f"http://{userinfo}{rest}".encode()) == f"http://{rest}"

    def test_an_at_sign_elsewhere_is_kept(self) -> None:
        assert after(b"/@a?b@c") == "http://example.com/@a?b@c"
