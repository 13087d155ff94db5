"""Everything that depends on Scrapy's internals: its engine, downloader, slots and event loops."""
