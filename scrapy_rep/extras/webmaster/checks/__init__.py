"""The checks: codes, severities, meanings, fixes; a table for each group of codes."""
