"""The public names are there, and come from where they say."""

from __future__ import annotations

import pytest

import scrapy_rep


@pytest.mark.parametrize("name", scrapy_rep.__all__)
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(scrapy_rep, name).__name__ == name


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        scrapy_rep.no_such_name  # noqa: B018
