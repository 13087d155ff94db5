"""The page of surveys tells what every name means, and every reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scrapy_rep.extras.survey.statistics import DEFINITIONS
from tests.crawling import REPOSITORY

PAGE = (Path(REPOSITORY) / "docs" / "survey.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_definition_is_documented(name: str) -> None:
    assert f"| `{name}` | {DEFINITIONS[name]} |" in PAGE


def test_every_reason_for_a_bad_record_is_documented() -> None:
    folder = Path(REPOSITORY) / "scrapy_rep" / "extras" / "survey" / "inputs"
    texts = [module.read_text(encoding="utf-8") for module in folder.glob("*.py")]
    reasons = {found for text in texts for found in re.findall(r'Bad\("([a-z-]+)"', text)}
    reasons |= {"revisit", "other-record"}
    assert len(reasons) > 12
    assert {reason for reason in reasons if f"`{reason}`" not in PAGE} == set()
