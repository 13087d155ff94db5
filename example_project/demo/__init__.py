"""The demo project of scrapy-rep: a crawler, and a small web to crawl."""
