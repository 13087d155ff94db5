"""Sends every decision of a crawl to stats, signals, the log and the audit trail; the report."""
