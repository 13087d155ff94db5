"""The files of audit trails and WARC archives, for other people, and the HTML pages.

Needs the standard library, warcio for archives and Jinja for pages.
"""
