"""Entries of the queue: they keep all of a request, and run no other code."""

from __future__ import annotations

import datetime as dt
import os
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import attrs
import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scrapy import Field, FormRequest, Item, Request, Spider
from scrapy.http import JsonRequest, Response, XmlRpcRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.spiders import CrawlSpider, SitemapSpider

from scrapy_rep.extras.fleet.batch import Push, PushKind
from scrapy_rep.extras.fleet.packed_values import DEPTH, EntryRefused
from scrapy_rep.extras.fleet.request_codec import ENTRY_OCTETS, PRIORITY, Entries
from scrapy_rep.sitemaps.spiders import RobotsSitemapSpider
from tests.extras.fleet.workers import LEASE_MS, Fleet, drained
from tests.redis_server import needs_redis


def undocumented(method: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that does not use functools.wraps."""

    def wrapper(self: Any, response: Response) -> Any:
        return method(self, response)

    return wrapper


class Mixin:
    def parse_of_mixin(self, response: Response) -> None: ...


class SomeSpider(Mixin, Spider):
    name = "some"

    def parse(self, response: Response) -> None: ...

    def parse_item(self, response: Response, number: int = 0) -> None: ...

    @undocumented
    def parse_decorated(self, response: Response) -> None: ...

    def __parse_mangled(self, response: Response) -> None: ...

    @property
    def mangled(self) -> Any:
        return self.__parse_mangled

    async def parse_later(self, response: Response) -> None: ...

    def failed(self, failure: Any) -> None: ...

    def _private(self, response: Response) -> None: ...

    @classmethod
    def of_class(cls, response: Response) -> None: ...

    @staticmethod
    def of_nobody(response: Response) -> None: ...

    parse_value = 3


class Colour(str, Enum):
    RED = "red"


class Count(IntEnum):
    TWO = 2


class Text(str):
    __slots__ = ()


class Other(Enum):
    ONE = 1


class Thing(Item):
    name = Field()
    parts = Field()


class Needy(Request):
    def __init__(self, url: str, needed: int, **fields: Any) -> None:
        super().__init__(url, **fields)


class Tagged(Request):
    """Scrapy's documented way to add an attribute, which here is a required argument."""

    attributes = (*Request.attributes, "tag")

    def __init__(self, url: str, *, tag: Any, method: str = "POST", **fields: Any) -> None:
        super().__init__(url, method=method, **fields)
        self.tag = tag


@dataclass
class Data:
    x: Any = 1
    made: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.made.append(1)


@dataclass(frozen=True)
class Frozen:
    __slots__ = ("x",)
    x: int


@attrs.define
class OfAttrs:
    x: int


class Pair(NamedTuple):
    x: int
    y: Any


class Plain:
    """A class of which no instance is queued."""


@dataclass
class Deleting:
    """A class that acts when it is deleted, such as those of temporary files."""

    x: int = 1

    def __del__(self) -> None:
        raise AssertionError


@pytest.fixture
def spider() -> SomeSpider:
    return SomeSpider()


@pytest.fixture
def entries(spider: SomeSpider) -> Entries:
    return Entries(spider)


def told(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.attributes}


class TestKept:
    """The parts of a request, and values in its meta."""

    @pytest.mark.parametrize(
        "request_",
        [
            Request("http://a.example/"),
            Request(
                "https://a.example/x?y=1#z",
                method="PUT",
                headers={"X-One": ["1", "2"], "Accept": b"\xff"},
                body=b"\x00\xff",
                cookies={"a": "b"},
                meta={"depth": 3, "proxy": "http://p"},
                encoding="latin-1",
                priority=-7,
                dont_filter=True,
                flags=["x"],
                cb_kwargs={"number": 5},
            ),
            Request("http://a.example/", cookies=[{"name": "a", "value": "b", "secure": True}]),
            Request("http://a.example/", callback=NO_CALLBACK),
            FormRequest("http://a.example/", formdata={"a": "b"}),
            JsonRequest("http://a.example/", data={"a": 1}, dumps_kwargs={"sort_keys": True}),
            XmlRpcRequest("http://a.example/", methodname="m", params=(1,)),
        ],
    )
    def test_every_part_of_a_request_is_kept(self, entries: Entries, request_: Request) -> None:
        again = entries.read(entries.write(request_))
        assert type(again) is type(request_)
        assert told(again) == told(request_)

    @pytest.mark.parametrize(
        "value",
        [
            *[None, True, 0, -1, 1 << 63, 1.5, "ä", b"\xff\x00", [], {}, (), set()],
            *[(1, (2, [3, {"a": (4,)}])), {1, (2, 3), "x"}, {1: 2, (1, 2): 3, b"x": 4}],
            dt.datetime(2026, 11, 21, 5, 6, 7, 8),  # noqa: DTZ001
            dt.datetime(2026, 11, 21, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
            *[Decimal("1.50"), Decimal("-1E+400"), Decimal("Infinity"), dt.date(2026, 1, 1)],
            *[OrderedDict(b=1, a=2), {"x": OrderedDict(y=(1,))}, Thing(name="x", parts=[{1, 2}])],
            *[defaultdict(int, x=1), defaultdict(list, x=[(2,)]), defaultdict(None, x=3)],
            *[frozenset({1}), deque([1, 2], 3), Counter("aab"), Path("/x")],
            *[dt.time(1, 2), dt.timedelta(-1, 2, 3), UUID(int=5)],
            *[Other.ONE, Colour.RED, Count.TWO, Pair(1, (2,)), {Pair(1, 2): {Other.ONE}}],
            *[Data(), Data([Data()]), Frozen(1), OfAttrs(1)],
        ],
    )
    def test_values_keep_their_type(self, entries: Entries, value: Any) -> None:
        request = Request("http://a.example/", meta={"v": value}, cb_kwargs={"v": value})
        again = entries.read(entries.write(request))
        assert again.meta["v"] == value == again.cb_kwargs["v"]
        assert type(again.meta["v"]) is type(value)
        factory = getattr(value, "default_factory", None)
        assert getattr(again.meta["v"], "default_factory", None) is factory

    @pytest.mark.parametrize(
        ("value", "plain"),
        [(Text("x"), "x"), ({Text("x"): Text("y")}, {"x": "y"}), (bytearray(b"x"), b"x")],
    )
    def test_subclasses_of_plain_values(self, entries: Entries, value: Any, plain: Any) -> None:
        again = entries.read(entries.write(Request("http://a.example/", meta={"v": value})))
        assert repr(again.meta["v"]) == repr(plain)

    def test_numbers_and_flags_that_scrapy_accepts(self, entries: Entries) -> None:
        request = Request("http://a.example/", priority=True, dont_filter=1)  # type: ignore[arg-type]
        again = entries.read(entries.write(request))
        assert (again.priority, again.dont_filter) == (1, True)

    @pytest.mark.parametrize(
        "name",
        [
            *["parse", "parse_item", "parse_later", "parse_of_mixin", "_private"],
            *["parse_decorated", "mangled"],
        ],
    )
    def test_callbacks_are_kept_by_name(
        self, spider: SomeSpider, entries: Entries, name: str
    ) -> None:
        request = Request("http://a.example/", getattr(spider, name), errback=spider.failed)
        again = entries.read(entries.write(request))
        assert (again.callback, again.errback) == (getattr(spider, name), spider.failed)

    @pytest.mark.parametrize(
        ("kind", "names"),
        [
            (CrawlSpider, ["_callback", "_errback"]),
            (SitemapSpider, ["_parse_sitemap"]),
            (RobotsSitemapSpider, ["_parse_sitemap", "_sitemap_failed"]),
        ],
    )
    def test_callbacks_of_scrapys_spiders(self, kind: type[Spider], names: list[str]) -> None:
        spider = kind(name="x")
        for name in names:
            request = Request("http://a.example/", getattr(spider, name))
            assert Entries(spider).read(Entries(spider).write(request)).callback == request.callback

    @pytest.mark.parametrize("method", ["GET", "POST"])
    @pytest.mark.parametrize("tag", [None, "x", Pair(1, 2)])
    def test_attributes_of_a_class_of_the_user(
        self, entries: Entries, method: str, tag: Any
    ) -> None:
        request = Tagged("http://a.example/", tag=tag, method=method, cb_kwargs={"number": 1})
        assert told(entries.read(entries.write(request))) == told(request)

    def test_report_on_the_previous_request_is_removed(self, entries: Entries) -> None:
        meta = {"rep_verdict": "allowed: a rule matches", "depth": 1}
        assert entries.read(entries.write(Request("http://a.example/", meta=meta))).meta == {
            "depth": 1
        }


def with_more(data: Data) -> Data:
    vars(data)["more"] = 1
    return data


def cycle() -> list[Any]:
    one: list[Any] = [1]
    one.append(one)
    return one


def twice_itself() -> list[Any]:
    one: list[Any] = []
    one += [one, one]
    return one


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


class TestRefusedToQueue:
    """A value that another worker could not read is refused at once; the error names its key."""

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (Plain(), "of type Plain"),
            (with_more(Data()), "attributes that are not fields"),
            (type("Local", (Item,), {})(), "of type Local"),
            (defaultdict(lambda: 1), "the factory of a defaultdict"),
            ([dict.fromkeys(range(10_001))], "10000 keys"),
            (ValueError("x"), "of type ValueError"),
            (Response("http://a.example/"), "of type Response"),
            (lambda: 1, "of type function"),
            (1 << 64, "of type int"),
            ("\ud800", "surrogates not allowed"),
            ({Data: 1}, "no values of this type"),
            (cycle(), "more than 32 levels"),
            (twice_itself(), "more than 32 levels"),
            (nested(DEPTH + 1, lambda one: [one]), "more than 32 levels"),
            (nested(DEPTH + 1, lambda one: (one,)), "more than 32 levels"),
            (nested(2000, lambda one: {"x": one}), "more than 32 levels"),
        ],
    )
    def test_values_that_cannot_be_kept_are_refused(
        self, entries: Entries, value: Any, words: str
    ) -> None:
        request = Request("http://a.example/", meta={"good": 1, "bad": value})
        with pytest.raises(EntryRefused, match=words) as caught:
            entries.write(request)
        assert str(caught.value).startswith("meta")

    def test_message_names_the_path_to_a_value(self, entries: Entries) -> None:
        request = Request("http://a.example/", cb_kwargs={"a": [{"b": (1, Plain())}]})
        with pytest.raises(EntryRefused, match=r"^cb_kwargs\['a'\]\[0\]\['b'\]\[1\] is of type"):
            entries.write(request)

    @pytest.mark.parametrize(
        "callback",
        [lambda r: None, SomeSpider().parse, SomeSpider.of_nobody, SomeSpider.of_class, print],
    )
    def test_callbacks_that_are_no_methods(self, entries: Entries, callback: Any) -> None:
        with pytest.raises(EntryRefused, match=r"^callback"):
            entries.write(Request("http://a.example/", callback))

    @pytest.mark.parametrize("name", ["start", "log", "from_crawler", "_set_crawler"])
    def test_methods_of_scrapy_are_no_callbacks(
        self, spider: SomeSpider, entries: Entries, name: str
    ) -> None:
        with pytest.raises(EntryRefused, match=r"^errback"):
            entries.write(Request("http://a.example/", errback=getattr(spider, name)))

    def test_local_request_classes_are_refused(self, entries: Entries) -> None:
        class Local(Request):
            pass

        with pytest.raises(EntryRefused, match="at the top level of a module"):
            entries.write(Local("http://a.example/"))

    def test_class_with_other_arguments_is_refused(self, entries: Entries) -> None:
        with pytest.raises(EntryRefused, match="no request can be made from it"):
            entries.write(Needy("http://a.example/", 1))

    def test_entry_that_is_too_large_is_refused(self, entries: Entries) -> None:
        with pytest.raises(EntryRefused, match="more than 1048576 octets"):
            entries.write(Request("http://a.example/", body=b"x" * ENTRY_OCTETS))


def packed(**values: Any) -> bytes:
    octets: bytes = msgpack.packb({"url": "http://a.example/", **values})
    return octets


def instance(name: Any, state: Any = None) -> bytes:
    """A request with an instance of a class in its meta."""
    return packed(meta={"x": msgpack.ExtType(8, msgpack.packb([name, state or {}]))})


class Bomb:
    """Runs a command in the process that unpickles it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.file}",)


class TestRefusedToExecute:
    """No entry makes a worker call methods that the spider does not have for responses."""

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle_is_refused_and_not_run(
        self, entries: Entries, tmp_path: Path, protocol: int
    ) -> None:
        with pytest.raises(EntryRefused):
            entries.read(pickle.dumps(Bomb(tmp_path / "ran"), protocol))
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize("key", ["callback", "errback"])
    @pytest.mark.parametrize(
        "name",
        [
            *["__init__", "__class__", "__reduce__", "from_crawler", "update_settings", "start"],
            *["closed", "close", "log", "logger", "crawler", "settings", "name"],
            *["handles_request", "_set_crawler", "of_class", "of_nobody", "parse_value", "nope"],
            *["", "parse.x", "parse ", "custom_settings", "x" * 100_000],
        ],
    )
    def test_names_of_other_methods_are_refused(
        self, entries: Entries, key: str, name: str
    ) -> None:
        with pytest.raises(EntryRefused, match="not a callback"):
            entries.read(packed(**{key: name}))

    @pytest.mark.parametrize(
        "name", ["spider_idle", "setup_redis", "schedule_next_requests", "next_requests"]
    )
    def test_methods_of_scrapy_redis(self, name: str) -> None:
        from scrapy_redis.spiders import RedisSpider

        spider = RedisSpider(name="x")
        with pytest.raises(EntryRefused, match="not a callback"):
            Entries(spider).read(packed(callback=name))

    @pytest.mark.parametrize(
        "url",
        ["file:///etc/passwd", "FILE:///etc/passwd", "data:,x", "javascript:1", "", "x", "//a/b"],
    )
    def test_entries_with_other_schemes_are_refused(self, entries: Entries, url: str) -> None:
        with pytest.raises(EntryRefused, match="URL begins"):
            entries.read(packed(url=url))

    @pytest.mark.parametrize(
        "name",
        [
            *["subprocess.Popen", "os.system", "scrapy.Request", "scrapy.http.Request.replace"],
            *["builtins.eval", "tests.extras.fleet.test_entries.SomeSpider", "", "x"],
        ],
    )
    def test_class_that_is_no_request_is_refused(self, entries: Entries, name: str) -> None:
        with pytest.raises(EntryRefused, match="not a request class"):
            entries.read(packed(_class=name))

    @pytest.mark.parametrize(
        "values",
        [
            {"url": 1},
            {"url": b"http://a.example/"},
            {"url": None},
            {"meta": [1]},
            {"meta": "x"},
            {"headers": [["a", "b"]]},
            {"headers": {"a": {"b": 1}}},
            {"headers": {b"a": b"b"}},
            {"headers": {b"a": ["b"]}},
            {"body": "text"},
            {"priority": "1"},
            {"priority": True},
            {"priority": 1.5},
            {"dont_filter": 1},
            {"callback": True},
            {"callback": 1},
            {"callback": ["parse"]},
            {"errback": False},
            {"cookies": "x"},
            {"encoding": "no-such-codec", "body": b"x", "headers": {"a": "ä"}},
            {"flags": "x"},
            {"cb_kwargs": {1: 2}},
            {"unknown": 1},
            {"_class": 1},
            {"dumps_kwargs": {}},
            {"tag": 1},
            {"_class": "tests.extras.fleet.test_entries.Tagged"},
            {"self": 1},
            {"url": "http://[broken/"},
            {"__proto__": 1},
            {1: 2},
        ],
    )
    def test_fields_of_wrong_types_are_refused(
        self, entries: Entries, values: dict[Any, Any]
    ) -> None:
        octets = msgpack.packb({"url": "http://a.example/", **values})
        with pytest.raises(EntryRefused):
            entries.read(octets)

    @pytest.mark.parametrize(
        "octets",
        [
            *[b"", b"\x80", b"\xc1", b"{}", b"\xff", b"\xdf\xff\xff\xff\xff", b"\xde\xff\xff"],
            *[msgpack.packb([1]), msgpack.packb(1), msgpack.packb({}), packed()[:-1]],
            packed() + b"x",
            packed(meta={"x": msgpack.ExtType(99, b"")}),
            packed(meta={"x": msgpack.ExtType(1, b"\x01")}),
            packed(meta={"x": msgpack.ExtType(1, b"")}),
            packed(meta={"x": msgpack.ExtType(2, msgpack.packb([[1]]))}),
            packed(meta={"x": msgpack.ExtType(3, b"soon")}),
            packed(meta={"x": msgpack.ExtType(4, b"one")}),
            packed(meta={"x": msgpack.ExtType(7, msgpack.packb(["eval", {}]))}),
            packed(meta={"x": msgpack.ExtType(8, msgpack.packb(["scrapy.Request", {}]))}),
            packed(meta={"x": msgpack.ExtType(8, msgpack.packb(["scrapy.item.Item", {"x": 1}]))}),
            *map(
                instance,
                [
                    "tests.extras.fleet.test_entries.Plain",
                    "tests.extras.fleet.test_entries.Deleting",
                ],
            ),
            *map(instance, ["subprocess.Popen", "tempfile._TemporaryFileCloser", "x", 1, None]),
            instance("tests.extras.fleet.test_entries.Data", {"__class__": 1}),
            instance("tests.extras.fleet.test_entries.Data", [1]),
            instance("tests.extras.fleet.test_entries.Other", "__class__"),
            instance("tests.extras.fleet.test_entries.Pair", 5),
            packed(priority=PRIORITY + 1),
            packed(meta={n: n for n in range(20_000)}),
            b"\x82\xa3url\xb1http://a.example/\xa4meta\x81\x91\x01\x01",  # a list as a key
            b"\xdf\x00\x00\x00\x02" + packed()[1:] + b"\xa4meta" + b"\x91" * 900 + b"\x01",
            b"\x82" + packed()[1:] + b"\xa4meta" + b"\x81\x01" * 300_000 + b"\x01",
        ],
    )
    def test_octets_that_are_no_entry_are_refused(self, entries: Entries, octets: bytes) -> None:
        with pytest.raises(EntryRefused):
            entries.read(octets)

    @pytest.mark.parametrize("code", [1, 2])
    def test_kinds_within_kinds(self, entries: Entries, code: int) -> None:
        value = b"\x01"
        for _ in range(1000):
            value = msgpack.packb(msgpack.ExtType(code, b"\x91" + value))
        with pytest.raises(EntryRefused):
            entries.read(b"\x82" + packed()[1:] + b"\xa4meta" + value)

    def test_entry_of_fifty_megabytes_is_not_read(self, entries: Entries) -> None:
        with pytest.raises(EntryRefused, match="more than"):
            entries.read(packed(body=b"x" * 50_000_000))

    def test_invalid_entry_raises_only_entry_refused(self, entries: Entries) -> None:
        whole = packed(meta={"a": (1, 2)}, headers={b"x": [b"y"]}, priority=3, callback="parse")
        for place in range(len(whole)):
            for octet in (0x00, 0x7F, 0x80, 0xC1, 0xC7, 0xD9, 0xDF, 0xFF):
                changed = whole[:place] + bytes([octet]) + whole[place + 1 :]
                try:
                    entries.read(changed)
                except EntryRefused:
                    continue


_leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 65), 1 << 65)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False)
)
_values = st.recursive(
    _leaves,
    lambda some: (
        st.lists(some, max_size=3)
        | st.tuples(some, some)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.dates(), some, max_size=3)
        | st.dictionaries(st.text(max_size=3), some, max_size=3).map(OrderedDict)
        | st.dictionaries(st.text(max_size=3), some, max_size=3).map(lambda d: defaultdict(list, d))
    ),
    max_leaves=6,
)
_edges = [0, 1, (1 << 53) - 1, 1 << 53, PRIORITY, PRIORITY + 1, 1 << 63, 1 << 64, 1 << 70]
_priorities = st.integers(-20, 20) | st.sampled_from([sign * n for n in _edges for sign in (1, -1)])


@needs_redis
@given(
    st.lists(
        st.tuples(_priorities, st.dictionaries(st.text(max_size=3), _values, max_size=3)),
        min_size=1,
        max_size=8,
    )
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_written_requests_survive_redis_and_a_death(
    redis_server: Any, some: list[tuple[int, dict[str, Any]]]
) -> None:
    """Writer and reader accept the same entries: an entry that was written can be read."""
    redis_server.flush()
    fleet, entries = Fleet(redis_server), Entries(SomeSpider())
    one, two = fleet.worker("one"), fleet.worker("two")
    queued = {}
    for number, (priority, meta) in enumerate(some):
        url = f"http://a.example/{number}"
        request = Request(url, meta=meta, priority=priority)
        try:
            payload = entries.write(request)
        except EntryRefused:
            continue
        queued[url] = told(request)
        one.ledger.push(
            Push("http://a.example", priority, PushKind.FILTERED, url.encode(), payload)
        )
    one.settle("http://a.example")
    one.talk()
    one.talk(20)
    fleet.now += LEASE_MS / 1000 + 1
    two.talk()
    found = {request.url: told(request) for request in read_by(entries, two)}
    assert found == queued
    assert (two.reply.queued, two.reply.flying, fleet.total("aside")) == (0, 0, 0)
    fleet.client.close()


def read_by(entries: Entries, worker: Any) -> list[Request]:
    return [entries.read(held.payload) for held in drained(worker)]
