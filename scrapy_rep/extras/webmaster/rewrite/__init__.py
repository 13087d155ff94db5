"""Rewriting a robots.txt in a normalised form with the same meaning."""
