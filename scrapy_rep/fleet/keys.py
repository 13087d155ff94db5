"""The keys of a crawl in Redis.

They all begin with the same prefix, which is followed by:

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


def prefix_of(queue_key: str, spider_name: str) -> str:
    """The prefix of all keys of one crawl; it holds a hash tag, so that one node has them all.

    Args:
        queue_key: SCHEDULER_QUEUE_KEY, in which ``%(spider)s`` stands for the spider's name.
        spider_name: whose crawl it is.
    """
    return f"rep:{{{queue_key % {'spider': spider_name}}}}:"
