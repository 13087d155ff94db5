"""How fast and when a crawl visits a site. Only this package touches Scrapy's downloader."""
