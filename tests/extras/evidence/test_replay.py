"""A crawl of real sites, replayed: the pages fetched are those allowed.

`tests/extras/evidence/audit/test_corpus.py` tests many more sites, in a crawl that writes a trail.
"""

from __future__ import annotations

from tests.extras.evidence.replayed import assert_exactly_those_allowed, replayed
from tests.shared import needs_shared


@needs_shared
def test_pages_fetched_are_exactly_those_allowed() -> None:
    assert_exactly_those_allowed(replayed(50))
