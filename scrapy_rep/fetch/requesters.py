"""The identity with which a crawl fetches robots.txt: everything that may change the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pprint import pformat
from typing import TYPE_CHECKING, Any

from scrapy.http import Headers
from scrapy.settings.default_settings import DEFAULT_REQUEST_HEADERS

from scrapy_rep.cache.entry import Key
from scrapy_rep.extras import part
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH

from .faults import PROXY

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.protocol.access.origin import Origin

CREDENTIALS = ("ftp_user", "ftp_password")
"""The meta keys of a request that log in to an FTP server, for its robots.txt too."""

_SET_BY_FETCHER = (b"User-Agent", b"Accept", b"Accept-Encoding")
_SPIDER_CREDENTIALS = ("http_user", "http_pass", "http_auth_domain")
_SETTINGS_CREDENTIALS = ("HTTPAUTH_USER", "HTTPAUTH_PASS", "HTTPAUTH_DOMAIN")
_FTP_CREDENTIALS = ("FTP_USER", "FTP_PASSWORD")
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_DIGEST_OCTETS = 6
_BLANKS = (None, "")
_SIGNATURE_FIELDS = frozenset({"signature", "signature-input", "signature-agent"})

DelaySeconds = Callable[["Origin", "Request"], float]


class Signing:
    """Signs the requests of a crawl as they leave; this class signs none, for most crawls.

    Attributes:
        keyid: the name of the key; empty if nothing is signed.
        agent: the origin that publishes the key.
    """

    keyid = agent = ""

    def __init__(self, crawl: Crawl) -> None:
        """Take the settings."""

    def install(self, delay_seconds: DelaySeconds) -> None:
        """Sign all requests from now on; `delay_seconds` tells the delay of an origin."""


def signing_of(crawl: Crawl) -> Signing:
    """The object that signs the requests of a crawl, if it has a key."""
    kind: type[Signing] = part("REP_SIGN_KEY") if crawl.settings.sign_key else Signing
    return crawl.part(kind)


class Requester:
    """Builds the store's keys for one crawl: the origin plus the identity that fetches the file."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._fetch_meta = crawl.settings.fetch_meta
        self._identity = crawl.part(Identity)
        self._sent: str | None = None
        self._is_proxied: bool | None = None  # None: no fetch so far
        self._is_verified = crawl.crawler.settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
        self._keyid = signing_of(crawl).keyid

    def key(
        self,
        origin: Origin,
        meta: Mapping[str, Any] | None = None,
        path: str = ROBOTS_TXT_PATH,
    ) -> Key:
        """The key of an origin's file, fetched on behalf of a request with this meta."""
        sent = self._sent
        if sent is None:
            sent = self._identity.fetch_header or self._identity.header
        is_proxied = bool(self._is_proxied or (meta and meta.get(PROXY)))
        is_open = is_proxied and self._is_open(origin.scheme)
        return Key.under(origin, sent, self._variant(origin, meta or {}, is_open=is_open), path)

    def signed(self, key: Key) -> Key:
        """The key for a site that tells signed requests from others; the same without signing."""
        if not self._keyid or key.variant.endswith(self._keyid):
            return key
        return replace(key, variant="+".join(filter(None, (key.variant, self._keyid))))

    def key_by(self, known_of: Callable[[Key], Knowledge], key: Key) -> Key:
        """The key to read and to fetch a file with, by what a store knows.

        A crawl that signs uses the entry of all crawls, unless the site tells them apart.
        """
        signed = self.signed(key)
        if signed != key and (known_of(signed) != Knowledge() or is_apart(known_of(key))):
            return signed
        return key

    def key_as_sent(self, key: Key, answer: Answer, *, is_carried: bool = False) -> Key:
        """The key of an answer: by the User-Agent that was really sent, by proxy and signature.

        A middleware may send another User-Agent than the settings say. The next key expects the
        same. It expects a proxy if a middleware chose one for each fetch so far.
        """
        is_signed = bool(self._keyid) and self.signed(key) == key
        user_agent, variant = answer.user_agent, key.variant
        if user_agent is not None:
            self._sent = user_agent
            is_chosen = answer.is_proxied and not is_carried
            self._is_proxied = is_chosen and self._is_proxied is not False
        if key.scheme != "ftp":
            is_open = answer.is_proxied and any(map(self._is_open, answer.hops))
            variant = self._variant(key.origin, {}, is_open=is_open)
        user_agent = key.user_agent if user_agent is None else user_agent
        key = Key.under(key.origin, user_agent, variant, key.path)
        is_apart = answer.is_for_signed or _tells_apart(answer.event, answer.headers)
        return self.signed(key) if is_signed or is_apart else key

    def _is_open(self, uri: str) -> bool:
        """Whether a proxy could change the answer to a request: by its URI, or its scheme."""
        return not self._is_verified or uri.partition(":")[0] == "http"

    def _variant(self, origin: Origin, meta: Mapping[str, Any], *, is_open: bool) -> str:
        settings, spider = self._crawler.settings, self._crawler.spider
        facts = {
            **self._facts_of_settings,
            "spider": {name: getattr(spider, name, None) for name in _SPIDER_CREDENTIALS},
        }
        if is_open:  # what a proxy may have made up must not decide without the proxy
            facts["proxy"] = {PROXY: True}
        if origin.scheme == "ftp":
            facts["ftp"] = {name: meta.get(name) for name in CREDENTIALS}
            facts["ftp settings"] = {
                name: settings.get(name)
                for name in _FTP_CREDENTIALS
                if settings.getpriority(name)  # 0 is Scrapy's own value: anonymous
            }
        return _digest(facts)

    @cached_property
    def _facts_of_settings(self) -> dict[str, Mapping[str, Any]]:
        settings = self._crawler.settings  # which cannot change once a crawl runs
        facts: dict[str, Mapping[str, Any]] = {
            "meta": self._fetch_meta,
            "headers": _unusual_headers(settings.getdict("DEFAULT_REQUEST_HEADERS")),
            "settings": {name: settings.get(name) for name in _SETTINGS_CREDENTIALS},
        }
        return {name: fact for name, fact in facts.items() if _without_blanks(fact)}


def is_apart(known: Knowledge) -> bool:
    """Whether a site may have another answer for a crawl that signs, or does not."""
    copy, outage = known.copy, known.outage
    return (copy is not None and _tells_apart(copy.event, dict(copy.headers))) or (
        outage is not None and _tells_apart(outage.event, {})
    )


def _tells_apart(event: Event, headers: Mapping[str, str]) -> bool:
    """Whether a site may have another answer for signed requests: a challenge, or by its Vary."""
    varies = {name.strip() for name in headers.get("vary", "").lower().split(",")}
    return event is Failure.CHALLENGE or not varies.isdisjoint(_SIGNATURE_FIELDS)


def _digest(facts: Mapping[str, Mapping[str, Any]]) -> str:
    told = {name: found for name, fact in facts.items() if (found := _without_blanks(fact))}
    if not told:
        return ""
    # Stable over processes: `pformat` sorts each dict and set that does not fit on one line.
    text = _ADDRESS.sub("", pformat(told, width=1))
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=_DIGEST_OCTETS).hexdigest()


def _unusual_headers(headers: Mapping[str, Any]) -> dict[str, Any]:
    """The default headers that differ from Scrapy's and that robots.txt requests keep."""
    ours, usual = Headers(headers), Headers(DEFAULT_REQUEST_HEADERS)
    names = {*ours, *usual} - {*map(ours.normkey, _SET_BY_FETCHER)}
    return {
        name.decode("latin-1"): ours.getlist(name)
        for name in names
        if ours.getlist(name) != usual.getlist(name)
    }


def _without_blanks(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if fact not in _BLANKS}
