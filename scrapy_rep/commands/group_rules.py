"""The merged group that an agent gets, in the order in which its rules decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scrapy_rep.analysis.effect.rule_patterns import is_live, pattern_of
from scrapy_rep.analysis.outline import outline
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.document import Group, RobotsTxt
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.ruleset import folder_of
from scrapy_rep.protocol.tokens import EVERYONE, names_of
from scrapy_rep.protocol.verdict import Rule

from .judging import Agent
from .running import Call
from .terminal import count_of, safe


@dataclass(frozen=True, slots=True)
class RankedRule:
    """A rule at its place.

    Attributes:
        rule: the rule.
        pattern: in normal form, by which it is compared.
        note: why it may never decide, or how else it is read; empty for most.
    """

    rule: Rule
    pattern: str
    note: str

    @property
    def octets(self) -> int:
        """How specific it is."""
        return len(self.pattern)


def ranked(group: Group) -> list[RankedRule]:
    """The rules of a group: the first that matches a URL decides.

    The longest come first, of equal ones those that allow (RFC 9309, 2.2.2), and of these the first
    line. Rules that match nothing come last.
    """
    first: dict[str, Rule] = {}
    dead, live = [], []
    for pattern, rule, note in sorted(_readings(group), key=_place):
        if not is_live(pattern):
            text = "forbids nothing" if not pattern and not rule.allow else "matches nothing"
            dead.append(RankedRule(rule, pattern, text))
            continue
        before = first.setdefault(pattern, rule)
        if before is not rule:
            same = "same as" if before.allow == rule.allow else "loses to"
            note = f"{same} line {before.line}"  # noqa: PLW2901 - what else it is counts less
        live.append(RankedRule(rule, pattern, note))
    return [*live, *dead]


def _readings(group: Group) -> Iterator[tuple[str, Rule, str]]:
    for rule in group.rules:
        pattern = pattern_of(rule.path_pattern)
        yield pattern, rule, ""
        folder = folder_of(pattern) if rule.allow else None
        if folder is not None:
            yield folder, rule, f"also read as Allow: {folder}"


def _place(reading: tuple[str, Rule, str]) -> tuple[int, bool, int]:
    pattern, rule, _ = reading
    return -len(pattern), not rule.allow, rule.line


def write_group(policy: Policy | None, agent: Agent, call: Call) -> None:
    """The group of an agent, for people."""
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
        octets = count_of(one.octets, "octet")
        told = f"{octets}; {one.note}" if one.note else octets
        call.line(f"    {number} {rule}  {call.paint(f'({told})', 'dim')}")
    call.line(f"    {' ' * width} | all else is allowed, and /robots.txt itself")
    for record in group.other_records:
        number = call.paint(f"{record.line:>{width}} |", "blue")
        call.line(f"    {number} {safe(record.key)}: {safe(record.value)}")


def group_dict(policy: Policy | None, agent: Agent) -> dict[str, Any]:
    """The same for programs."""
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
            {"line": row.rule.line, "rule": str(row.rule), "octets": row.octets}
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
    """The group of an agent; or why there is none."""
    if policy is None:
        return None, "the store holds nothing usable"
    if policy.meaning is Meaning.RULES:
        group = policy.robots_txt.group(agent.tokens)
        return group, "no group is for it: everything is allowed"
    word = "allowed" if policy.meaning is Meaning.ALLOW else "disallowed"
    return None, f"everything is {word}, whatever a file says ({policy.event or 'as settings say'})"


def _agent_lines(robots_txt: RobotsTxt, group: Group) -> list[int]:
    """The numbers of the user-agent lines that name the group."""
    token = group.product_token
    names = names_of(() if token == EVERYONE else (token,))
    return [
        line.number
        for line in outline(robots_txt.octets).lines
        if line.kind is Kind.USER_AGENT and 0 in names.ranks(line.value)
    ]
