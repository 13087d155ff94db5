"""Sitemaps: parsing, and spiders that start from them."""
