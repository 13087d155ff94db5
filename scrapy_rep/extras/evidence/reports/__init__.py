"""Reports of crawls from their audit trails: first as numbers, then as a page."""
