"""``scrapy rep diff``: compare the meaning of two files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scrapy_rep.commands.inputs import Input, is_url, origin_of, read_all
from scrapy_rep.commands.named_agents import agents_of, verdict_word
from scrapy_rep.commands.running import FOUND, OK, UNSETTLED, Call, CommandError
from scrapy_rep.commands.terminal import safe
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.webmaster.effect.differences import Difference, TooMuchToCompare, differences
from scrapy_rep.extras.webmaster.effect.other_readers import OURS
from scrapy_rep.extras.webmaster.effect.usage_changes import UsageDifference, usage_differences
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Verdict

_SHOWN = 3  # probe URLs of each change
_COLOURS = {"y": "green", "n": "red"}
_LICENSE = "License"


def run(call: Call) -> int:
    """Compare two files."""
    names = [call.options.old, call.options.new]
    agents = [agent.name for agent in agents_of(call)] if call.options.agent else None
    if all(map(is_url, names)) and len(set(map(origin_of, names))) == 1:
        raise CommandError(f"both are {origin_of(names[0]).robots_txt_uri}")
    old, new = read_all(names, call, is_strict=True)
    for file in (old, new):
        file.tell_freshness(call)
    return show_differences(old, new, agents, call)


_Kind = TypeVar("_Kind", Difference, UsageDifference)


@dataclass(frozen=True)
class _Change(Generic[_Kind]):
    """Probe URLs with the same change for the same agents; `one` is an example."""

    agents: list[str]
    paths: tuple[str, ...]
    one: _Kind


def show_differences(old: Input, new: Input, agents: list[str] | None, call: Call) -> int:
    """Show the changes between two files for some agents, or for all.

    Raises:
        CommandError: a file does not exist.
    """
    before, after = old.parsed(), new.parsed()
    lines = [file.octets.split(b"\n") for file in (before, after)]
    unsettled: list[TooMuchToCompare] = []

    def settled(found: Iterator[_Kind]) -> Iterator[_Kind]:
        try:
            yield from found
        except TooMuchToCompare as error:
            unsettled.append(error)

    # No crawler tests this path, although Google's matcher would answer.
    of_files = settled(differences(before, after, agents))
    verdicts = [one for one in of_files if one.path != ROBOTS_TXT_PATH]
    usage = list(settled(usage_differences(before, after, agents)))
    verdicts.sort(key=lambda one: OURS not in one.readers)
    for change in _together(
        verdicts, lambda one: (one.before.line, one.after.line, one.after.allowed, one.readers)
    ):
        _show_verdicts(change, lines, call)
    for told in _together(usage, lambda one: (one.category, one.before, one.after, one.because)):
        _show_usage(told, call)
    has_new_licences = _show_rest(before, after, call)
    if not (call.is_json or verdicts):
        call.line("no probe URL changes its verdict")
    if unsettled:
        first = unsettled[0]
        if call.is_json:  # programs get a last row too
            row = {"unsettled": first.left, "compared": first.compared}
            call.row({**row, "probe_urls": first.probe_count})
        call.complain(f"not settled: {first}")
        return UNSETTLED
    return FOUND if verdicts or usage or has_new_licences else OK


def _together(
    found: Iterable[_Kind], key_of: Callable[[_Kind], Hashable]
) -> Iterator[_Change[_Kind]]:
    """Group differences by their cause and their agents."""
    by_agent: dict[Hashable, list[_Kind]] = {}
    for one in found:
        by_agent.setdefault((one.agent, key_of(one)), []).append(one)
    together: dict[Hashable, _Change[_Kind]] = {}
    for some in by_agent.values():
        one, paths = some[0], tuple(each.path for each in some)
        change = together.setdefault((key_of(one), paths), _Change([], paths, one))
        change.agents.append(one.agent)
    return iter(together.values())


def _show_verdicts(
    change: _Change[Difference], lines: Sequence[Sequence[bytes]], call: Call
) -> None:
    both: tuple[Verdict, Verdict] = change.one.before, change.one.after
    if call.is_json:
        before, after = map(_verdict_dict, both)
        names = [reader.name for reader in change.one.readers]
        row = {"agents": change.agents, "before": before, "after": after, "like": names}
        call.row({**row, "paths": change.paths})
        return
    because = [_because(*one) for one in zip(both, lines, strict=True)]
    was, now = (verdict_word(verdict, call) for verdict in both)
    readers = change.one.readers
    some = "" if OURS in readers else f", only like {' and '.join(one.name for one in readers)}"
    _show_change(change, f"{was} -> {now}{some}", because, call)


def _show_usage(change: _Change[UsageDifference], call: Call) -> None:
    """Show changes of preferences, which verdicts do not show."""
    one = change.one
    if call.is_json:
        told = {"usage": one.category, "before": one.before, "after": one.after}
        call.row({"agents": change.agents, **told, "paths": change.paths})
        return
    was, now = (call.paint(word, _COLOURS.get(word, "yellow")) for word in (one.before, one.after))
    _show_change(change, f"{one.category}: {was} -> {now}", one.because, call)


def _show_change(change: _Change[Any], words: str, because: Sequence[str], call: Call) -> None:
    more = len(change.paths) - _SHOWN
    also = f"  and {more:,} more" if more > 0 else ""
    probes = counted(len(change.paths), "probe URL")
    call.line(call.paint(", ".join(change.agents), "bold"))
    call.line(f"  {words}  {probes}: {'  '.join(sorted(change.paths, key=len)[:_SHOWN])}{also}")
    for (sign, colour), text in zip((("-", "red"), ("+", "green")), because, strict=True):
        if text:
            call.line(call.paint(f"  {sign} {text}", colour))
    call.line()


def _because(verdict: Verdict, lines: Sequence[bytes]) -> str:
    """The deciding line; or the reason of a verdict without one."""
    if not verdict.line or verdict.rule is None:
        return verdict.reason.value
    return f"{verdict.line} | {safe(lines[verdict.line - 1])}"


def _verdict_dict(verdict: Verdict) -> dict[str, object]:
    return {
        "allowed": verdict.allowed,
        "group": verdict.product_token or None,
        "line": verdict.line,
        "rule": str(verdict.rule) if verdict.rule else None,
    }


def _show_rest(before: RobotsTxt, after: RobotsTxt, call: Call) -> bool:
    """Show changed sitemaps and licences, which verdicts do not show; True if licences changed."""
    was, now = _named(before), _named(after)
    gone, come = [one for one in was if one not in now], [one for one in now if one not in was]
    for is_new, found in enumerate((gone, come)):
        for name, uri in found:
            if call.is_json:
                call.row({"record": name, "uri": uri, "before": not is_new, "after": bool(is_new)})
                continue
            text = f"{'-+'[is_new]} {name}: {safe(uri.encode('utf-8', 'surrogateescape'))}"
            call.line(call.paint(text, "green" if is_new else "red"))
    return any(name == _LICENSE for name, _ in (*gone, *come))


def _named(file: RobotsTxt) -> dict[tuple[str, str], None]:
    """The names of records and the URIs in them, each once."""
    sitemaps = [("Sitemap", uri) for uri in file.sitemaps]
    licences = [(_LICENSE, licence.uri) for licence in file_usage(file, "/").licences]
    return dict.fromkeys([*sitemaps, *licences])
