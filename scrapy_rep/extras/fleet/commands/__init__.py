"""``scrapy rep fleet``: what the workers of a crawl do, and orders to them."""
