"""Two files side by side: what a difference is because of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_rep.protocol.access import AccessResult, name_of
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.effect.differences import Difference, differences
from scrapy_rep.protocol.findings import shown
from scrapy_rep.protocol.verdict import Verdict

from .running import UNREACHABLE, CommandError
from .sources import Source


@dataclass(frozen=True, slots=True)
class Change:
    """Probe URLs that change in one way, because of one pair of lines, for the same agents."""

    agents: tuple[str, ...]
    before: Verdict
    after: Verdict
    paths: tuple[str, ...]


def changes(
    old: RobotsTxt, new: RobotsTxt, agents: Iterable[str] | None = None
) -> tuple[Change, ...]:
    """The differences of two files, put together by their lines, then by agents."""
    by_lines: dict[tuple[str, int, int, bool], list[Difference]] = {}
    for difference in differences(old, new, agents):
        before, after = difference.before, difference.after
        key = (difference.agent, before.line, after.line, after.allowed)
        by_lines.setdefault(key, []).append(difference)
    together: dict[tuple[object, ...], tuple[list[str], Difference]] = {}
    for (agent, *lines), found in by_lines.items():
        paths = tuple(difference.path for difference in found)
        together.setdefault((*lines, paths), ([], found[0]))[0].append(agent)
    return tuple(
        Change(tuple(named), one.before, one.after, paths)
        for (*_, paths), (named, one) in together.items()
        if isinstance(paths, tuple)
    )


def because_of(verdict: Verdict, robots_txt: RobotsTxt) -> str:
    """The line that decides, or why there is none."""
    if not verdict.line or verdict.rule is None:
        return verdict.reason.value
    text = robots_txt.octets.split(b"\n")[verdict.line - 1]
    return f"{verdict.line} | {shown(text)}"


def refuse_without_file(source: Source) -> None:
    """There is nothing to compare where a site did not answer with a file.

    Raises:
        CommandError: the file is unreachable, or there is none.
    """
    answer = source.answer
    if answer is None or answer.access_result is AccessResult.SUCCESSFUL:
        return
    is_down = answer.access_result is AccessResult.UNREACHABLE
    word = "is unreachable" if is_down else "is not there"
    raise CommandError(f"{source.name} {word} ({name_of(answer.event)})", UNREACHABLE)
