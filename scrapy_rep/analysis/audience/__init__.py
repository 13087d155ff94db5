"""What known crawlers may fetch by a file, and which of them it seems to ban by accident."""
