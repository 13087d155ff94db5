"""Encodes requests as octets for the queue of a fleet: the attributes that `to_dict` writes.

An entry is as trustworthy as everyone with write access to Redis. So an entry can't run other code:
it has only known keys, the worker has loaded its class and those of its values, its callbacks are
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

from scrapy_rep.signals import VERDICT
from scrapy_rep.sitemaps.spiders import RobotsSitemapMixin

from .packed_values import EntryRefused, dumps, loaded, loads, name_of

ENTRY_OCTETS = 1 << 20
"""The most octets of an entry."""

PRIORITY = 10**15 - 1
"""The highest priority; Redis and Lua keep numbers as doubles, which are exact up to here."""

_WEB = ("http:", "https:")
_NO_CALLBACK = False  # replaces a name; no method has this name

# The keys of every entry, with the type that each value has; a class may have more attributes.
_KINDS: dict[str, Any] = {
    "url": str,
    "callback": (str, bool),
    "errback": str,
    "method": str,
    "headers": dict,
    "body": bytes,
    "cookies": (dict, list),
    "meta": dict,
    "encoding": str,
    "priority": int,
    "dont_filter": bool,
    "flags": list,
    "cb_kwargs": dict,
    "_class": str,
}
_DEFAULTS = {"method": "GET", "encoding": "utf-8"}  # Scrapy's; the others are false
# In meta: of the request before, or of this process
_TRANSIENT = (VERDICT, "download_latency")

# Callbacks of Scrapy's spiders and ours, which are private there.
_FRAMEWORK: dict[type, tuple[str, ...]] = {
    CrawlSpider: ("_callback", "_errback"),
    SitemapSpider: ("_parse_sitemap",),
    RobotsSitemapMixin: ("_parse_sitemap", "_sitemap_failed"),
}
_NOT_OF_USERS = ("scrapy.", "scrapy_redis.", "scrapy_rep.")  # what `spider_idle` does, say


class Entries:
    """Writes and reads the entries of one spider's requests.

    Args:
        spider: the spider with the callbacks.
    """

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._names: dict[Any, str] = {}

    def write(self, request: Request) -> bytes:
        """A request as an entry.

        Raises:
            EntryRefused: it could not be read again; the message says why.
        """
        cls = type(request)
        if loaded(name_of(cls), Request) is not cls:
            raise EntryRefused(f"{name_of(cls)} is not at the top level of a module")
        values = self._values(request)
        _check(values)
        octets = dumps(values)
        _check_size(octets)
        if not cls.__module__.startswith("scrapy."):  # a class of the user's may do anything
            self.read(octets)
        return octets

    def _values(self, request: Request) -> dict[str, Any]:
        cls = type(request)
        values: dict[str, Any] = {name: getattr(request, name, None) for name in cls.attributes}
        values["headers"] = dict(request.headers)
        values["meta"] = {k: v for k, v in request.meta.items() if k not in _TRANSIENT}
        # Scrapy takes True for a priority, and any value for `dont_filter`.
        values["priority"], values["dont_filter"] = int(request.priority), bool(request.dont_filter)
        for key in ("callback", "errback"):
            if values.get(key) is not None:
                values[key] = self._name_of(key, values[key])
        if cls is not Request:
            values["_class"] = name_of(cls)
            # None may be a value of an attribute that only this class has.
            return {n: v for n, v in values.items() if v is not None or n not in _KINDS}
        return {
            name: value
            for name, value in values.items()
            if (value or name == "callback") and value not in (None, _DEFAULTS.get(name))
        }

    def _name_of(self, key: str, method: Callable[..., Any]) -> str | bool:
        """The name of a callback, as Scrapy's `to_dict` finds it: any name of the same function."""
        if method is NO_CALLBACK:
            return _NO_CALLBACK
        function = getattr(method, "__func__", None)
        name = self._names.get(function)
        if name is None and getattr(method, "__self__", None) is self._spider:
            cls = type(self._spider)
            all_of = ((name, part) for one in cls.__mro__ for name, part in vars(one).items())
            names = (name for name, part in all_of if part is function)
            name = next((name for name in names if is_callback(cls, name)), None)
        if name is None or getattr(self._spider, name) != method:
            raise EntryRefused(f"{key} is not a method that the spider's own classes define")
        self._names[function] = name
        return name

    def read(self, octets: bytes) -> Request:
        """The request of an entry.

        Raises:
            EntryRefused: the entry breaks a rule.
        """
        _check_size(octets)
        values = loads(octets)
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
        if not isinstance(name, str) or not is_callback(type(self._spider), name):
            raise EntryRefused(f"{key} = {str(name)[:100]!r} is not a callback of the spider")
        method: Callable[..., Any] = getattr(self._spider, name)
        return method


def is_callback(spider_class: type, name: str) -> bool:
    """Whether an entry may name this method: a method of the spider's own classes.

    Methods of Scrapy's `Spider`, such as `start` or `closed`, are refused, except `parse`.
    """
    if any(name in names and issubclass(spider_class, cls) for cls, names in _FRAMEWORK.items()):
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
        raise EntryRefused(f"it takes more than {ENTRY_OCTETS} octets")


def _check(values: Any) -> None:
    """Check the values of an entry, before it is written and after it was read."""
    if not isinstance(values, dict) or not isinstance(values.get("url"), str):
        raise EntryRefused("it is not a request")
    for key, value in values.items():
        kinds = _KINDS.get(key, object)
        if not isinstance(value, kinds) or (value is True and kinds is int):
            raise EntryRefused(f"{str(key)[:50]} is of type {type(value).__name__}")
    if not values["url"].lower().startswith(_WEB):
        start = values["url"].partition(":")[0][:20]
        raise EntryRefused(f"its URL begins with {start!r}, and only http and https are queued")
    if abs(values.get("priority", 0)) > PRIORITY:
        raise EntryRefused(f"its priority is not from {-PRIORITY} to {PRIORITY}")
    for name, lines in values.get("headers", {}).items():
        if [type(name), type(lines), *map(type, lines)] != [bytes, list, *[bytes] * len(lines)]:
            raise EntryRefused("its headers are not lists of octets by name")
    if not all(isinstance(name, str) for name in (*values, *values.get("cb_kwargs", ()))):
        raise EntryRefused("a name in it is not text")
