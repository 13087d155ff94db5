"""The demo project of scrapy-rep: a crawler, and a small web for it to be polite to."""
