"""The scripts that Redis runs for a fleet: each is a file in `lua/`, and says there what it takes.

`EXCHANGE`, `MEND` and `CLEAR` are the workers'; `books.lua` stands in front of the first two. The
others are for people who look at a fleet: they call no command that writes. Each of those costs
O(log n) in the number of lanes, and as much as it is asked to go through; `looking` says what they
give.
"""

from __future__ import annotations

from importlib.resources import files

from scrapy_rep.cache.link import Script

_FOLDER = files("scrapy_rep.fleet").joinpath("lua")


def _script(*names: str) -> Script:
    parts = (_FOLDER.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return Script("".join(parts))


EXCHANGE = _script("books", "exchange")
MEND = _script("books", "mend")
CLEAR = _script("clear")
LOOK_TOTALS = _script("look_totals")
LOOK_WORKERS = _script("look_workers")
LOOK_PLACES = _script("look_places")
LOOK_LANE = _script("look_lane")
LOOK_LETTERS = _script("look_letters")
