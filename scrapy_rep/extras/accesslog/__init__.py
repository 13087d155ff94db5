"""Access logs of servers: the crawlers in them, and whether they obeyed the robots.txt then."""
