"""What crawls did, from their audit trails: first as numbers, then as a page for people."""
