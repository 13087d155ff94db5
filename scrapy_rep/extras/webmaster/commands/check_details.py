"""The details that `check` shows: groups in the order of decision, and doubts about a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scrapy_rep.commands.named_agents import Agent
from scrapy_rep.commands.running import Call
from scrapy_rep.commands.terminal import safe
from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.effect.rule_patterns import (
    EVERYTHING,
    in_order_of_decision,
    is_live,
    pattern_of,
)
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.document import Group, RobotsTxt
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.tokens import EVERYONE, names_of
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Rule

_DOUBTS = (Code.MARKUP, Code.UTF16, Code.PARSE_LIMIT)


def doubts(policy: Policy) -> list[str]:
    """Problems of the file as a whole: it is markup, or is not read to its end."""
    return [found.message for found in policy.findings if found.code in _DOUBTS]


@dataclass(frozen=True, slots=True)
class RankedRule:
    """A rule with its place in the order of decision.

    Attributes:
        rule: the rule.
        pattern: in normal form, which is compared.
        note: why it may never decide, or another way to read it; usually empty.
    """

    rule: Rule
    pattern: str
    note: str


def ranked(group: Group) -> list[RankedRule]:
    """The rules of a group, ordered: the first that matches a URL decides.

    Longer patterns come first; among equal ones, allow rules (RFC 9309, 2.2.2), then the first
    line. Rules that match nothing come last.
    """
    first: dict[str, Rule] = {}
    dead, live = [], []
    for pattern, _, rule in in_order_of_decision(group.rules):
        is_folder = pattern != pattern_of(rule.path_pattern)
        note = f"also read as Allow: {pattern}" if is_folder else ""
        if not is_live(pattern):
            text = "forbids nothing" if not pattern and not rule.allow else "matches nothing"
            dead.append(RankedRule(rule, pattern, text))
            continue
        before = first.setdefault(pattern, rule)
        if before is not rule:
            same = "same as" if before.allow == rule.allow else "loses to"
            note = f"{same} line {before.line}"  # this note matters most
        live.append(RankedRule(rule, pattern, note))
    return [*live, *dead]


def write_group(policy: Policy | None, agent: Agent, call: Call) -> None:
    """Write the group of an agent."""
    if call.is_json:
        call.row(group_dict(policy, agent))
        return
    group, reason = _group(policy, agent)
    if policy is None or group is None:
        call.line(f"  rules for {agent.name}: none, {reason}")
        return
    lines = _agent_lines(policy.robots_txt, group)
    where = f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}"
    rows = ranked(group)
    head = f"rules for {agent.name}: group {safe(group.product_token)} ({where})"
    call.line(f"  {call.paint(head, 'bold')}; the first that matches decides")
    width = len(str(max([one.rule.line for one in rows], default=1)))
    for one in rows:
        number = call.paint(f"{one.rule.line:>{width}} |", "blue")
        rule = call.paint(str(one.rule), "green" if one.rule.allow else "red")
        octets = counted(len(one.pattern), "octet")
        told = f"{octets}; {one.note}" if one.note else octets
        call.line(f"    {number} {rule}  {call.paint(f'({told})', 'dim')}")
    rest = "all other URLs are allowed, and so is /robots.txt itself"
    whole = next((one.rule.line for one in rows if one.pattern in EVERYTHING), None)
    if whole is not None:
        rest = f"line {whole} is for all other URLs; /robots.txt itself is always allowed"
    call.line(f"    {' ' * width} | {rest}")
    for record in group.other_records:
        number = call.paint(f"{record.line:>{width}} |", "blue")
        call.line(f"    {number} {safe(record.key)}: {safe(record.value)}")


def group_dict(policy: Policy | None, agent: Agent) -> dict[str, Any]:
    """The group of an agent as JSON."""
    group, reason = _group(policy, agent)
    file = None if policy is None else policy.robots_txt
    rows = [] if group is None else ranked(group)
    others = () if group is None else group.other_records
    found: dict[str, Any] = {
        "agent": agent.name,
        "robots_txt": None if file is None else file.uri,
        "group": None if group is None else group.product_token,
        "group_lines": [] if file is None or group is None else _agent_lines(file, group),
        "rules": [
            {"line": row.rule.line, "rule": str(row.rule), "octets": len(row.pattern)}
            | {"note": row.note or None}
            for row in rows
        ],
        "other_records": [
            {"line": one.line, "key": safe(one.key), "value": safe(one.value)} for one in others
        ],
    }
    if policy is None or policy.meaning is not Meaning.RULES:
        found["reason"] = reason
    return found


def _group(policy: Policy | None, agent: Agent) -> tuple[Group | None, str]:
    """The group of an agent; without one, the reason."""
    if policy is None:
        return None, "the store has nothing usable"
    if policy.meaning is Meaning.RULES:
        group = policy.robots_txt.group(agent.tokens)
        return group, "no group applies to it, so everything is allowed"
    word = "allowed" if policy.meaning is Meaning.ALLOW else "disallowed"
    return None, f"everything is {word}, without a file ({policy.event or 'by the settings'})"


def _agent_lines(robots_txt: RobotsTxt, group: Group) -> list[int]:
    """The user-agent lines of the group, by number."""
    token = group.product_token
    names = names_of(() if token == EVERYONE else (token,))
    return [
        line.number
        for line in outline(robots_txt.octets).lines
        if line.kind is Kind.USER_AGENT and 0 in names.ranks(line.value)
    ]
