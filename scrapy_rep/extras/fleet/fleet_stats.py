"""The stats of fleets."""

from __future__ import annotations

from scrapy_rep.stats import stat

FLEET_BATCHES = stat("rep/fleet/batches", "batches sent to the queue in Redis")
FLEET_FAILED = stat("rep/fleet/failed", "batches without a reply")
FLEET_IN_MEMORY = stat(
    "rep/fleet/in_memory",
    "requests that can't be written to Redis, so their worker keeps them (see the log)",
)
FLEET_ASIDE = stat(
    "rep/fleet/aside", "entries that break a rule, and keys of another type, set aside"
)
FLEET_PASSED_ON = stat(
    "rep/fleet/passed_on", "entries that this worker could not use, and left to other workers"
)
FLEET_DEAD = stat(
    "rep/fleet/dead_letters", "requests during which three workers in a row were lost"
)
FLEET_AGAIN = stat("rep/fleet/again", "requests that another worker had before and did not finish")
FLEET_SUCCEEDED = stat("rep/fleet/succeeded", "times that this worker counted as dead")
FLEET_EMPTIED = stat("rep/fleet/emptied", "times that Redis was emptied, or older than before")
FLEET_LOST = stat(
    "rep/fleet/lost", "requests that Redis lost: accepted, and neither fetched nor dropped nor dead"
)
FLEET_FILTER_LOST = stat(
    "rep/fleet/filter_lost", "fingerprints that the filter in Redis lost: pages may come again"
)
FLEET_SEEDS = stat("rep/fleet/start_urls", "start URLs taken from Redis, of a RedisSpider")
FLEET_FULL = stat("rep/fleet/full", "batches while Redis had no memory left")
FLEET_MENDED = stat("rep/fleet/mended", "times that the crawl in Redis was counted again")
