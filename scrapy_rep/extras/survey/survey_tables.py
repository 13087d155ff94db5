"""The tables of a survey, for terminals and pages, and its HTML page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scrapy_rep.extras.evidence.html_page import Table, environment
from scrapy_rep.protocol.units import counted

from .changes import ShareChange, changes_between
from .effect import CLASSES
from .saved import Survey
from .statistics import DEFINITIONS, LABELS, interval

_SHOWN = 20
_ROWS = 50
_CHANGES = 100
_INPUTS = 20
_BOXED = ("p10", "p25", "p50", "p75", "p90")
_SHARED = (
    *["has_star", "multi_agent_groups", "names_in_several_groups", "rules_before_agent"],
    *["empty_rules", "wildcard_rules", "dollar_rules", "percent_rules", "dead_rules"],
    *["comments", "lines_no_record", "other_lines", "crawl_delay_star", "sitemaps"],
    *["sitemaps_cross_host", "bom", "is_utf16", "utf8", "markup", "is_cut"],
)
_DISTRIBUTED = (
    *["octets", "lines", "groups", "names", "rules", "wildcard_rules", "longest_rule"],
    *["crawl_delay_star", "sitemaps", "hops", "max_age"],
)
_QUANTILES = ("min", "p10", "p25", "p50", "p75", "p90", "p99", "max", "mean")
_KINDS = ("status", "failure", "scheme", "port", "media_type", "eol")


def tables(said: Mapping[str, Any], shown: int = _SHOWN) -> Iterator[Table]:
    """Yield the tables of the statistics of a survey, without empty ones.

    Long tables are cut to `shown` rows.
    """
    for table in _all(said, shown):
        if table.rows:
            yield table


def _all(said: Mapping[str, Any], shown: int) -> Iterator[Table]:
    yield _of_shares(
        "All other crawlers",
        DEFINITIONS["star_class"],
        {c: said["star_class"][c] for c in CLASSES if c in said["star_class"]},
    )
    held = {name: said[name] for name in ("files_with_rules", *_SHARED)}
    zeros = [_label(name) for name, one in held.items() if not one["files_with"]]
    found = {name: one for name, one in held.items() if one["files_with"]}
    shares = _of_shares("Content of files", "The share of files with at least one of each.", found)
    yield replace(shares, note=f"No file has: {', '.join(zeros)}." if zeros else "")
    yield _distributions(said)
    yield _agents(said["agents"], shown)
    for kind in ("purpose", "operator"):
        yield _kinds(kind, said[f"{kind}s"], shown)
    yield _of_shares("Use of content", "The preferences about the use of content.", _usage(said))
    yield _of_shares(
        "Lint", DEFINITIONS["lint"], dict([*said["lint"].items()][:shown]), sums="findings"
    )
    keys = dict([*said["other_keys"].items()][:shown])
    yield _of_shares("Other records", DEFINITIONS["other_keys"], keys, sums="records")
    for name in _KINDS:
        yield _of_shares(_label(name).capitalize(), DEFINITIONS[name], said[name])
    rows = tuple((reason, f"{count:,}") for reason, count in said["bad_records"].items())
    yield Table("Bad records", DEFINITIONS["bad_records"], ("reason", "records"), rows)


def percent(share: float | None) -> str:
    """A share for people; ``-`` without a denominator."""
    return "-" if share is None else f"{share:.2%}" if share < 0.1 else f"{share:.1%}"  # noqa: PLR2004


def _label(name: str) -> str:
    return LABELS.get(name, name)


def _of_shares(title: str, sentence: str, shares: Mapping[str, Any], *, sums: str = "") -> Table:
    rows = tuple(
        (_label(name), *_share_cells(one), *([f"{one['sum']:,}"] if sums else []))
        for name, one in shares.items()
    )
    head = ("", "files", "of", "share", "95 % interval", *([sums] if sums else []))
    return Table(title, sentence, head, rows, tuple(map(_bar, shares.values())))


def _share_cells(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return (
        f"{one['files_with']:,}",
        f"{one['of']:,}",
        percent(one["share"]),
        f"{percent(one['low'])} to {percent(one['high'])}",
    )


def _bar(one: Mapping[str, Any]) -> tuple[float, float, float]:
    return one["share"] or 0.0, one["low"], one["high"]


def distributed(said: Mapping[str, Any]) -> list[str]:
    """The facts of the table of distributions, in its order."""
    return [name for name in _DISTRIBUTED if said[name]["of"]]


def _distributions(said: Mapping[str, Any]) -> Table:
    rows = tuple(
        (_label(name), *(f"{said[name][quantile]:,.10g}" for quantile in _QUANTILES))
        for name in distributed(said)
    )
    sentence = "Quantiles by nearest rank, within 1 %. Crawl-delays are in seconds."
    return Table("Distributions", sentence, ("", *_QUANTILES), rows)


def _agents(said: Mapping[str, Any], shown: int) -> Table:
    named = [(name, one) for name, one in said.items() if one["files_with"]]
    agents = named[:shown]
    rows = tuple(
        (
            name,
            one["operator"],
            one["purpose"],
            f"{one['files_with']:,}",
            percent(one["share"]),
            *(f"{one['named'][c]:,}" for c in CLASSES),
            *(f"{one['effective'][c]:,}" if "effective" in one else "" for c in CLASSES),
        )
        for name, one in agents
    )
    head = ("", "operator", "purpose", "files", "share", *CLASSES)
    effective = tuple(f"effective {c}" for c in CLASSES)
    stacks = tuple(tuple(one["named"][c] for c in CLASSES) for _, one in agents)
    rarer, unnamed = len(named) - len(agents), len(said) - len(named)
    fewer = counted(rarer, "crawler")
    rest = f"Not shown: {fewer} that fewer files name, and {unnamed:,} that no file names."
    return Table(
        "Crawlers",
        DEFINITIONS["agents"],
        (*head, *effective),
        rows,
        stacks=stacks,
        classes=CLASSES,
        note=rest if rarer or unnamed else "",
    )


def _kinds(kind: str, kinds: Mapping[str, Any], shown: int) -> Table:
    named = [(name, one) for name, one in kinds.items() if one["files_with"]][:shown]
    rows = tuple(
        (name, *_share_cells(one), f"{one['full']['files_with']:,}", percent(one["full"]["share"]))
        for name, one in named
    )
    head = ("", "files", "of", "share", "95 % interval", "shut out", "share shut out")
    bars = tuple(_bar(one) for _, one in named)
    zeros = sum(not one["files_with"] for one in kinds.values())
    note = f"Not shown: {zeros:,} {kind}s with crawlers that no file names." if zeros else ""
    return Table(f"Crawlers by {kind}", DEFINITIONS[f"{kind}s"], head, rows, bars, note=note)


def _usage(said: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("content_signal", "content_usage"):
        if said[name]["files_with"]:
            found[name] = said[name]
            says = said[name]["says"].items()
            found.update({f"{_label(name)}: {words}": one for words, one in says})
    return {**found, "licence": said["licence"]} if said["licence"]["files_with"] else found


def page(survey: Survey, agents: Sequence[str] | None = None, before: Survey | None = None) -> str:
    """Render the page of a survey; with `before`, it begins with the changes since then.

    Raises:
        ImportError: Jinja is not installed.
    """
    found = survey.report(agents)
    said = found["statistics"]
    shown = [*tables(said, _ROWS)]
    if before is not None:
        shown.insert(0, _changes(changes_between(before, survey, agents)))
    made = environment()
    files = said["files"]["files_with"]
    page: str = made.get_template("survey.html").render(
        title=f"Survey of {counted(files, 'robots.txt file')}",
        lead=_lead(said),
        is_partial=survey.is_partial,
        dates=" to ".join(filter(None, (said["date"]["first"], said["date"]["last"]))),
        inputs=_inputs(survey.inputs),
        tables=[_drawn(table, said) for table in shown],
        definitions=[*found["definitions"].items()],
        software="Made by scrapy rep survey. Surveys can be added: the order does not matter.",
    )
    return page


def _lead(said: Mapping[str, Any]) -> str:
    captures, hosts, distinct = said["captures"]["sum"], said["host"], said["sha256"]
    classes = said["star_class"]
    full = percent(classes["full"]["share"]) if "full" in classes else "None"
    return (
        f"{counted(captures, 'capture')} of {counted(hosts['distinct'], 'host')} held "
        f"{counted(said['files']['files_with'], 'robots.txt file')}, {distinct['distinct']:,} of "
        f"them different. {full} of the files shut out all crawlers without a group of their own."
    )


def _inputs(inputs: Sequence[str]) -> str:
    more = f", and {len(inputs) - _INPUTS:,} more" if len(inputs) > _INPUTS else ""
    return ", ".join(inputs[:_INPUTS]) + more


def _drawn(table: Table, said: Mapping[str, Any]) -> Table:
    """Add the charts of a table."""
    is_boxed = table.title == "Distributions"
    boxes = [_box(said[name]) for name in distributed(said)] if is_boxed else []
    chart = "p10 to p90, logarithmic" if boxes else "of these files" if table.stacks else "share"
    return replace(table, boxes=boxes, chart=chart, wordy=("purpose",), long=("operator",))


def _box(one: Mapping[str, Any]) -> tuple[float, ...]:
    """Place some quantiles on a logarithmic scale from 0 to the greatest number."""
    whole = math.log1p(one["max"]) or 1.0
    return tuple(math.log1p(one[name]) / whole for name in _BOXED)


def _changes(found: Sequence[ShareChange]) -> Table:
    clear = [change for change in found if change.is_clear]
    rows = tuple(map(change_cells, clear[:_CHANGES]))
    sentence = (
        f"{counted(len(clear), 'share')} changed by more than chance explains (one in a thousand "
        f"is reported wrongly); {counted(len(found) - len(clear), 'other')} changed a little. The "
        "bar is the share now."
    )
    bars = tuple(_share(change.after) for change in clear[:_CHANGES])
    table = Table("Changes", sentence, ("", "before", "after", "points"), rows, bars)
    return table if rows else replace(table, rows=(("nothing", "", "", ""),), bars=((0, 0, 0),))


def change_cells(change: ShareChange) -> tuple[str, ...]:
    """The name of a share, the share before and after, and the change in points."""
    shares = (
        f"{percent(count / of if of else None)} ({count:,} of {of:,})"
        for count, of in (change.before, change.after)
    )
    return (change.name, *shares, f"{change.points * 100:+.2f}")


def _share(counts: tuple[int, int]) -> tuple[float, float, float]:
    share = counts[0] / counts[1] if counts[1] else 0.0
    return share, *interval(*counts)
