"""The tables of a survey, for terminals and pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from scrapy_rep.extras.evidence.html_page import Table
from scrapy_rep.protocol.units import counted

from .definitions import DEFINITIONS, LABELS
from .effect import CLASSES

_SHOWN = 20
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
