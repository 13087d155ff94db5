"""Requests that pages make in a browser, driven by scrapy-playwright."""
