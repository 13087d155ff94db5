"""What a page says of itself to crawlers: X-Robots-Tag, Robots-Tag, meta robots, links."""
