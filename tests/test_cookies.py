"""The cookies that the hops of one fetch send back (RFC 6265)."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_rep.fetch.cookies import Cookies

_SETTER = "https://www.example.co.uk/a/robots.txt"


def brought(setter: str, fields: list[str], to: str, carried: str | None = None) -> str | None:
    """The Cookie header of a request after an answer with some Set-Cookie fields."""
    cookies = Cookies()
    answer = Response(setter, headers={"Set-Cookie": fields})
    assert cookies.keep(answer, Request(setter)) is bool(fields)
    request = Request(to, headers={"Cookie": carried} if carried else {})
    for _ in range(2):  # a middleware may send it again
        cookies.add_to(request)
    header = request.headers.get("Cookie")
    return header.decode() if header is not None else None


@pytest.mark.parametrize(
    ("field", "to", "is_brought"),
    [
        ("a=1", "https://www.example.co.uk/a/", True),
        ("a=1", "https://www.example.co.uk:8443/a/", True),
        ("a=1", "http://www.example.co.uk/a/x?y", True),
        ("a=1", "https://www.example.co.uk/b", False),
        ("a=1; Path=/", "https://www.example.co.uk/b", True),
        ("a=1; Path=/", "https://example.co.uk/", False),
        ("a=1; Path=/", "https://x.www.example.co.uk/", False),
        ("a=1; Path=/", "https://another.example/", False),
        ("a=1; Path=/; Domain=example.co.uk", "https://example.co.uk/", True),
        ("a=1; Path=/; Domain=.example.co.uk", "https://x.example.co.uk/", True),
        ("a=1; Path=/; Domain=example.co.uk", "https://myexample.co.uk/", False),
        ("a=1; Path=/; Domain=co.uk", "https://another.co.uk/", False),
        ("a=1; Path=/; Domain=another.example", "https://another.example/", False),
        ("a=1; Path=/; Secure", "https://www.example.co.uk/", True),
        ("a=1; Path=/; Secure", "http://www.example.co.uk/", False),
        ("a=1; Path=/; HttpOnly; SameSite=Strict", "https://www.example.co.uk/", True),
        ("a=1; Path=/; Max-Age=60", "https://www.example.co.uk/", True),
        ("a=1; Path=/; Max-Age=0", "https://www.example.co.uk/", False),
        ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://www.example.co.uk/", False),
    ],
)
def test_cookie_goes_to_its_domain_and_path(field: str, to: str, *, is_brought: bool) -> None:
    assert brought(_SETTER, [field], to) == ("a=1" if is_brought else None)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_host_without_a_domain(host: str) -> None:
    assert brought(f"http://{host}/x", ["a=1", "b=2"], f"http://{host}:81/y") == "a=1; b=2"


def test_later_ones_replace_and_remove_those_of_the_same_name() -> None:
    cookies, request = Cookies(), Request(_SETTER)
    for fields in (["a=1", "a=2", "b=1"], ["b=; Max-Age=0", "c=1"]):
        cookies.keep(Response(_SETTER, headers={"Set-Cookie": fields}), request)
    cookies.add_to(request)
    assert request.headers["Cookie"] == b"a=2; c=1"


def test_cookies_come_after_those_of_the_request() -> None:
    assert brought(_SETTER, ["a=1"], _SETTER, carried="mine=1; b=2") == "mine=1; b=2; a=1"
    assert brought(_SETTER, [], _SETTER, carried="mine=1") == "mine=1"
    assert brought(_SETTER, ["a=1"], _SETTER, carried="aa=12; ba=1") == "aa=12; ba=1; a=1"


def test_cookie_replaces_one_of_the_same_name() -> None:
    assert brought(_SETTER, ["a=1"], _SETTER, carried="b=2;a=0 ; c") == "b=2; c; a=1"


@pytest.mark.parametrize(
    "field", ["", "=", ";;;", "a", "a=\xff\u2028", "a=1; Expires=never", "a" * 99_999]
)
def test_invalid_cookies_raise_nothing(field: str) -> None:
    brought(_SETTER, [field], _SETTER)
