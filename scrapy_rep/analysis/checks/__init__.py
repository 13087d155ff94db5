"""What each check means: codes, severities, examples; a table for each group of codes."""
