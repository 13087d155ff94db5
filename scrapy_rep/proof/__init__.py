"""Records of crawls for other people: audit trails, WARC archives, and reports on trails.

Needs the standard library, warcio for archives and Jinja for pages. Only `trail`, which records a
running crawl, and `report` know Scrapy or policies.
"""
