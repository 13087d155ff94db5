"""Names of the uses of content, and the path of a site's tdmrep.json.

Settings of crawls name these, though most crawls never read a site's preferences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

TRAIN_AI = "train-ai"
SEARCH = "search"
AI_INPUT = "ai-input"
TDM = "tdm"
CATEGORIES = (TRAIN_AI, SEARCH, AI_INPUT, TDM)
"""The uses of content: training, search, input of a model, text and data mining."""

USE = "use"
USES = ("immediate", "reference", "full")
"""How much of the content may be used (Content Signals), the least first."""

UsageTokens = Mapping[str, Sequence[str]]
"""Product tokens by category: a group for such a token counts as a preference for the category."""

NO_TOKENS: UsageTokens = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PolicyToken:
    """A token in user-agent lines that stands for a use of the content, not for a crawler.

    Attributes:
        token: the token as the source spells it; user-agent lines are compared without case.
        category: the use.
        source: the specification.
        seen: the date of the source.
        is_checked: whether the token and its meaning were read in the specification itself.
    """

    token: str
    category: str
    source: str
    seen: str
    is_checked: bool


POLICY_PREFIX = "__usage_"
"""The beginning of policy tokens; no crawler has such a name."""

# Only the abstract of this draft could be read: groups, paths and the longest match are those of
# RFC 9309. The spelling is that of an auditing tool, which names the draft, and of a second source.
# As for the tokens of users, only a group of its own that disallows a URL counts: the group for
# ``*`` and rules that allow say nothing.
POLICY_TOKENS = (
    PolicyToken(
        "__usage_ai-training",
        TRAIN_AI,
        "draft-kelley-aipref-training-preference-signal-00",
        "2026-10-30",
        is_checked=False,
    ),
)
"""All known policy tokens. Preferences, `rep agents`, lint and the survey read this table."""

TDMREP_PATH = "/.well-known/tdmrep.json"
"""The path of the file in which a site reserves its rights (TDMRep)."""
