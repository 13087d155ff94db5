"""Records beyond RFC 9309: Sitemap, Crawl-delay, Request-rate, Visit-time, Host, Clean-param."""
