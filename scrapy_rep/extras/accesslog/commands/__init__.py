"""``scrapy rep log``."""
