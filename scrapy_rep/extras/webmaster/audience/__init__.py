"""The access of known crawlers according to a file, and crawlers that it may ban by accident."""
