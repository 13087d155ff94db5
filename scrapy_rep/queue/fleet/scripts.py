"""The scripts that Redis runs for a fleet: each is a file in `lua/`, and says there what it takes.

`EXCHANGE`, `MEND` and `CLEAR` are the workers'; `books.lua` stands in front of the first two. The
others are for people who look at a fleet: they call no command that writes. Each of those costs
O(log n) in the number of lanes, and as much as it is asked to go through; `looking` says what they
give.

The keys of a crawl in Redis, of which the scripts take the prefix:

=============  ==========================================================================
`due`          sorted set: lane -> when its next request may be popped, in ms
`new`          sorted set: lane whose policy is not known -> when to ask for it, in ms
`lines`        hash: lane -> what is known of it (see `LANE` in `lua/books.lua`)
`q:<lane>`     list: its requests of priority 0; `q<priority>:<lane>` those of another
`p:<lane>`     sorted set: its priorities other than 0 that have requests
`w`            sorted set: worker -> when its lease ends, in ms
`f:<worker>`   hash: id -> a request that the worker was given, and has not done
`m:<worker>`   hash: number of its last batch and attempt, and what people ask of it
`dying`        set: workers whose requests are being handed on
`busy`         set: workers whose spider still yields start requests
`df`           set: fingerprints of what was queued
`starts`       set: those of start requests that are not filtered otherwise
`seeds`        list: start URLs that a worker took, and gave back
`t`            hash of totals: `n` queued, `fly` in flight, `done`, `dead`, `aside`,
               `idle` since when nothing is to be done, `spent` whether a crawl has ended, `gen`
               which count it is, `f:<worker>` in which the worker's requests are, `stir` when
               something was done last, `mended` when the last count ended
`dead`         list: what was delivered too often, or could not be read; the last 10,000
`epoch`, `ids` when this began, and the last id; an emptied or older Redis is known by them
`renewed`      when Redis was found emptied or older, in ms
`flushing`     whether a worker is clearing all this
`mend`         which count is under way, since something was wrong; `mending` which worker does it
`odd:<key>`    a key that was of another type than it should be, for a week
=============  ==========================================================================
"""

from __future__ import annotations

from importlib.resources import files

from scrapy_rep.cache.link import Script

_FOLDER = files("scrapy_rep.queue.fleet").joinpath("lua")


def _script(*names: str) -> Script:
    parts = (_FOLDER.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return Script("".join(parts))


def prefix_of(queue_key: str, spider_name: str) -> str:
    """The prefix of all keys of one crawl; it holds a hash tag, so that one node has them all.

    Args:
        queue_key: SCHEDULER_QUEUE_KEY, in which ``%(spider)s`` stands for the spider's name.
        spider_name: whose crawl it is.
    """
    return f"rep:{{{queue_key % {'spider': spider_name}}}}:"


EXCHANGE = _script("books", "exchange")
MEND = _script("books", "mend")
CLEAR = _script("clear")
LOOK_TOTALS = _script("look_totals")
LOOK_WORKERS = _script("look_workers")
LOOK_PLACES = _script("look_places")
LOOK_LANE = _script("look_lane")
LOOK_LETTERS = _script("look_letters")
