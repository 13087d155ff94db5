"""Rules in the group of one crawler that their author seems to mean for all crawlers.

::

    User-agent: Twitterbot
    Disallow:

    # Lists
    Disallow: /list/

They follow a rule that lets the crawler fetch everything, after a blank line or a comment. Cost:
linear in the lines.
"""

from __future__ import annotations

from dataclasses import replace

from scrapy_rep.extras.webmaster.effect.rule_patterns import EVERYTHING, is_live
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.outline import Block, Line
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import shown


def misplaced_rules(block: Block) -> list[Line]:
    """The misplaced rules of a group; empty without any, or if the group names ``*``, too."""
    if EVERYONE in block.names:
        return []
    first, rest = block.rules[:1], block.rules[1:]
    is_open = any(
        not line.value or (line.kind is Kind.ALLOW and line.pattern in EVERYTHING) for line in first
    )
    has_gap = bool(rest) and rest[0].number > first[0].number + 1
    has_ban = any(line.kind is Kind.DISALLOW and is_live(line.pattern) for line in rest)
    return rest if is_open and has_gap and has_ban else []


def told_of_misplaced(found: Finding, block: Block, rules: list[Line], thing: str) -> Finding:
    """A finding about a line or a blank line that says that these rules are in the wrong group."""
    name = shown(block.agents[-1].value)
    where = f"from line {rules[0].number} on"
    are = "is" if len(rules) == 1 else "are"
    detail = f"{counted(len(rules), 'rule')} {where} {are} in the group for {name} only"
    text = (
        f"if the rules {where} are for all crawlers, move them to a group for *, and repeat them "
        f"in each group that should obey them; otherwise remove the {thing}"
    )
    return replace(found, detail=detail).with_fix(text)
