"""The cookies of one fetch (RFC 6265): its hops bring back what its hops set, and nobody else does.

Cookie walls answer every URL with a redirect to itself. Scrapy's own cookies let pages pass, so the
robots.txt behind such a wall is there, and holds.
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


class _Policy(DefaultCookiePolicy):
    """What RFC 6265 asks for beyond Python's default."""

    def __init__(self) -> None:
        # A cookie without a domain goes back to its host alone (5.3, 6).
        super().__init__(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain)

    def set_ok_domain(self, cookie: Cookie, request: Any) -> bool:
        """Whether a cookie may be for its domain: not if that is a public suffix (5.3, 5)."""
        is_ok: bool = super().set_ok_domain(cookie, request)
        site = site_of(request.origin_req_host)
        return is_ok and (not cookie.domain_specified or site_of(cookie.domain.strip(".")) == site)


class Cookies:
    """The cookies that the answers of one fetch have set."""

    def __init__(self) -> None:
        self._jar = CookieJar(_Policy())

    def keep(self, response: Response, request: Request) -> bool:
        """Keep those of an answer; whether it sets any."""
        if not response.headers.getlist(_SET_COOKIE):
            return False
        self._jar.extract_cookies(response, request)
        return True

    def add_to(self, request: Request) -> None:
        """Add those that are for a request, behind the others that it carries already."""
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
