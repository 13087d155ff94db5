"""Crawlers that a file bans, although it seems to intend otherwise.

There are four signs: its user-agent line gets the rules of the next group; the group that bans it
is for another operator's crawler; a name that differs from its own by one typing mistake is
allowed; its groups are merged, but one of them alone would allow it.

Cost: linear in the file, plus reading a few lines for each group of a crawler with several groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_rep.extras.webmaster.linting.crawler_names import nearly
from scrapy_rep.extras.webmaster.linting.swallowed import swallowed
from scrapy_rep.extras.webmaster.outline import Block, Outline, name_of
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.tokens import EVERYONE, is_name
from scrapy_rep.protocol.verdict import Reason, shown

from .bindings import Access, Binding, fallback_crawler, name_in_file


@dataclass(frozen=True, slots=True)
class Accident:
    """A crawler that seems to be banned by accident.

    Attributes:
        binding: its access according to the file.
        sign: ``swallowed``, ``fallback``, ``misspelt`` or ``merged``.
        words: an explanation for people.
    """

    binding: Binding
    sign: str
    words: str


class Accidents:
    """The accidents of one file."""

    def __init__(self, robots_txt: RobotsTxt, outlined: Outline) -> None:
        self._robots_txt = robots_txt
        self._outline = outlined
        self._swallowed = {name_of(one.agent.value): one for one in swallowed(outlined)}
        self._slips: dict[str, str] = {}  # misspelt names in the file, by the crawler's name
        for name in outlined.by_name:
            meant = nearly(name) if name != EVERYONE else None
            if meant is not None:
                self._slips.setdefault(meant, name)

    def among(self, found: Iterable[Binding]) -> Iterator[Accident]:
        """The accidents among some bindings, each with its first sign."""
        for binding in found:
            if binding.access is not Access.DISALLOWED or binding.crawler.is_obsolete:
                continue
            signs = (
                ("swallowed", self._swallowed_words(binding)),
                ("fallback", self._fallback_words(binding)),
                ("misspelt", self._slip_words(binding)),
                ("merged", self._merged_words(binding)),
            )
            told = next(((sign, words) for sign, words in signs if words), None)
            if told is not None:
                yield Accident(binding, *told)

    def _swallowed_words(self, binding: Binding) -> str:
        one = self._swallowed.get(binding.group)
        if one is None or not any(
            binding.verdict.line in (rule.number for rule in block.rules)
            for block in self._blocks_of(binding.group)
            if one.agent in block.agents
        ):
            return ""
        return (
            f"line {one.agent.number} ({shown(one.agent.value)}) has no rules of its own, so it "
            f"gets those of the next group (line {one.rule.number}: "
            f"{shown(one.rule.octets.strip())})"
        )

    def _fallback_words(self, binding: Binding) -> str:
        """The ban of a fallback counts if the file would otherwise allow the crawler."""
        other = fallback_crawler(binding.crawler)
        if not binding.is_fallback or other is None:
            return ""
        is_others = other.operator != binding.crawler.operator or other.is_obsolete
        if not is_others or not self._robots_txt.verdict(binding.url, EVERYONE).allowed:
            return ""
        return (
            f"no group names it, so it obeys the group of {other.token} "
            f"(line {binding.verdict.line}: {binding.verdict.rule})"
        )

    def _slip_words(self, binding: Binding) -> str:
        slip = self._slips.get(binding.crawler.name)
        if slip is None or binding.is_own_group or not is_name(slip):
            return ""
        if not self._robots_txt.verdict(binding.url, slip).allowed:
            return ""
        line = next(
            line
            for block in self._blocks_of(slip)
            for line in block.agents
            if name_of(line.value) == slip
        )
        return f"line {line.number} allows {shown(line.value)}, which is one slip from its name"

    def _merged_words(self, binding: Binding) -> str:
        blocks = self._blocks_of(binding.group)
        if not binding.is_own_group or len(blocks) < 2:  # noqa: PLR2004 - several
            return ""
        for block in blocks:
            if self._allows_alone(block, binding):
                number = block.agents[0].number
                return f"its groups are merged: the one of line {number} alone allows it"
        return ""

    def _allows_alone(self, block: Block, binding: Binding) -> bool:
        """Whether a rule of this group, and not a missing rule, allows the crawler to fetch."""
        name = name_in_file(binding.crawler)
        lines = [f"User-agent: {name}".encode(), *(line.octets for line in block.rules)]
        verdict = parse(b"\n".join(lines)).verdict(binding.url, name)
        return verdict.allowed and verdict.reason in (Reason.RULE, Reason.EMPTY_RULE)

    def _blocks_of(self, name: str) -> list[Block]:
        return [self._outline.blocks[place] for place in self._outline.by_name.get(name, ())]
