"""``scrapy rep audit`` and ``report``."""
