"""The requests that pages make in a browser, which scrapy-playwright drives."""
