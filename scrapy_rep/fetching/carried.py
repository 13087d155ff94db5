"""What a robots.txt request copies from the request on whose behalf it is sent.

A user who needs a proxy for a page needs it for the robots.txt too. So the request copies the
proxy, the local address and what else `REP_FETCH_META_KEYS` names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from scrapy import Request

_PROXY = "proxy"
_PROXY_AUTHORIZATION = "Proxy-Authorization"


class Carried(NamedTuple):
    """The meta and the headers that are copied."""

    meta: Mapping[str, Any] = {}
    headers: Mapping[str, bytes] = {}

    @classmethod
    def of(cls, request: Request | None, keys: Collection[str]) -> Carried:
        """Copy some of a request's meta, and the credentials for its proxy.

        Scrapy's proxy middleware moves the credentials into a header. Retries and the targets of
        redirects have passed it already.
        """
        if request is None:
            return NOTHING
        theirs = request.meta
        meta = {key: theirs[key] for key in keys if key in theirs}
        credentials = request.headers.get(_PROXY_AUTHORIZATION) if meta.get(_PROXY) else None
        return cls(meta, {_PROXY_AUTHORIZATION: credentials} if credentials else {})

    def headers_for(self, meta: Mapping[str, Any]) -> Mapping[str, bytes]:
        """The copied headers, if the meta names the same proxy: others get no credentials."""
        return self.headers if meta.get(_PROXY) == self.meta.get(_PROXY) else {}


NOTHING = Carried()
