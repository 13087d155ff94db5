"""The add-on takes the place of Scrapy's own middleware and respects the user's choices."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_rep import Addon, ConfigurationError, RepMiddleware
from scrapy_rep.engine.components import middleware_orders

OTHER_QUEUE = "scrapy.pqueues.ScrapyPriorityQueue"
BUILT_IN = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


class OwnRobotsTxtMiddleware(RobotsTxtMiddleware):
    """A user's subclass of Scrapy's own."""


def orders(user: dict[Any, Any]) -> dict[Any, Any]:
    settings = Settings()
    settings.set("DOWNLOADER_MIDDLEWARES", user, priority="project")
    Addon().update_settings(settings)
    return middleware_orders(settings)


@pytest.mark.parametrize(
    ("user", "order"),
    [
        ({}, 100),
        ({BUILT_IN: 120}, 120),
        ({RobotsTxtMiddleware: 120}, 120),
        ({BUILT_IN: None}, 100),
        ({RepMiddleware: 77}, 77),
        ({"scrapy_rep.RepMiddleware": 77}, 77),
        ({"scrapy_rep.RepMiddleware": 77, BUILT_IN: 120}, 77),
    ],
)
def test_addon_replaces_the_middleware_of_scrapy(user: dict[Any, Any], order: int) -> None:
    result = orders(user)
    assert result.get(RobotsTxtMiddleware) is None
    assert result[RepMiddleware] == order


@pytest.mark.parametrize("rival", [BUILT_IN, OwnRobotsTxtMiddleware])
def test_two_judges_are_refused(rival: Any) -> None:
    crawler = get_crawler(
        settings_dict={
            "ROBOTSTXT_OBEY": True,
            "DOWNLOADER_MIDDLEWARES": {rival: 100, "scrapy_rep.RepMiddleware": 101},
        }
    )
    with pytest.raises(ConfigurationError, match="is enabled next to RepMiddleware"):
        RepMiddleware.from_crawler(crawler)


def test_addon_without_its_middleware_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="would not be obeyed"):
        orders({"scrapy_rep.RepMiddleware": None})


class OwnScheduler(Scheduler):
    """A user's own."""


@pytest.mark.parametrize(
    ("user", "queue"),
    [
        ({}, "scrapy_rep.RepPriorityQueue"),
        ({"SCHEDULER_PRIORITY_QUEUE": OTHER_QUEUE}, OTHER_QUEUE),
        ({"SCHEDULER": OwnScheduler}, Settings()["SCHEDULER_PRIORITY_QUEUE"]),
    ],
)
def test_addon_sets_our_queue_unless_the_user_chose_another(
    user: dict[str, Any], queue: str
) -> None:
    settings = Settings(user, priority="project")
    Addon().update_settings(settings)
    assert settings["SCHEDULER_PRIORITY_QUEUE"] == queue
