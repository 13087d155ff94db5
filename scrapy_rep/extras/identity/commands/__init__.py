"""``scrapy rep identity``."""
