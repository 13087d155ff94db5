"""RFC 9309, 2.3 and 2.4: the meaning of a fetched robots.txt, and how long it holds."""
