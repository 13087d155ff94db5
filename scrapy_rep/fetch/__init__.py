"""Fetches robots.txt files through Scrapy's engine, and stores the answers."""
