"""The command line: ``scrapy rep`` and ``scrapy-rep``."""
