"""Names of the uses of content, and the path of a site's tdmrep.json.

Settings of crawls name these, though most crawls never read a site's preferences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

TRAIN_AI = "train-ai"
SEARCH = "search"
AI_INPUT = "ai-input"
TDM = "tdm"
CATEGORIES = (TRAIN_AI, SEARCH, AI_INPUT, TDM)
"""The uses of content: training, search, input of a model, text and data mining."""

UsageTokens = Mapping[str, Sequence[str]]
"""Product tokens by category: a group for such a token counts as a preference for the category."""

NO_TOKENS: UsageTokens = MappingProxyType({})

TDMREP_PATH = "/.well-known/tdmrep.json"
"""The path of the file in which a site reserves its rights (TDMRep)."""
