"""Surveys: facts and shares over many robots.txt files. Needs no Scrapy, so it runs anywhere."""
