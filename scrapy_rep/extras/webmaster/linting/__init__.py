"""Lint: the functions that check a robots.txt for errors and unusual parts."""
