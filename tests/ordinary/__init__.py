"""Small ordinary projects, drawn at random, crawled with Scrapy's own middleware and with ours."""
