"""The stats of signatures."""

from __future__ import annotations

from scrapy_rep.stats import stat

SIGNED = stat("rep/signed", "requests that were signed (REP_SIGN_KEY)")
SIGNED_AGAIN = stat("rep/signed_again", "requests sent again with the signature that a site wants")
