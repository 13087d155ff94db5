"""Encodes requests as octets for the queue of a fleet, and decodes them.

An entry is as trustworthy as everyone with write access to Redis. So an entry can't run other code:
it has only known keys, the worker has loaded its class and those of its items, its callbacks are
methods of the spider's own classes, and its URL is http or https. `write` and `read` check the same
rules (`_check`, `dumps`, `loads`), so each written entry can be read. An entry that breaks a rule
raises, and the caller sets it aside.

Other values are not checked, so they need a trustworthy Redis: `proxy`, `dont_obey_robotstxt` or
`bindaddress` in the meta, headers and body.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from scrapy import Request, Spider
from scrapy.http.request import NO_CALLBACK
from scrapy.spiders import CrawlSpider, SitemapSpider

from scrapy_rep.signals import PAGE, USAGE, VERDICT
from scrapy_rep.sitemaps.spiders import RobotsSitemapMixin

from .packed_values import ValueRefused, dumps, loaded, loads, name_of

ENTRY_OCTETS = 1 << 20
"""The most octets of an entry."""

PRIORITY = 10**15 - 1
"""The highest priority; Redis and Lua keep numbers as doubles, which are exact up to here."""

_WEB = ("http:", "https:")
_NO_CALLBACK = False  # replaces a name; no method has this name

# The keys of an entry, with the types that each value may have.
_KINDS: dict[str, tuple[type, ...]] = {
    "url": (str,),
    "callback": (str, bool),
    "errback": (str,),
    "method": (str,),
    "headers": (dict,),
    "body": (bytes,),
    "cookies": (dict, list),
    "meta": (dict,),
    "encoding": (str,),
    "priority": (int,),
    "dont_filter": (bool,),
    "flags": (list,),
    "cb_kwargs": (dict,),
    "dumps_kwargs": (dict,),
    "_class": (str,),
}
_DEFAULTS: dict[str, Any] = {
    "method": "GET",
    "body": b"",
    "encoding": "utf-8",
    "priority": 0,
    "dont_filter": False,
}
_CONTAINERS = ("headers", "cookies", "flags", "cb_kwargs", "dumps_kwargs")
# In meta: of the request before, or of this process
_TRANSIENT = (VERDICT, PAGE, USAGE, "download_latency")

# Callbacks of Scrapy's spiders and ours, which are private there.
_FRAMEWORK: dict[type, tuple[str, ...]] = {
    CrawlSpider: ("_callback", "_errback"),
    SitemapSpider: ("_parse_sitemap",),
    RobotsSitemapMixin: ("_parse_sitemap", "_sitemap_failed"),
}
_NOT_OF_USERS = ("scrapy.", "scrapy_redis.", "scrapy_rep.")  # what `spider_idle` does, say


class EntryRefused(ValueError):  # noqa: N818 - it is our answer, not a fault of ours
    """A request can't be queued or an entry can't be executed; the message says why."""


class Entries:
    """Writes and reads the entries of one spider's requests.

    Args:
        spider: the spider with the callbacks.
    """

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._callbacks_known: dict[str, bool] = {}
        self._classes_known: set[type] = {Request}

    def write(self, request: Request) -> bytes:
        """A request as an entry.

        Raises:
            EntryRefused: it could not be read again; the message says why and how to fix it.
        """
        cls = type(request)
        if loaded(name_of(cls), Request) is not cls:
            raise EntryRefused(
                f"{name_of(cls)} is not a request class that can be queued: define it at the top "
                "level of a module"
            )
        values = self._values(request)
        _check(values)
        try:
            octets = dumps(values)
        except ValueRefused as error:
            raise EntryRefused(str(error)) from None
        _check_size(octets)
        if cls not in self._classes_known:  # a class of the user's may need other arguments
            self.read(octets)
            self._classes_known.add(cls)
        return octets

    def _values(self, request: Request) -> dict[str, Any]:
        values: dict[str, Any] = {"url": request.url, **self._callbacks(request)}
        if type(request) is not Request:
            values["_class"] = name_of(type(request))
        for name, default in _DEFAULTS.items():
            # Scrapy takes True for a priority, and any value for `dont_filter`.
            if (value := type(default)(getattr(request, name))) != default:
                values[name] = value
        for name in _CONTAINERS:
            if value := getattr(request, name, None):
                values[name] = dict(value) if name == "headers" else value
        meta = {key: value for key, value in request.meta.items() if key not in _TRANSIENT}
        if meta:
            values["meta"] = meta
        return values

    def _callbacks(self, request: Request) -> dict[str, Any]:
        names: dict[str, Any] = {}
        if request.callback is NO_CALLBACK:
            names["callback"] = _NO_CALLBACK
        elif request.callback is not None:
            names["callback"] = self._name_of("callback", request.callback)
        if request.errback is not None:
            names["errback"] = self._name_of("errback", request.errback)
        return names

    def _name_of(self, key: str, function: Callable[..., Any]) -> str:
        name = getattr(function, "__name__", "")
        owner = getattr(function, "__self__", None)
        if owner is not self._spider or getattr(self._spider, name, None) != function:
            raise EntryRefused(
                f"{key} is not a method of the spider, so another worker would not find it: write "
                "it as a method"
            )
        if not self._is_callback(name):
            raise EntryRefused(
                f"{key} = {name!r} is not a method that the spider's own classes define, so "
                "it would not be called: rename it"
            )
        return name

    def read(self, octets: bytes) -> Request:
        """The request of an entry.

        Raises:
            EntryRefused: the entry breaks a rule.
        """
        _check_size(octets)
        try:
            values = loads(octets)
        except ValueRefused as error:
            raise EntryRefused(str(error)) from None
        _check(values)
        for key in ("callback", "errback"):
            if key in values:
                values[key] = self._method(key, values[key])
        name = values.pop("_class", None)
        cls = Request if name is None else loaded(name, Request)
        if cls is None:
            raise EntryRefused(f"{name[:100]!r} is not a request class that is loaded")
        unknown = values.keys() - set(cls.attributes)
        if unknown:
            raise EntryRefused(f"{cls.__name__} knows no {min(unknown)!r}")
        try:
            return cls(**values)
        except Exception as error:  # noqa: BLE001 - the class may be anybody's
            raise EntryRefused(f"no request can be made from it ({error})") from None

    def _method(self, key: str, name: str | bool) -> Callable[..., Any]:
        if name is _NO_CALLBACK:
            return NO_CALLBACK
        if not isinstance(name, str) or not self._is_callback(name):
            raise EntryRefused(f"{key} = {str(name)[:100]!r} is not a callback of the spider")
        method: Callable[..., Any] = getattr(self._spider, name)
        return method

    def _is_callback(self, name: str) -> bool:
        known = self._callbacks_known.get(name)
        if known is None:
            known = is_callback(type(self._spider), name)
            if known:
                self._callbacks_known[name] = known
        return known


def is_callback(spider_class: type, name: str) -> bool:
    """Whether an entry may name this method: a method of the spider's own classes.

    Methods of Scrapy's `Spider`, such as `start` or `closed`, are refused, except `parse`.
    """
    for cls, names in _FRAMEWORK.items():
        if name in names and issubclass(spider_class, cls):
            return True
    if name.startswith("__") or not name.isidentifier():
        return False
    for cls in spider_class.__mro__:
        if name in vars(cls):
            is_own = not cls.__module__.startswith(_NOT_OF_USERS) and not hasattr(Spider, name)
            return isinstance(vars(cls)[name], FunctionType) and (is_own or name == "parse")
    return False


def _check_size(octets: bytes) -> None:
    if len(octets) > ENTRY_OCTETS:
        raise EntryRefused(f"it takes {len(octets)} octets, more than {ENTRY_OCTETS}")


def _check_kind(key: Any, value: Any) -> None:
    kinds = _KINDS.get(key) if isinstance(key, str) else None
    if kinds is None:
        raise EntryRefused(f"it has an unknown key ({str(key)[:50]!r})")
    if not isinstance(value, kinds) or (type(value) is bool and bool not in kinds):
        raise EntryRefused(f"{key} is of type {type(value).__name__}")


def _check(values: Any) -> None:
    """Check the values of an entry, before it is written and after it was read."""
    if not isinstance(values, dict) or "url" not in values:
        raise EntryRefused("it is not a request")
    for key, value in values.items():
        _check_kind(key, value)
    if not values["url"].lower().startswith(_WEB):
        start = values["url"][:20]
        raise EntryRefused(f"its URL begins with {start!r}, and only http and https are queued")
    if abs(values.get("priority", 0)) > PRIORITY:
        raise EntryRefused(
            f"priority = {values['priority']} can't be queued: use a number from {-PRIORITY} to "
            f"{PRIORITY}"
        )
    for name, lines in values.get("headers", {}).items():
        if [type(name), type(lines), *map(type, lines)] != [bytes, list, *[bytes] * len(lines)]:
            raise EntryRefused("its headers are not lists of octets by name")
    for key in ("cb_kwargs", "dumps_kwargs"):
        if not all(isinstance(name, str) for name in values.get(key, ())):
            raise EntryRefused(f"a name in {key} is not text")
