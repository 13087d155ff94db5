"""Checks the installed wheel, in an environment without Scrapy."""

from __future__ import annotations

import re
from importlib.metadata import metadata
from importlib.resources import files

import scrapy_rep

readme = str(metadata("scrapy-rep").get_payload())
assert "# scrapy-rep" in readme, readme[:200]
assert re.findall(r"\]\((?!https?:|#)[^)]*\)", readme) == [], "a package index has no other files"

robots_txt = scrapy_rep.parse(b"User-agent: *\nDisallow: /x", "https://example.com/robots.txt")
assert not robots_txt.verdict("https://example.com/x", "ExampleBot").allowed
for path in ("py.typed", "extras/fleet/lua/batch.lua", "extras/webmaster/checks/codes.txt"):
    assert (files("scrapy_rep") / path).is_file(), path
