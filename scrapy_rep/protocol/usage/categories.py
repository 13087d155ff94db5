"""What content may be used for, by name, and where a site keeps its tdmrep.json.

Crawls name these in their settings, though most never ask what a site prefers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

TRAIN_AI = "train-ai"
SEARCH = "search"
AI_INPUT = "ai-input"
TDM = "tdm"
CATEGORIES = (TRAIN_AI, SEARCH, AI_INPUT, TDM)
"""What content may be used for: training, search, as input of a model, text and data mining."""

UsageTokens = Mapping[str, Sequence[str]]
"""Product tokens by the category for which a group of their own speaks."""

NO_TOKENS: UsageTokens = MappingProxyType({})

TDMREP_PATH = "/.well-known/tdmrep.json"
"""Where a site keeps the file in which it reserves its rights (TDMRep)."""
