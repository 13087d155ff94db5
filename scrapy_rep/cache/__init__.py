"""Entries of fetched files and the stores that keep them; no HTTP and no Scrapy."""
