"""Surveys: what many robots.txt say, fact by fact. Loads no Scrapy, so that it runs anywhere."""
