"""Two files side by side: their differences, and the lines that make them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_rep.analysis.effect.differences import Difference, TooMuchToCompare, differences
from scrapy_rep.analysis.effect.usage import UsageDifference, usage_differences
from scrapy_rep.protocol.access.events import AccessResult, name_of
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.verdict import Verdict, shown

from .running import UNREACHABLE, CommandError
from .sources import Source


@dataclass(frozen=True, slots=True)
class Change:
    """The probe URLs that one pair of lines changes in one way, for the same agents."""

    agents: tuple[str, ...]
    before: Verdict
    after: Verdict
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsageChange:
    """The probe URLs of which the files say something else about one use, to the same agents."""

    agents: tuple[str, ...]
    category: str
    before: str
    after: str
    because: tuple[str, str]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changes between two files; and what of them was not compared, if they are too much."""

    changes: tuple[Change, ...]
    usage: tuple[UsageChange, ...] = ()
    unsettled: TooMuchToCompare | None = None


def compared(old: RobotsTxt, new: RobotsTxt, agents: Iterable[str] | None = None) -> Comparison:
    """The differences of two files, grouped by their lines, then by agents."""
    by_lines: dict[tuple[str, int, int, bool], list[Difference]] = {}
    asked = None if agents is None else tuple(agents)
    unsettled = None
    try:
        for difference in differences(old, new, asked):
            before, after = difference.before, difference.after
            key = (difference.agent, before.line, after.line, after.allowed)
            by_lines.setdefault(key, []).append(difference)
    except TooMuchToCompare as error:
        unsettled = error
    usage: list[UsageDifference] = []
    try:
        usage.extend(usage_differences(old, new, asked))
    except TooMuchToCompare as error:
        unsettled = unsettled or error
    return Comparison(_put_together(by_lines), _usage_together(usage), unsettled)


def _usage_together(found: Iterable[UsageDifference]) -> tuple[UsageChange, ...]:
    by_agent: dict[tuple[str, str, str, str, tuple[str, str]], list[str]] = {}
    for one in found:
        key = one.agent, one.category, one.before, one.after, one.because
        by_agent.setdefault(key, []).append(one.path)
    together: dict[tuple[str, str, str, tuple[str, str], tuple[str, ...]], list[str]] = {}
    for (agent, *what), paths in by_agent.items():
        category, before, after, because = what
        key_of_all = str(category), str(before), str(after), because, tuple(paths)
        together.setdefault(key_of_all, []).append(agent)  # type: ignore[arg-type]
    return tuple(UsageChange(tuple(agents), *what) for what, agents in together.items())


def _put_together(
    by_lines: dict[tuple[str, int, int, bool], list[Difference]],
) -> tuple[Change, ...]:
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
    """The line that decides, or the reason for a verdict without one."""
    if not verdict.line or verdict.rule is None:
        return verdict.reason.value
    text = robots_txt.octets.split(b"\n")[verdict.line - 1]
    return f"{verdict.line} | {shown(text)}"


def refuse_without_file(source: Source) -> None:
    """Refuse a source without a file: there is nothing to compare.

    Raises:
        CommandError: the file is unreachable, or there is none.
    """
    answer = source.answer
    if answer is None or answer.access_result is AccessResult.SUCCESSFUL:
        return
    is_down = answer.access_result is AccessResult.UNREACHABLE
    word = "is unreachable" if is_down else "is not there"
    raise CommandError(f"{source.name} {word} ({name_of(answer.event)})", UNREACHABLE)
