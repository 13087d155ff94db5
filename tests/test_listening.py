"""Handlers of Scrapy's signals, connected while somebody needs them and a moment longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scrapy.utils.test import get_crawler

from scrapy_rep.engine import listening
from scrapy_rep.engine.listening import Listening

SIGNAL = object()


class Heard:
    """Some handlers, and what they heard; what is to be done in a moment, the test does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.crawler = get_crawler()
        self.later: list[Callable[[], None]] = []
        self.connected_count = 0
        self._count = 0
        monkeypatch.setattr(listening, "call_later", lambda _, call: self.later.append(call))
        connect = self.crawler.signals.connect

        def counted(handler: Callable[..., None], signal: object) -> None:
            self.connected_count += 1
            connect(handler, signal=signal)

        self.crawler.signals.connect = counted  # type: ignore[method-assign, assignment]
        self.listening = Listening(self.crawler, {SIGNAL: self._hear})

    def _hear(self) -> None:
        self._count += 1

    def count(self) -> int:
        """How many handlers hear a signal now."""
        before = self._count
        self.crawler.signals.send_catch_log(SIGNAL)
        return self._count - before


def test_as_long_as_somebody_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(monkeypatch)
    assert heard.count() == 0
    with heard.listening.on():
        assert heard.count() == 1
        with heard.listening.on():
            assert heard.count() == 1
        assert heard.later == []
        assert heard.count() == 1
    assert heard.count() == 1, "a signal may be going through its handlers"
    assert heard.connected_count == 1
    heard.later.pop()()
    assert heard.count() == 0
    with pytest.raises(KeyError), heard.listening.on():
        raise KeyError
    heard.later.pop()()
    assert heard.count() == 0
    assert heard.connected_count == 2


def test_somebody_comes_before_the_moment_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(monkeypatch)
    with heard.listening.on():
        pass
    with heard.listening.on():
        heard.later.pop()()
        assert heard.count() == 1
    with heard.listening.on():
        pass
    assert heard.connected_count == 1
    first, second = heard.later
    first()
    assert heard.count() == 0
    second()
    assert heard.count() == 0
