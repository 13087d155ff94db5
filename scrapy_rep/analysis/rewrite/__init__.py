"""A robots.txt written anew: the same meaning, in one form."""
