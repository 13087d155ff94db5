"""How fast and when a crawl visits a site, and all that touches Scrapy's downloader."""
