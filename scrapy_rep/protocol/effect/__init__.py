"""What rules come to: which match, which never decide, and where two files differ."""
