"""The facts of one robots.txt that depend on its octets alone.

Equal files have equal facts, so `aggregate` reads each different file once. Each field of `Facts`
is a fact, which `definitions` explains. `captures` adds the facts of the answer that brought the
file.

Cost: linear in the octets up to the parse limit, plus the cost of `effect` for each set of groups,
and with lint, that of linting.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import islice

from scrapy_rep.extras.pages.usage.categories import CATEGORIES
from scrapy_rep.extras.pages.usage.preference import Preference, combined
from scrapy_rep.extras.pages.usage.robots import FileUsage
from scrapy_rep.extras.webmaster.outline import Line, Outline, outline
from scrapy_rep.protocol.extensions.pace import read_site_pace
from scrapy_rep.protocol.extensions.sitemaps import sitemap_uris
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS, RULES, Coding, Kind
from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.tokens import EVERYONE, is_everyone, names_of

from .effect import NONE, ProbeBudget, class_of

OPEN_NAME = r"[a-z0-9_.-]{1,40}"
"""Longer names and keys are not counted: in HTML, all text before a colon reads like a key."""

OWN_HOST = "own.invalid"
"""The key in `Facts.sitemap_hosts` for Sitemap lines without a host: that of the file itself."""

_NAME = re.compile(OPEN_NAME)
_PORT = re.compile(r":\d*$")
_MARKUP = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)
_KEY = re.compile(OPEN_NAME.encode())
_NAMES_KEPT = 2000  # per file; real files have up to 900
_KEYS_KEPT = 100
_HOSTS_KEPT = 100
_USES = (
    ("Content-Signal", (b"content-signal", b"content-signals")),
    ("Content-Usage", (b"content-usage",)),
)
_BOM = b"\xef\xbb\xbf"
_LONGEST_DELAY_SECONDS = 1e9  # 30 years; longer delays count as this


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of the octets of a robots.txt; `definitions` explains each field."""

    sha256: bytes
    octets: int
    is_cut: bool
    bom: bool
    is_utf16: bool
    utf8: bool
    markup: bool
    eol: str
    lines: int
    lines_blank: int
    comments: int
    lines_no_record: int
    user_agent_lines: int
    allow_lines: int
    disallow_lines: int
    sitemap_lines: int
    other_lines: int
    groups: int
    multi_agent_groups: int
    names: int
    has_star: bool
    names_in_several_groups: int
    rules: int
    rules_before_agent: int
    empty_rules: int
    wildcard_rules: int
    dollar_rules: int
    percent_rules: int
    dead_rules: int
    longest_rule: int
    crawl_delay_star: float | None
    sitemaps: int
    star_class: str
    content_signal: str | None
    content_usage: str | None
    agents: Mapping[str, str]
    lint: Mapping[str, int] | None
    other_keys: Mapping[str, int]
    sitemap_hosts: Mapping[str, int] = field(repr=False, compare=False)

    @property
    def is_small(self) -> bool:
        """Whether its mappings take little memory, as those of nearly all files do."""
        return len(self.agents) + len(self.sitemap_hosts) + len(self.lint or ()) < 200  # noqa: PLR2004


def facts(body: bytes, *, with_lint: bool = False) -> Facts:
    """The facts of the octets of a robots.txt, decompressed."""
    found = outline(body)
    octets = found.octets
    rules = [line for block in found.blocks for line in block.rules]
    others = Counter(line.name for line in found.lines if line.kind is Kind.OTHER)
    everyone = found.by_name.get(EVERYONE, ())
    budget = ProbeBudget()

    @cache
    def class_by(indices: tuple[int, ...]) -> str | None:
        of_groups = [line for index in indices for line in found.blocks[index].rules]
        disallow, allow = (
            [_text(line) for line in of_groups if line.kind is kind]
            for kind in (Kind.DISALLOW, Kind.ALLOW)
        )
        return class_of(disallow, allow, budget)

    star_class = class_by(everyone) or NONE
    hosts = _sitemap_hosts([line.value for line in found.sitemaps])
    has_preferences = any(key.startswith(b"content-") for key in others)
    signal, usage = _said_to_everyone(octets, others) if has_preferences else (None, None)
    return Facts(
        sha256=sha256(body).digest(),
        octets=len(body),
        is_cut=found.is_cut,
        bom=body.startswith(_BOM),
        is_utf16=Coding.UTF16 in found.codings,
        utf8=_is_utf8(body[:PARSE_LIMIT_OCTETS]),
        markup=_MARKUP.match(octets) is not None,
        eol=_eol(body),
        **_line_facts(found),
        groups=len(found.blocks),
        multi_agent_groups=sum(len(block.agents) > 1 for block in found.blocks),
        names=len(found.by_name) - bool(everyone),
        has_star=bool(everyone),
        names_in_several_groups=sum(len(groups) > 1 for groups in found.by_name.values()),
        **_rule_facts([_text(line) for line in rules]),
        rules_before_agent=sum(line.kind in RULES for line in found.before),
        crawl_delay_star=_delay_of_everyone(octets),
        sitemaps=sum(hosts.values()),
        star_class=star_class,
        content_signal=signal,
        content_usage=usage,
        agents=_agents(found, class_by),
        lint=_lint(body) if with_lint else None,
        other_keys=_other_keys(others),
        sitemap_hosts=dict(islice(hosts.items(), _HOSTS_KEPT)),
    )


def _text(line: Line) -> str:
    """The value of a line, octets as characters."""
    return line.value.decode("latin-1")


def _line_facts(found: Outline) -> dict[str, int]:
    octets = found.octets
    lines = octets.split(b"\n")
    if not lines[-1]:
        lines.pop()
    blank = sum(not line or line.isspace() for line in lines)
    with_mark = [line for line in lines if b"#" in line]
    alone = sum(not line.partition(b"#")[0].strip() for line in with_mark)
    counts = Counter(line.kind for line in found.lines if line.kind is not None)
    return {
        "lines": len(lines),
        "lines_blank": blank,
        "comments": len(with_mark),
        "lines_no_record": len(lines) - blank - alone - sum(counts.values()),
        "user_agent_lines": counts[Kind.USER_AGENT],
        "allow_lines": counts[Kind.ALLOW],
        "disallow_lines": counts[Kind.DISALLOW],
        "sitemap_lines": counts[Kind.SITEMAP],
        "other_lines": counts[Kind.OTHER],
    }


def _rule_facts(values: list[str]) -> dict[str, int]:
    return {
        "rules": len(values),
        "empty_rules": values.count(""),
        "wildcard_rules": sum("*" in v for v in values),
        "dollar_rules": sum(v[-1:] == "$" for v in values),
        "percent_rules": sum("%" in v for v in values),
        "dead_rules": sum(v[:1] not in "/*" for v in values),
        "longest_rule": max(map(len, values), default=0),
    }


def _is_utf8(octets: bytes) -> bool:
    is_cut = len(octets) == PARSE_LIMIT_OCTETS  # a cut within a character is not an error
    try:
        getincrementaldecoder("utf-8")().decode(octets, final=not is_cut)
    except UnicodeDecodeError:
        return False
    return True


def _eol(body: bytes) -> str:
    """The line ends: ``lf``, ``crlf``, ``cr``, ``mixed``, ``none``."""
    feeds, returns = body.count(b"\n"), body.count(b"\r")
    if not returns:
        return "lf" if feeds else "none"
    both = body.count(b"\r\n")
    kinds = {"crlf": both, "lf": feeds - both, "cr": returns - both}
    used = [name for name, count in kinds.items() if count]
    return used[0] if len(used) == 1 else "mixed"


def _delay_of_everyone(octets: bytes) -> float | None:
    """The Crawl-delay for ``*``, in seconds."""
    seconds = read_site_pace(octets, is_everyone).crawl_delay
    return None if seconds is None else min(seconds, _LONGEST_DELAY_SECONDS)


def _sitemap_hosts(values: list[bytes]) -> Counter[str]:
    """The number of sitemaps on each host; `OWN_HOST` is the host of the file itself."""
    if not values:
        return Counter()
    uris = sitemap_uris(values, f"http://{OWN_HOST}/robots.txt")
    return Counter(map(host_of, uris))


def host_of(uri: str) -> str:
    """The host of an absolute URI, in lower case, without userinfo and port."""
    authority = uri.split("/", 3)[2] if uri.count("/") > 1 else ""
    return _PORT.sub("", authority.rpartition("@")[2].partition("?")[0]).lower()


def _agents(found: Outline, class_by: Callable[[tuple[int, ...]], str | None]) -> dict[str, str]:
    """The class of each name, computed once for each set of groups."""
    usual = filter(_NAME.fullmatch, found.by_name)
    classes = ((name, class_by(found.obeyed_by(name))) for name in usual)
    told = ((name, effect) for name, effect in classes if effect is not None)
    return dict(islice(told, _NAMES_KEPT))


def _other_keys(others: Counter[bytes]) -> dict[str, int]:
    keys = ((key, count) for key, count in others.items() if _KEY.fullmatch(key))
    return {key.decode("ascii"): count for key, count in islice(keys, _KEYS_KEPT)}


def _said_to_everyone(octets: bytes, keys: Container[bytes]) -> tuple[str | None, str | None]:
    """The preferences of a file for all crawlers: two facts; linear in the octets.

    Each is None without such a record, empty if the records say nothing to all crawlers about
    ``/``, otherwise like ``search=y train-ai=n``, categories in alphabetical order.
    """
    selection = Selection.of(octets, "", names_of(()))
    said = FileUsage.of(octets, "", selection, {}).preferences("/")
    found = []
    for name, spellings in _USES:
        own = [one for one in said.statements if one.source.kind == name]
        words = {category: combined(own, category) for category in sorted(CATEGORIES)}
        shown = " ".join(
            f"{category}={preference.value}"
            for category, preference in words.items()
            if preference is not Preference.UNKNOWN
        )
        found.append(shown if any(key in keys for key in spellings) else None)
    return found[0], found[1]


def _lint(body: bytes) -> dict[str, int]:
    from scrapy_rep.extras.webmaster.linting.linter import lint

    return dict(Counter(finding.code.value for finding in lint(body)))
