"""The checks of the settings about pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy_rep.checks import mapping, names, one_of
from scrapy_rep.protocol.tokens import as_product_tokens

from .page.rule_words import OBEYED
from .usage.categories import CATEGORIES, USES


def _some_of(*choices: str) -> Callable[[Any], Any]:
    """A check for a list with only these words, in any letter case."""

    def check(value: Any) -> tuple[str, ...]:
        chosen = tuple(word.lower() for word in names(value))
        if not set(chosen) <= set(choices):
            raise ValueError(f"must be a list of some of {', '.join(map(repr, choices))}")
        return tuple(dict.fromkeys(chosen))

    return check


def usage_tokens(value: Any) -> dict[str, tuple[str, ...]]:
    """A dict with lists of product tokens by uses."""
    found = {key: names(tokens) for key, tokens in mapping(value).items()}
    if not set(found) <= set(CATEGORIES):
        raise ValueError(f"must have no other keys than {', '.join(map(repr, CATEGORIES))}")
    for tokens in found.values():
        as_product_tokens(tokens)
    return found


page_obey = _some_of(*OBEYED)
uses = _some_of(*CATEGORIES)
use_level = one_of("", *USES)
