"""Sitemaps, from their octets to spiders that start from them."""
