"""RFC 9309 as values: octets, numbers and `now` come in, frozen values go out.

No clock, no I/O, no logging, no randomness and no Scrapy in here; a test sees to it. To read it as
a whole, follow a file from its octets to a verdict, and then the fetch that brings it::

    lines       octets to records; `compressed` reads gzip
    tokens      whom a user-agent line names
    paths       paths and patterns in one form
    wildcards   one pattern against one path
    matching    which of a few rules decides; `packed` does the same for very many
    written     rules with a lone "%", which are compared in two ways
    ruleset     the rules of a group, made ready for one of the two
    selection   the part of a file that speaks to one crawler
    document    a file as a value
    verdict     the decision, and why

    access/origin, redirects, guard     where a file is
    access/events                       what an answer or a failure means
    access/knowledge, lifetime          what is known, and how long it holds
    access/exchange                     all of that as one state machine

`extensions` holds what RFC 9309 leaves open: other records, and the crawler's name.
"""
