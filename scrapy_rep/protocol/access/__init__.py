"""RFC 9309, 2.3 and 2.4: what an exchange of a robots.txt means, and for how long."""
