"""The audit trail: records of every decision in files, written and read back.

Standard library only. It knows neither Scrapy nor policies.
"""
