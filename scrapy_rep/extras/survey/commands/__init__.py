"""``scrapy rep collect`` and ``survey``."""
