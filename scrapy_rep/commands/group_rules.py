"""The merged group that an agent gets, in the order in which its rules decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_rep.analysis.effect.patterns import is_live, pattern_of
from scrapy_rep.analysis.outline import outline
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.ruleset import folder_of
from scrapy_rep.protocol.tokens import EVERYONE, names_of
from scrapy_rep.protocol.verdict import Rule, shown

from .terminal import count_of

if TYPE_CHECKING:
    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.document import Group

    from .judging import Agent
    from .terminal import Terminal


@dataclass(frozen=True, slots=True)
class Ranked:
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


def ranked(group: Group) -> list[Ranked]:
    """The rules of a group: the first that matches a URL decides.

    The longest come first, of equal ones those that allow (RFC 9309, 2.2.2), and of these the first
    line. Rules that match nothing come last.
    """
    first: dict[str, Rule] = {}
    dead, live = [], []
    for pattern, rule, note in sorted(_readings(group), key=_place):
        if not is_live(pattern):
            text = "forbids nothing" if not pattern and not rule.allow else "matches nothing"
            dead.append(Ranked(rule, pattern, text))
            continue
        before = first.setdefault(pattern, rule)
        if before is not rule:
            same = "same as" if before.allow == rule.allow else "loses to"
            note = f"{same} line {before.line}"  # noqa: PLW2901 - what else it is counts less
        live.append(Ranked(rule, pattern, note))
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


def write_text(policy: Policy | None, agent: Agent, terminal: Terminal) -> None:
    """The group of an agent, for people."""
    reason = _without_rules(policy)
    if policy is None or reason:
        terminal.line(f"  rules for {agent.name}: none, {reason}")
        return
    group = policy.robots_txt.group(agent.tokens)
    if group is None:
        terminal.line(f"  rules for {agent.name}: none, no group is for it: everything is allowed")
        return
    lines = _agent_lines(policy.robots_txt, group)
    where = f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}"
    rows = ranked(group)
    head = f"rules for {agent.name}: group {shown(group.product_token.encode())} ({where})"
    terminal.line(f"  {terminal.paint(head, 'bold')}; the first that matches decides")
    width = len(str(max([one.rule.line for one in rows], default=1)))
    for one in rows:
        number = terminal.paint(f"{one.rule.line:>{width}} |", "blue")
        colour = "green" if one.rule.allow else "red"
        octets = count_of(one.octets, "octet")
        told = f"{octets}; {one.note}" if one.note else octets
        terminal.line(
            f"    {number} {terminal.paint(str(one.rule), colour)}  "
            f"{terminal.paint(f'({told})', 'dim')}"
        )
    terminal.line(f"    {' ' * width} | all else is allowed, and /robots.txt itself")
    for record in group.other_records:
        text = f"{shown(record.key)}: {shown(record.value)}"
        terminal.line(f"    {terminal.paint(f'{record.line:>{width}} |', 'blue')} {text}")


def as_dict(policy: Policy | None, agent: Agent) -> dict[str, Any]:
    """The same for programs."""
    reason = _without_rules(policy)
    group = None if policy is None or reason else policy.robots_txt.group(agent.tokens)
    found: dict[str, Any] = {
        "agent": agent.name,
        "robots_txt": policy.robots_txt.uri if policy is not None else None,
        "group": None if group is None else group.product_token,
        "group_lines": [],
        "rules": [],
        "other_records": [],
    }
    if reason:
        found["reason"] = reason
    if policy is not None and group is not None:
        found["group_lines"] = _agent_lines(policy.robots_txt, group)
        found["rules"] = [
            {
                "line": one.rule.line,
                "rule": str(one.rule),
                "octets": one.octets,
                "note": one.note or None,
            }
            for one in ranked(group)
        ]
        found["other_records"] = [
            {"line": one.line, "key": shown(one.key), "value": shown(one.value)}
            for one in group.other_records
        ]
    return found


def _without_rules(policy: Policy | None) -> str:
    """Why no rules decide; empty if they do."""
    if policy is None:
        return "the store holds nothing usable"
    if policy.meaning is Meaning.RULES:
        return ""
    word = "allowed" if policy.meaning is Meaning.ALLOW else "disallowed"
    return f"everything is {word}, whatever a file says ({policy.event or 'as settings say'})"


def _agent_lines(robots_txt: RobotsTxt, group: Group) -> list[int]:
    """The numbers of the user-agent lines that name the group."""
    token = group.product_token
    names = names_of(() if token == EVERYONE else (token,))
    return [
        line.number
        for line in outline(robots_txt.octets).lines
        if line.kind is Kind.USER_AGENT and 0 in names.ranks(line.value)
    ]
