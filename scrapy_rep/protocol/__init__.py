"""RFC 9309 as pure functions: octets, numbers and `now` come in, frozen values go out.

This package has no clock, I/O, logging, randomness or Scrapy; a test enforces that. To read it as
a whole, follow a file from its octets to a verdict, and then the fetch that brings it::

    codings     a body without its Content-Encoding; `compressed` reads gzip
    lines       octets to records
    tokens      which crawler a user-agent line names
    paths       paths and patterns in one form
    wildcards   one pattern against one path
    matching    which rule decides; `packed` does the same for large sets of rules
    written     rules with a lone "%", which are compared in two ways
    ruleset     the rules of a group, in the form that suits their number
    selection   the part of a file that applies to one crawler
    document    a file as a value
    verdict     the decision, and why

    access/origin, redirects, guard     where a file is
    access/events                       the meaning of an answer or a failure
    access/knowledge, lifetime          the state of an origin, and how long it holds
    access/states                     the state machine that uses all of these

`extensions` holds what RFC 9309 leaves open: other records, and the crawler's name.
"""

from .access.events import Meaning
from .access.knowledge import Step
from .document import Group
from .extensions.records import OtherRecord, RequestRate, VisitTime

__all__ = ["Group", "Meaning", "OtherRecord", "RequestRate", "Step", "VisitTime"]
