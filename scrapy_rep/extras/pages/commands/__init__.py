"""``scrapy rep check --page`` and ``--usage``."""
