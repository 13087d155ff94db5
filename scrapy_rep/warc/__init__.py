"""Exchanges about robots.txt as WARC files (ISO 28500): standard archives, beside the trail.

Records are values. A thread packs and writes them, in order. Nothing here knows Scrapy.
"""
