"""The access of known crawlers by a file, and crawlers that it seems to ban by accident."""
