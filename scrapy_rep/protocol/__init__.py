"""RFC 9309 as values: octets, numbers and `now` come in, frozen values go out.

No clock, no I/O, no logging, no randomness and no Scrapy in here; a test sees to it.
"""
