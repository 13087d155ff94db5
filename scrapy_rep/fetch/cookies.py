"""The cookies of one fetch (RFC 6265), which only the hops of that fetch set and send.

Cookie walls answer every URL with a redirect to itself and a cookie. Scrapy's own cookies get pages
past such a wall, so the robots.txt behind it applies and must be fetched as well.
"""

from __future__ import annotations

from http.cookiejar import Cookie, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http.cookies import CookieJar

from scrapy_rep.checks import site_of

if TYPE_CHECKING:
    from scrapy.http import Response

_COOKIE = "Cookie"
_SET_COOKIE = "Set-Cookie"


class _CookiePolicy(DefaultCookiePolicy):
    """The rules of RFC 6265 that Python's default policy lacks."""

    def __init__(self) -> None:
        # A cookie without a domain is only sent to its host (5.3, 6).
        super().__init__(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain)

    def set_ok_domain(self, cookie: Cookie, request: Any) -> bool:
        """Whether a cookie may have its domain, which must not be a public suffix (5.3, 5)."""
        is_ok: bool = super().set_ok_domain(cookie, request)
        site = site_of(request.origin_req_host)
        return is_ok and (not cookie.domain_specified or site_of(cookie.domain.strip(".")) == site)


class Cookies:
    """The cookies that the answers of one fetch have set."""

    def __init__(self) -> None:
        self._jar: CookieJar | None = None  # most fetches need none

    def keep(self, response: Response, request: Request) -> bool:
        """Keep the cookies of an answer; return whether it sets any."""
        if not response.headers.getlist(_SET_COOKIE):
            return False
        if self._jar is None:
            self._jar = CookieJar(_CookiePolicy())
        self._jar.extract_cookies(response, request)
        return True

    def add_to(self, request: Request) -> None:
        """Add the matching cookies to a request, after the cookies that it already carries."""
        if self._jar is None:
            return
        bare = Request(request.url)
        self._jar.add_cookie_header(bare)
        kept = _pairs_in(bare)
        if kept:
            names = {_name_of(pair) for pair in kept}
            carried = [pair for pair in _pairs_in(request) if _name_of(pair) not in names]
            request.headers[_COOKIE] = b"; ".join((*carried, *kept))


def _pairs_in(request: Request) -> list[bytes]:
    header = request.headers.get(_COOKIE) or b""
    return [pair for pair in map(bytes.strip, header.split(b";")) if pair]


def _name_of(pair: bytes) -> bytes:
    return pair.partition(b"=")[0].strip()
