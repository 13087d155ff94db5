"""One connection that robots.txt files come over: its bounds, and how it ended."""

from __future__ import annotations

import pytest

from scrapy_rep.fetch.transfer import HEAD_OCTETS, Connection
from scrapy_rep.protocol.access.endings import Ending


def test_a_head_has_a_bound_and_a_body_another() -> None:
    connection = Connection()
    assert connection.takes(1 << 40), "it is nobody's yet"
    connection.begin(HEAD_OCTETS)
    assert connection.takes(HEAD_OCTETS)
    assert not connection.takes(1)
    connection.begin(HEAD_OCTETS)
    assert connection.takes(100)
    connection.head_came(500_000)
    assert connection.takes(HEAD_OCTETS + 500_000), "in whatever framing"
    assert not connection.takes(20 * 500_000)
    connection.begin(None)
    connection.head_came(500_000)
    assert connection.takes(1 << 40), "a page may be as long as it likes"


@pytest.mark.parametrize(
    ("is_orderly", "error", "ending"),
    [
        (True, None, Ending.CLOSED),
        (False, None, Ending.BROKEN),
        (None, None, Ending.UNKNOWN),
        (True, OSError(), Ending.BROKEN),
        (None, OSError(), Ending.BROKEN),
    ],
)
def test_how_it_ended(is_orderly: bool | None, error: OSError | None, ending: Ending) -> None:
    connection = Connection()
    assert connection.ending is Ending.UNKNOWN
    connection.eof_came(is_orderly=is_orderly)
    connection.end(error)
    assert connection.ending is ending


def test_an_end_before_the_last_request_is_not_its_own() -> None:
    connection = Connection(has_ended_body=True)
    assert connection.has_ended_body is True
    connection.eof_came(is_orderly=False)
    connection.begin(HEAD_OCTETS)
    connection.end(None)
    assert connection.ending is Ending.UNKNOWN
