"""The stats of trails and archives."""

from __future__ import annotations

from scrapy_rep.stats import stat

AUDIT_RECORDS = stat("rep/audit/records", "records in the audit trail, with marks and policies")
AUDIT_GAPS = stat("rep/audit/gaps", "times that the audit trail could not be written")
AUDIT_SEGMENTS = stat("rep/audit/segments", "files of the audit trail")
WARC_RECORDS = stat("rep/warc/records", "records in the WARC files, with the first of each file")
WARC_FAILED = stat("rep/warc/failed", "exchanges that could not be archived")
