"""How long a day is, for everything that counts in days: lifetimes, windows, clocks."""

from __future__ import annotations

DAY_SECONDS = 86_400.0
