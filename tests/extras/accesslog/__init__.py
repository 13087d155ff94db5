"""Tests of access logs: their lines, what crawlers could know, and answers to complaints."""

WITHOUT_SCRAPY = """
import sys
from scrapy_rep.commands.subcommands import main
sys.argv[0] = "scrapy-rep"
try:
    main()
finally:
    assert "scrapy" not in sys.modules, "Scrapy was loaded"
"""
"""The code of ``scrapy-rep`` for a call that must not load Scrapy."""
