"""What can be wrong with a robots.txt: a table of checks, and the functions that look for them."""
