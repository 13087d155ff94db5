"""The additions of this extra to `check`: doubts about a file, --rules, --expect and --like.

--rules shows groups in the order of decision.

--expect reads a table, CSV or JSON Lines, with the verdicts that a file must give. The tables that
``check --csv`` and ``check --json`` write are of this form.

--like shows the answers of other robots.txt parsers and readers. A hostile file can block a parser
that turns patterns into regular expressions, so each answer has a limit of `_SECONDS`, where the
system has alarms. An alarm cannot stop code in C.
"""

from __future__ import annotations

import csv
import io
import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from scrapy.utils.misc import load_object

from scrapy_rep.commands.inputs import READ_OCTETS, STDIN, STDIN_NAME, octets_of, refuse_odd_path
from scrapy_rep.commands.named_agents import Agent, agent_named
from scrapy_rep.commands.running import Call, CommandError
from scrapy_rep.commands.terminal import safe
from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.effect.other_readers import GOOGLE, PREFIXES, Judge, Reader
from scrapy_rep.extras.webmaster.effect.rule_patterns import (
    EVERYTHING,
    in_order_of_decision,
    is_live,
    pattern_of,
)
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.document import Group, RobotsTxt, parse
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
    agents = (one for one in outline(robots_txt.octets).lines if one.kind is Kind.USER_AGENT)
    return [line.number for line in agents if 0 in names.ranks(line.value)]


Expected = dict[str, list[tuple[Agent, bool]]]
"""The agents of each URL, and whether it must be allowed for them."""

_BY_WORD = {"true": True, "false": False}


def expected(name: str, agents: Sequence[Agent]) -> Expected:
    """Read a table; rows without an agent are for `agents`.

    Raises:
        CommandError: it cannot be read, or a row lacks a URL or the expected verdict.
    """
    octets = octets_of(name)
    where = STDIN_NAME if name == STDIN else name
    if len(octets) > READ_OCTETS:
        raise CommandError(f"{where} is larger than {READ_OCTETS:,} octets: divide it")
    named = {agent.name: agent for agent in agents}
    found: Expected = {}
    for number, row in _rows(octets.decode("utf-8-sig", "replace"), where):
        url, allowed = row.get("url"), _BY_WORD.get(str(row.get("allowed")).strip().lower())
        if not isinstance(url, str) or not url or allowed is None:
            raise CommandError(
                f"{where}, line {number}: each row needs a url, and true or false as allowed"
            )
        refuse_odd_path(url)
        agent = str(row.get("agent") or "")
        own = [named.get(agent) or agent_named(agent)] if agent else agents
        found.setdefault(url, []).extend((one, allowed) for one in own)
    if not found:
        raise CommandError(f"{where} has no rows: give a table of url, agent and allowed")
    return found


def _rows(text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a table with the number of their lines."""
    if not text.lstrip().startswith("{"):
        reader = csv.DictReader(io.StringIO(text, newline=""))
        try:
            yield from ((reader.line_num, row) for row in reader)
        except csv.Error as error:
            raise CommandError(f"{where}, line {reader.line_num}: {error}") from error
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise CommandError(f"{where}, line {number} is not JSON: {error}") from error
            yield number, row if isinstance(row, dict) else {}


_SECONDS = 10.0  # for one file and URL


@dataclass(frozen=True, slots=True)
class Opinion:
    """The answer of another parser.

    Attributes:
        parser: its name.
        allowed: its answer; None without one.
        failure: the reason for no answer, in words.
    """

    parser: str
    allowed: bool | None
    failure: str = ""

    def __str__(self) -> str:
        """The answer in words."""
        return self.failure or ("allowed" if self.allowed else "disallowed")


_PARSERS = {
    "urllib": "scrapy.robotstxt.PythonRobotParser",
    "protego": "scrapy.robotstxt.ProtegoRobotParser",
}
_READERS = {reader.name: reader for reader in (GOOGLE, PREFIXES)}
NAMES = (*_READERS, *_PARSERS)
"""The readers and parsers that are known by name."""


@lru_cache(maxsize=8)
def _judge_of(reader: Reader, body: bytes, agent: str) -> Judge:
    group = parse(body).group(reader.tokens(agent))
    return reader.judge(() if group is None else group.rules)


@dataclass(frozen=True)
class _OwnReader:
    """A reader of ours."""

    reader: Reader

    def opinion(self, body: bytes, agent: str, url: str) -> Opinion:
        """The answer."""
        return Opinion(self.reader.name, _judge_of(self.reader, body, agent)(url).allowed)


class _Parser:
    """A parser with Scrapy's interface."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._class = _class_of(name)
        self._body: bytes | None = None
        self._parser: Any = None
        self._is_slow = False

    def opinion(self, body: bytes, agent: str, url: str) -> Opinion:
        """The answer, within `_SECONDS`; a file that took longer is not read again."""
        if body != self._body:
            self._body, self._parser, self._is_slow = body, None, False
        if not self._is_slow:
            try:
                with _limited():
                    if self._parser is None:
                        if self._name in _PARSERS:  # they take text, and read nothing else
                            body = body.decode(errors="replace").encode()
                        self._parser = self._class.from_crawler(None, body)
                    return Opinion(self._name, bool(self._parser.allowed(url, agent)))
            except TimeoutError:
                self._is_slow = True
            except Exception as error:  # noqa: BLE001 - any error of the parser
                words = f"it failed: {type(error).__name__}: {error}"[:200]
                return Opinion(self._name, None, words)
        return Opinion(self._name, None, f"no answer in {_SECONDS:g} s")


@contextmanager
def _limited() -> Iterator[None]:
    """Raise TimeoutError after `_SECONDS`."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(*_: object) -> NoReturn:
    raise TimeoutError


class Opinions:
    """Several parsers, one after the other."""

    def __init__(self, names: str) -> None:
        """Take the names of --like.

        Raises:
            CommandError: a parser is unknown, or the text names none.
        """
        wanted = dict.fromkeys(filter(None, map(str.strip, names.split(","))))
        if not wanted:
            raise CommandError(f"--like {names!r} does not name a parser")
        self._parsers = [
            _OwnReader(_READERS[name]) if name in _READERS else _Parser(name) for name in wanted
        ]

    def of(self, body: bytes, agent: str, url: str) -> tuple[Opinion, ...]:
        """The answer of each parser for a URL."""
        return tuple(parser.opinion(body, agent, url) for parser in self._parsers)


def _class_of(name: str) -> Any:
    """The class of a parser.

    Raises:
        CommandError: no class has this name.
    """
    try:
        return load_object(_PARSERS.get(name, name))
    except (ImportError, NameError, ValueError) as error:
        raise CommandError(
            f"--like {name!r}: give {', '.join(NAMES)}, or the import path of a class with "
            "Scrapy's RobotParser interface"
        ) from error
