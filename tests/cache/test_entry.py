"""Entries: when they changed, how long they are fresh, and their keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_rep.cache.entry import Entry, Key, key_of
from scrapy_rep.protocol.access.knowledge import Knowledge
from tests.cache.samples import ORIGIN, file_entry, outage_entry

_COPY = file_entry(at=1000.0).known.copy
_LATER = outage_entry(at=2000.0).known.outage
_EARLIER = outage_entry(at=500.0).known.outage


@pytest.mark.parametrize(
    ("known", "changed_at", "fresh_until"),
    [
        (Knowledge(), 0.0, 0.0),
        (Knowledge(_COPY), 1000.0, 87_400.0),
        (Knowledge(None, _LATER), 2000.0, 2030.0),
        (Knowledge(_COPY, _LATER), 2000.0, 2030.0),
        (Knowledge(_COPY, _EARLIER), 1000.0, 530.0),
    ],
)
def test_times_of_an_entry(known: Knowledge, changed_at: float, fresh_until: float) -> None:
    entry = Entry(ORIGIN, known)
    assert (entry.changed_at, entry.fresh_until) == (changed_at, fresh_until)


def test_key_has_a_text() -> None:
    key = Key.under(ORIGIN, "Bot/1.0", "9f")
    assert key_of(key) is key
    assert key_of(ORIGIN) == Key.under(ORIGIN)
    assert (key.origin, key.robots_txt_uri) == (ORIGIN, ORIGIN.robots_txt_uri)
    assert (str(key), key.requester) == (f"{ORIGIN} Bot/1.0 [9f]", "Bot/1.0 [9f]")
    assert str(Key.under(ORIGIN)) == str(ORIGIN)


def test_keys_of_another_file() -> None:
    key, robots_txt = Key.under(ORIGIN, "Bot/1.0", "", "/a/b.json"), Key.under(ORIGIN, "Bot/1.0")
    assert key != robots_txt
    assert (key.uri, key.file_name) == (f"{ORIGIN}/a/b.json", "b.json")
    assert str(key) == f"{ORIGIN}/a/b.json Bot/1.0"
    assert (key.written, Key.read(key.written)) == ([str(ORIGIN), "Bot/1.0", "", "/a/b.json"], key)


@pytest.mark.parametrize(
    "fields", [[], ["a"], [str(ORIGIN), "a", "", "/b", "c"], [str(ORIGIN), "a", ""], 7, None]
)
def test_other_fields_are_not_a_key(fields: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Key.read(fields)


_PATHS = st.text("/ab[]%", max_size=4).map("/{}".format)
_TEXTS = st.text("ab []%/\udcff\u00fc", max_size=6)


@given(st.lists(st.builds(Key.under, st.just(ORIGIN), _TEXTS, _TEXTS, _PATHS), max_size=20))
@example([Key.under(ORIGIN, "GoodBot/1.0", "9f"), Key.under(ORIGIN, "GoodBot/1.0 [9f]")])
@example([Key.under(ORIGIN, "", "9f"), Key.under(ORIGIN, "[9f]"), Key.under(ORIGIN, " [9f]")])
@example([Key.under(ORIGIN, "100%5B"), Key.under(ORIGIN, "100["), Key.under(ORIGIN, "a ")])
def test_keys_that_differ_have_texts_that_differ(keys: list[Key]) -> None:
    assert len(set(map(str, keys))) == len(set(keys))
