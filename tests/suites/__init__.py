"""The tests of Scrapy and of its plugins, run with Scrapy's robots.txt middleware and with ours."""
