"""What is kept of fetched files, by origin: knows entries and stores, not HTTP or Scrapy."""
