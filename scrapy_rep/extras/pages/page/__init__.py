"""The rules of a page for crawlers: X-Robots-Tag, Robots-Tag, meta robots, links."""
