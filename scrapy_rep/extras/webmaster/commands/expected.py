"""The table of ``check --expect``: CSV or JSON Lines with the verdicts that a file must give.

The tables that ``check --csv`` and ``check --json`` write are of this form.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from scrapy_rep.commands.inputs import READ_OCTETS, STDIN, STDIN_NAME, octets_of, refuse_odd_path
from scrapy_rep.commands.named_agents import Agent, agent_named
from scrapy_rep.commands.running import CommandError

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
