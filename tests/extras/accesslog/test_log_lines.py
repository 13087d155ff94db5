"""Lines of access logs in each format, and hostile ones."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.commands.running import CommandError
from scrapy_rep.extras.accesslog.log_lines import LogLine, LogReading, instant_of, line_reader
from scrapy_rep.protocol.errors import ConfigurationError

AT = 1_790_856_000  # 2026-10-01 12:00:00 UTC
COMBINED = (
    '192.0.2.1 - - [01/Oct/2026:14:00:00 +0200] "GET /a?b HTTP/1.1" 200 12 "https://x/" "Foo/1.0"'
)
CADDY = {
    "ts": AT + 0.25,
    "request": {
        "remote_ip": "2001:db8::1",
        "method": "GET",
        "host": "Example.com:443",
        "uri": "/a",
        "headers": {"User-Agent": ["Foo/1.0"]},
    },
    "status": 301,
}
ALB = (
    "h2 2026-10-01T12:00:00.500000Z app/lb/1 192.0.2.1:2817 10.0.0.1:80 0.0 0.1 0.0 403 403 34 366 "
    '"GET https://example.com:443/a?b HTTP/2.0" "Foo/1.0" ECDHE TLSv1.2 arn "Root=1" "-" "-" 0'
)
CLASSIC = (
    "2026-10-01T12:00:00.500000Z lb 192.0.2.1:2817 - -1 -1 -1 503 0 0 0 "
    '"GET http://example.com:80/a HTTP/1.1" "Foo/1.0" - -'
)
CLOUDFRONT = (
    "#Version: 1.0\n"
    "#Fields: date time c-ip cs-method cs(Host) cs-uri-stem sc-status cs(User-Agent) cs-uri-query "
    "x-host-header\n"
    "2026-10-01\t12:00:00\t192.0.2.1\tGET\td1.cloudfront.net\t/a\t200\tFoo/1.0%20(x)\tb=1\t"
    "example.com\n"
)
IIS = (
    "#Fields: date time cs-method cs-uri-stem cs-uri-query c-ip cs(User-Agent) sc-status\n"
    "2026-10-01 12:00:00 GET /a - 192.0.2.1 Foo/1.0+(x) 404\n"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (COMBINED, LogLine(AT, "192.0.2.1", "/a?b", 200, "Foo/1.0", "")),
        (
            f"Example.com:8080 {COMBINED}",
            LogLine(AT, "192.0.2.1", "/a?b", 200, "Foo/1.0", "example.com:8080"),
        ),
        (
            f"example.com {COMBINED.replace('192.0.2.1', '2001:db8::1')}",
            LogLine(AT, "2001:db8::1", "/a?b", 200, "Foo/1.0", "example.com"),
        ),
        (
            COMBINED.replace("192.0.2.1", "2001:db8::1"),
            LogLine(AT, "2001:db8::1", "/a?b", 200, "Foo/1.0", ""),
        ),
        (
            COMBINED.replace("192.0.2.1", "192.0.2.1, 10.0.0.1"),
            LogLine(AT, "192.0.2.1,", "/a?b", 200, "Foo/1.0", ""),
        ),
        (COMBINED.partition(' "https')[0], LogLine(AT, "192.0.2.1", "/a?b", 200, "", "")),
        (json.dumps(CADDY), LogLine(AT + 0.25, "2001:db8::1", "/a", 301, "Foo/1.0", "example.com")),
        (
            ALB,
            LogLine(
                AT + 0.5,
                "192.0.2.1",
                "https://example.com:443/a?b",
                403,
                "Foo/1.0",
                "example.com",
            ),
        ),
        (
            CLASSIC,
            LogLine(
                AT + 0.5, "192.0.2.1", "http://example.com:80/a", 503, "Foo/1.0", "example.com"
            ),
        ),
        (CLOUDFRONT, LogLine(AT, "192.0.2.1", "/a?b=1", 200, "Foo/1.0 (x)", "example.com")),
        (IIS, LogLine(AT, "192.0.2.1", "/a", 404, "Foo/1.0 (x)", "")),
    ],
)
def test_each_format_is_recognised(text: str, line: LogLine) -> None:
    read = line_reader("")
    assert [read(one) for one in text.splitlines()][-1] == line._replace(method="GET")


@pytest.mark.parametrize(
    ("request_line", "target"),
    [
        ("GET /a b HTTP/1.1", "/a b"),
        ("GET /", "/"),
        ("POST //x/../y HTTP/2.0", "//x/../y"),
        ("OPTIONS * HTTP/1.1", "*"),
        ("CONNECT h:443 HTTP/1.1", "h:443"),
        (r"\x16\x03\x01\x02 HTTP/1.1", ""),
        ("-", ""),
        ("", ""),
        (r"GET /\"\x22\\\xC3\xA9 HTTP/1.1", '/""\\é'),
        (r"GET /\xFF HTTP/1.1", "/\udcff"),
    ],
)
def test_target_is_taken_from_the_request_line(request_line: str, target: str) -> None:
    line = line_reader("")(COMBINED.replace("GET /a?b HTTP/1.1", request_line))
    assert line is not None
    assert line.target == target


def test_odd_lines_are_read_as_servers_write_them() -> None:
    read = line_reader("")
    for text in (
        '2001:db8::1 - - [01/Oct/2026:12:00:00 +0000] "-" 408 - "-" "-"',
        '1.2.3.4 - us[er "x [01/Oct/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-" "1.1.1.1"',
    ):
        line = read(text)
        assert line is not None
        assert (line.at, line.user_agent) == (AT, "")
    line = read(COMBINED.replace("Foo/1.0", r"Foo \"1\" \x5c"))
    assert line is not None
    assert line.user_agent == 'Foo "1" \\'


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("01/Oct/2026:12:00:00 +0000", AT),
        ("01/Oct/2026:05:30:00 -0630", AT),
        ("2026-10-01T12:00:00Z", AT),
        ("2026-10-01T14:00:00+02:00", AT),
        ("2026-10-01 12:00:00", AT),
        (f"{AT}", AT),
        (f"{AT}.5", AT + 0.5),
        (f"{AT}500", AT + 0.5),
        (f"{AT}500000", AT + 0.5),
        (f"{AT}500000000", AT + 0.5),
    ],
)
def test_times_of_servers_are_read(text: str, at: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    instant_of.cache_clear()
    try:
        assert instant_of(text) == at
    finally:
        monkeypatch.undo()
        time.tzset()


def test_fields_of_json_are_found_by_a_map() -> None:
    read = line_reader("time=when,request=req,status=code,agent=h.ua,address=from")
    found = {
        "when": "2026-10-01T12:00:00Z",
        "req": "GET /x HTTP/1.1",
        "code": "200",
        "h": {"ua": "A"},
    }
    assert read(json.dumps(found)) == LogLine(AT, "", "/x", 200, "A", "", "GET")
    with pytest.raises(ConfigurationError, match="NAME=PLACE"):
        line_reader("at=when")


_TEXTS = st.one_of(
    st.text(),
    st.from_regex(r'1 - - \[01/Oct/2026:\d\d:00:00 \+0000\] "(GET )?[^\n]{0,20}" \d\d\d 1'),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda below: (
            st.lists(below) | st.dictionaries(st.sampled_from(["ts", "request", "uri"]), below)
        ),
    ).map(json.dumps),
    st.sampled_from(["[" * 100_000, "{" + '"a":{' * 100_000, "#Fields:", '{"ts": 1e999}']),
)


@given(st.lists(_TEXTS, max_size=4))
def test_no_line_raises_anything_else(texts: list[str]) -> None:
    read = line_reader("")
    read("#Fields: date time c-ip")
    for text in texts:
        try:
            line = read(text)
        except (ValueError, RecursionError):
            continue
        assert line is None or isinstance(line, LogLine)


def _log(folder: Path, name: str, octets: bytes) -> str:
    path = folder / name
    path.write_bytes(octets)
    return str(path)


def _at(second: int, target: str) -> bytes:
    text = COMBINED.replace("14:00:00", f"14:00:{second:02}").replace("/a?b", target)
    return f"{text}\n".encode()


def test_logs_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    names = [
        _log(tmp_path, "access.log", b"no line\n" + _at(3, "/3")),
        _log(tmp_path, "access.log.1", _at(2, "/2").replace(b"\n", b"\r\n\r\n")),
        _log(tmp_path, "access.log.2.gz", gzip.compress(_at(0, "/0") + b"\n" + _at(1, "/1"))),
    ]
    reading = LogReading(names)
    assert [line.target for line, _ in reading.lines()] == ["/0", "/1", "/2", "/3"]
    assert reading.unreadable_count == 1


def test_logs_of_several_servers_are_read_as_one(tmp_path: Path) -> None:
    names = [
        _log(tmp_path, "a.log", _at(0, "/0") + _at(2, "/2") + _at(9, "/9")),
        _log(tmp_path, "b.log", IIS.replace(":00 GET", ":01 GET").encode()),
        _log(tmp_path, "c.log", CLOUDFRONT.replace("x-host-header", "x-h").encode()),
    ]
    assert [line.at - AT for line, _ in LogReading(names).lines()] == [0, 0, 1, 2, 9]


def test_a_log_that_is_cut_off_is_reported(tmp_path: Path) -> None:
    octets = gzip.compress(b"".join(b"%d\n" % number for number in range(50_000)))
    reading = LogReading([_log(tmp_path, "a.gz", octets[:-20])])
    assert [*reading.lines()] == []
    assert "a.gz cannot be read to its end" in reading.problems[0]
    assert reading.unreadable_count > 1000
    with pytest.raises(CommandError, match="No such file"):
        next(LogReading([str(tmp_path / "none")]).lines())


def test_deeply_nested_lines_are_unreadable(tmp_path: Path) -> None:
    reading = LogReading([_log(tmp_path, "a", b'{"a":' * 12_000 + b"\n" + _at(1, "/1"))])
    assert [line.target for line, _ in reading.lines()] == ["/1"]
    assert reading.unreadable_count == 1


def test_a_file_that_is_no_log_is_reported(tmp_path: Path) -> None:
    reading = LogReading([_log(tmp_path, "a.zst", b"\x28\xb5\x2f\xfd\n\0\n" * 9)])
    assert [*reading.lines()] == []
    assert reading.problems == [f"{tmp_path}/a.zst: no line is in a known format"]


@pytest.mark.parametrize("octets", [b"#Fields: date time\n", b"\n", b""])
def test_log_without_requests_is_no_problem(tmp_path: Path, octets: bytes) -> None:
    reading = LogReading([_log(tmp_path, "a", octets)])
    assert [*reading.lines()] == []
    assert reading.problems == []


def test_a_long_line_is_unreadable_as_a_whole(tmp_path: Path) -> None:
    begin = COMBINED.partition('"Foo')[0].encode() + b'"'
    forged = b"x" * ((1 << 16) - len(begin)) + _at(0, "/forged")
    octets = begin + forged + _at(1, "/1")
    for name, found in (("a", octets), ("a.gz", gzip.compress(octets))):
        reading = LogReading([_log(tmp_path, name, found)])
        assert [line.target for line, _ in reading.lines()] == ["/1"]
        assert reading.unreadable_count == 1


HOSTS = ("example.com:443", "other.example:80", "EXAMPLE.com:80", "example.com")


def test_lines_for_other_hosts_are_left_out(tmp_path: Path) -> None:
    name = _log(tmp_path, "a", "".join(f"{host} {COMBINED}\n" for host in HOSTS).encode())
    reading = LogReading([name], site="example.com")
    assert len([*reading.lines()]) == 3
    assert reading.foreign_count == 1


def test_several_hosts_need_a_site(tmp_path: Path) -> None:
    name = _log(tmp_path, "a", "".join(f"{host} {COMBINED}\n" for host in HOSTS).encode())
    with pytest.raises(CommandError, match=r"such as example.com and other.example: give --site"):
        [*LogReading([name]).lines()]


def test_requests_to_a_proxy_are_left_out(tmp_path: Path) -> None:
    reading = LogReading([_log(tmp_path, "a", _at(0, "/0") + _at(1, "http://x.example/private"))])
    assert [line.target for line, _ in reading.lines()] == ["/0"]
    assert reading.foreign_count == 1
    name = _log(tmp_path, "b", _at(0, "http://x.example/private") + _at(1, "/1"))
    with pytest.raises(
        CommandError, match=r"such as x\.example and one without a name: give --site"
    ):
        [*LogReading([name]).lines()]
    reading = LogReading([name], site="a.example")
    assert [line.target for line, _ in reading.lines()] == ["/1"]


@pytest.mark.timed
def test_a_hundred_thousand_lines_a_second_are_read(tmp_path: Path) -> None:
    name = _log(tmp_path, "a", (COMBINED + "\n").encode() * 200_000)
    began_at = time.process_time()
    assert sum(1 for _ in LogReading([name]).lines()) == 200_000
    assert time.process_time() - began_at < 2
