"""The effect of rules: which match, which never decide, and where two files differ."""
