"""What crawls did, in files for others: audit trails, WARC archives, and reports on trails.

The standard library, warcio for archives and Jinja for pages. All but `trail`, which writes down a
crawl as it runs, and `report` know neither Scrapy nor policies.
"""
