"""The one table of checks: the code, the documentation and the command line read it."""

from __future__ import annotations

from .codes import Check, Code
from .table_answers import ANSWERS
from .table_file import FILE, LINES
from .table_groups import GROUPS
from .table_records import RECORDS, SITEMAPS
from .table_rules import EFFECT, RULES, WILDCARDS

SECTIONS: dict[str, tuple[Check, ...]] = {
    "The answer": ANSWERS,
    "Octets and the file": FILE,
    "Lines": LINES,
    "Groups and user-agent lines": GROUPS,
    "Rules": RULES,
    "Wildcards and escapes": WILDCARDS,
    "Sitemaps": SITEMAPS,
    "Other records": RECORDS,
    "Effect": EFFECT,
}
"""The checks by group, in the order of their codes."""

CHECKS: dict[Code, Check] = {
    check.code: check for section in SECTIONS.values() for check in section
}
"""The checks by code."""
