"""Which crawls share their pace through Redis."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.core.scheduler import Scheduler
from scrapy.utils.test import get_crawler

from scrapy_rep.gate import gate_of

FLAT = Scheduler


class Pacing(Scheduler):
    keeps_pace_over_fleet = True


@pytest.mark.parametrize(
    ("scheduler", "url", "scope", "is_shared"),
    [
        (FLAT, "redis://localhost:1/0", "fleet", True),
        (FLAT, "redis://localhost:1/0", "crawl", False),
        (FLAT, "", "fleet", False),
        (Pacing, "redis://localhost:1/0", "fleet", False),
    ],
)
def test_who_has_a_gate(
    scheduler: type, url: str, scope: str, is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None if the scheduler keeps the pace, or nobody does."""
    monkeypatch.setattr("scrapy_rep.gate.link_of", lambda _, url: url)
    monkeypatch.setattr("scrapy_rep.redis_gate.RedisGate", lambda _, link, __: link)
    settings: Any = SimpleNamespace(redis_url=url, pace_scope=scope)
    slots: Any = None
    crawler = get_crawler(settings_dict={"SCHEDULER": scheduler})
    gate: Any = gate_of(crawler, settings, slots)
    assert gate == (url if is_shared else None)
