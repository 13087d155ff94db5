"""``scrapy rep agents``: show which known crawlers may fetch a URL."""

from __future__ import annotations

import argparse
import textwrap
from bisect import bisect
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from scrapy_rep.commands.inputs import Input, is_url, origin_of, read, refuse_odd_path
from scrapy_rep.commands.running import FOUND, OK, UNSETTLED, Call, CommandError
from scrapy_rep.commands.terminal import cut, safe
from scrapy_rep.extras.pages.usage.preference import Preference
from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, DATED, Crawler, crawler_of
from scrapy_rep.extras.webmaster.audience.access_edits import (
    Wanted,
    access_edits,
    first_change,
    to_change,
)
from scrapy_rep.extras.webmaster.audience.bindings import (
    Access,
    Accident,
    Accidents,
    Binding,
    bindings,
    name_by_rfc,
    names_of_groups,
)
from scrapy_rep.extras.webmaster.checks.codes import Code, Severity
from scrapy_rep.extras.webmaster.effect.differences import TooMuchToCompare
from scrapy_rep.extras.webmaster.linting.crawler_names import KNOWN, either, meant_by, near_tokens
from scrapy_rep.extras.webmaster.linting.damage import damages
from scrapy_rep.extras.webmaster.mending import Edit, EditPlace, edited
from scrapy_rep.extras.webmaster.outline import Line, Outline, name_of, outline
from scrapy_rep.protocol.access.events import AccessResult
from scrapy_rep.protocol.access.events import name_of as event_name
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.protocol.paths import path_of
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import counted

from .format import as_meant, author_errors, put_out, refuse_to_write

_PURPOSES = (
    *("ai-training", "ai-search", "ai-user-fetch", "search", "preview", "ads", "seo"),
    *("archive", "research", "monitoring", "feed", "other"),
)
_QUESTIONS = {"ai-training": "train on it", "ai-search": "answer from it", "search": "search it"}
_COLOURS = {"allowed": "green", "disallowed": "red", "not bound": "yellow"}  # by Access's values
_SUCH = ("GPTBot", "ClaudeBot")
_COLUMNS = 78
_OPERATOR_CELLS, _CRAWLER_CELLS = 15, 24


def run(call: Call) -> int:
    """Judge the URLs for all crawlers."""
    options = call.options
    crawlers, urls = _crawlers(options), _urls(options)
    asserted = _chosen(options, "assert_allowed", "assert_disallowed", crawlers)
    wanted = _chosen(options, "allow", "disallow", crawlers)
    if (options.write and not wanted) or (wanted and (asserted or options.urls)):
        raise CommandError("--write needs --disallow or --allow, which take no URLs or assertions")
    file = read(options.file, call)
    file.tell_freshness(call)
    if wanted:
        return _write_access(file, wanted, call)
    body = _body(file, call)
    is_short = len(body) <= PARSE_LIMIT_OCTETS  # settings may only raise it, and load Scrapy
    limit_octets = PARSE_LIMIT_OCTETS if is_short else call.ours.parse_limit_octets
    robots_txt = parse(body, file.uri, limit_octets=limit_octets)
    outlined = outline(body, file.uri, limit_octets=limit_octets)
    found = sorted(bindings(robots_txt, asserted or crawlers, urls), key=_order)
    if asserted:
        return _write_differing(found, asserted, call)
    accidents = list(Accidents(robots_txt, outlined).among(found))
    if options.json or options.csv:
        _write_rows(_rows(found, accidents), call)
    else:
        _write_text(found, accidents, outlined, call)
    return FOUND if accidents else OK


def _crawlers(options: argparse.Namespace) -> list[Crawler]:
    """The crawlers that the options select.

    Raises:
        CommandError: the options select no crawler.
    """
    purposes = {_purpose(name, "--purpose") for name in options.purpose}
    wanted = [text.lower() for text in options.operator]
    own = [one for one in CRAWLERS if not purposes or one.purpose in purposes]
    found = [one for one in own if any(text in one.operator.lower() for text in wanted or [""])]
    if not found:
        raise CommandError("--purpose and --operator leave no known crawler")
    return found


def _purpose(name: str, option: str) -> str:
    """The purpose with a name; ``training`` stands for ``ai-training``.

    Raises:
        CommandError: there is no such purpose.
    """
    for purpose in (name, f"ai-{name}"):
        if purpose in _PURPOSES:
            return purpose
    near = near_tokens(name)
    such = f", or a crawler's name such as {either(near or _SUCH)}"
    names = f"{', '.join(sorted(_PURPOSES))}{such * (option != '--purpose')}"
    raise CommandError(f"{option} {name!r}: give one of {names}")


def _chosen(
    options: argparse.Namespace, allow: str, disallow: str, crawlers: Sequence[Crawler]
) -> dict[Crawler, bool]:
    """The crawlers that two options name, and whether the file must let them in.

    Crawlers that are out of use, and in assertions policy tokens, count only if they are named.

    Raises:
        CommandError: an option selects no crawler, or two options contradict each other.
    """
    found: dict[Crawler, bool] = {}
    for option, allowed in ((allow, True), (disallow, False)):
        for name in getattr(options, option):
            for crawler in _of_name(name, f"--{option.replace('_', '-')}", crawlers):
                if found.setdefault(crawler, allowed) is not allowed:
                    raise CommandError(f"{crawler.token} cannot be both allowed and disallowed")
    return found


def _of_name(name: str, option: str, crawlers: Sequence[Crawler]) -> list[Crawler]:
    """The crawler with a name, or the crawlers with a purpose.

    Raises:
        CommandError: there is no such crawler.
    """
    known = crawler_of(name)
    if known is not None:
        found = [crawler for crawler in crawlers if crawler is known]
    else:
        purpose, has_policies = _purpose(name, option), not option.startswith("--assert")
        own = (one for one in crawlers if one.purpose == purpose and not one.is_obsolete)
        found = [crawler for crawler in own if has_policies or not crawler.is_policy]
    if not found:
        raise CommandError(f"{option} {name!r}: --purpose and --operator exclude these crawlers")
    return found


def _urls(options: argparse.Namespace) -> list[str]:
    """The URLs to judge.

    Raises:
        CommandError: an argument is neither a URL of the site nor a path.
    """
    home = origin_of(options.file) if is_url(options.file) else None
    for url in options.urls:
        refuse_odd_path(url)
        if home is not None and is_url(url) and origin_of(url) != home:
            raise CommandError(f"{url} has another robots.txt than {home}")
    if options.urls:
        return list(dict.fromkeys(options.urls))
    # The URL of a robots.txt itself is always allowed, so it stands for its site.
    return ["/" if home is None or path_of(options.file) == "/robots.txt" else options.file]


def _body(file: Input, call: Call) -> bytes:
    """The octets to read; empty if the site has no file.

    Raises:
        CommandError: the site is unreachable.
    """
    if file.access_result is AccessResult.UNAVAILABLE and file.answer is not None:
        call.complain(
            f"{file.name} does not exist ({event_name(file.answer.event)}): by RFC 9309, all URLs "
            "are allowed"
        )
        return b""
    file.refuse_absent()
    return file.body


def _order(binding: Binding) -> tuple[int, str, str]:
    crawler = binding.crawler
    return _PURPOSES.index(crawler.purpose), crawler.operator.lower(), crawler.name


def _write_access(file: Input, wanted: Wanted, call: Call) -> int:
    """Write the file with the access that is wanted for crawlers; the exit status."""
    refuse_to_write(file, call)
    body = _body(file, call)
    old, before = parse(body, file.uri), outline(body, file.uri)
    if before.is_cut or before.codings:
        raise CommandError(f"{file.name}: compressed, not UTF-8, or too long to be read as a whole")
    changed = to_change(old, wanted)
    edits = list(access_edits(old, before, wanted, changed))
    _refuse_to_hide(file, before, edits)
    new = edited(body, edits)
    if what := _unwanted_change(file, body, new, wanted, changed):
        raise CommandError(
            f"not settled, nothing is written: the groups of {file.name} are such that the change "
            f"would fail, or change something for {what}; edit them by hand",
            UNSETTLED,
        )
    if body and author_errors(file):
        meant = as_meant(body, file.uri), as_meant(new, file.uri)
        if what := _unwanted_change(file, *meant, wanted, changed):
            raise CommandError(
                f"{file.name} is not written: it has errors, and once they are corrected, the "
                f"change would fail, or change something for {what}: correct them first",
                FOUND,
            )
    parsed = parse(new, file.uri)
    for crawler in CRAWLERS:
        group = parsed.selection(names_of_groups(crawler)).product_token
        is_fallback = crawler_of(group) in changed and group != crawler.name
        if is_fallback and crawler not in wanted:
            call.complain(f"note: {crawler.token} takes the group of {crawler.fallback}")
    put_out(file, new, call)
    return OK


def _unwanted_change(file: Input, old: bytes, new: bytes, wanted: Wanted, changed: Wanted) -> str:
    """The first crawler for which the new file is not as it must be; empty without one.

    Raises:
        CommandError: the files are too much to compare.
    """
    before, after = parse(old, file.uri), parse(new, file.uri)
    try:
        found = first_change(before, after, wanted, changed)
    except TooMuchToCompare as error:
        raise CommandError(f"not settled, nothing is written: {error}", UNSETTLED) from error
    if found is None or isinstance(found, str):
        return safe(found or "")
    return safe(f"{found.agent} at {found.path}")


def _refuse_to_hide(file: Input, outlined: Outline, edits: Iterable[Edit]) -> None:
    """Refuse to change a group with an error that may be about other crawlers.

    Raises:
        CommandError: there is such a group.
    """
    starts = [block.agents[0].number for block in outlined.blocks]
    replaced = {edit.line for edit in edits if edit.place is EditPlace.AT}
    groups = {bisect(starts, number) for number in replaced}
    damaged = damages(outlined)
    for finding in author_errors(file):
        names_others = finding.code is Code.USER_AGENT_LIST or finding.line in damaged
        is_replaced = finding.line in replaced and not names_others
        is_error = finding.severity is Severity.ERROR
        if is_error and not is_replaced and bisect(starts, finding.line) in groups:
            raise CommandError(f"{file.name} is not written: correct this first: {finding}", FOUND)


def _write_differing(found: Sequence[Binding], asserted: Mapping[Crawler, bool], call: Call) -> int:
    """Write the crawlers with another verdict than asserted; the exit status."""
    differing = [one for one in found if one.is_permitted is not asserted[one.crawler]]
    if call.is_json or call.options.csv:
        _write_rows(_rows(differing, ()), call)
    else:
        for url in dict.fromkeys(one.url for one in differing):
            call.line(call.paint(safe(url), "bold"))
            _write_table([one for one in differing if one.url == url], call)
    crawlers = counted(len(asserted), "crawler")
    call.complain(f"{crawlers}, {counted(len(differing), 'verdict')} not as asserted")
    return FOUND if differing else OK


def _write_text(
    found: Sequence[Binding], accidents: Sequence[Accident], outlined: Outline, call: Call
) -> None:
    """Write the result for each URL; shared results and the legend come once."""
    if not call.options.all:  # nothing follows from a policy token that the file does not name
        found = [one for one in found if one.is_own_group or not one.crawler.is_policy]
    said: dict[Hashable, str] = {}
    for url in dict.fromkeys(one.url for one in found):
        _write_url([one for one in found if one.url == url], accidents, said, call)
    known = {one.crawler.name for one in found}
    lines = [line for block in outlined.blocks for line in block.agents]
    _write_section("names in the file", dict.fromkeys(_name_words(lines, known)), call)
    _write_section("names that match no known crawler", _unknown_words(lines), call)
    policies = (one.crawler for one in found if one.access is Access.DISALLOWED)
    if policy := next((one for one in policies if one.is_policy), None):
        words = f"{policy.token}: crawlers that know this policy token do not use the URL"
        _write_section("policy tokens", [f"{words}, whatever the verdicts above say"], call)
    call.line(f"from a list of {DATED}; ? marks uncertain facts, and --json gives the reason")
    if any(map(_mark, _shown(found, accidents, call))):
        call.line("! no parser of RFC 9309 can match this name; the crawler itself may")
    call.line()


def _write_url(
    found: Sequence[Binding], accidents: Sequence[Accident], said: dict[Hashable, str], call: Call
) -> None:
    """Write the result for one URL; crawlers that are out of use come separately.

    `said` has the results of earlier URLs, and the first URL with each.
    """
    own = [one for one in accidents if one.binding in found]
    in_use = [one for one in found if not one.crawler.is_obsolete]
    shown = _shown(found, accidents, call)
    rows = [one for one in shown if not one.crawler.is_obsolete]
    call.line(call.paint(safe(found[0].url), "bold"))
    _write_table(rows, call)
    if len(rows) < len(shown):
        call.line(call.paint("names out of use", "bold"))
        _write_table([one for one in shown if one.crawler.is_obsolete], call)
    if len(rows) < len(in_use):
        left = counted(len(in_use) - len(rows), "crawler")
        counts = Counter(one.access.value for one in in_use if not _is_named(one))
        rest = ", ".join(f"{count} {word}" for word, count in counts.most_common())
        call.line(f"and {left} that the file does not name (--all): {rest}")
    call.line()
    alike = frozenset(
        (one.crawler.name, one.access, bool(one.doubts), _objection(one)) for one in in_use
    )
    first = said.setdefault(alike, found[0].url)
    if first == found[0].url:
        _write_summary(in_use, call)
    else:
        call.line(f"all verdicts are the same as for {safe(first)}")
    words = [f"{one.binding.crawler.token}: {one.words}" for one in own]
    _write_section("banned by accident, it seems", words, call)
    call.line()


def _shown(
    found: Sequence[Binding], accidents: Sequence[Accident], call: Call
) -> Sequence[Binding]:
    """All, if requested; otherwise crawlers that the file names, or bans by accident.

    Crawlers that are out of use are shown only on request.
    """
    if call.options.all or call.options.purpose or call.options.operator:
        return found
    banned = [one.binding for one in accidents]
    return [
        one for one in found if not one.crawler.is_obsolete and (_is_named(one) or one in banned)
    ]


def _is_named(binding: Binding) -> bool:
    return binding.is_own_group or binding.is_fallback


def _write_table(rows: Sequence[Binding], call: Call) -> None:
    table = [("purpose", "operator", "crawler", "verdict", "by")]
    for one in rows:
        operator = cut(one.crawler.operator, _OPERATOR_CELLS)
        token = f"{cut(one.crawler.token, _CRAWLER_CELLS)}{_mark(one)}"
        verdict = f"{one.access.value}{'?' if one.doubts else ''}"
        table.append((one.crawler.purpose, operator, token, verdict, _by(one)))
    if rows:
        call.table(table)


def _mark(binding: Binding) -> str:
    return "!" if name_by_rfc(binding.crawler) is not None else ""


def _by(binding: Binding) -> str:
    """The deciding line, and the group's name unless it is the crawler's own."""
    if binding.access is Access.NOT_BOUND:
        return "-"
    line = str(binding.verdict.line or "-")
    return line if binding.is_own_group or not binding.group else f"{line} {binding.group}"


def _write_summary(found: Sequence[Binding], call: Call) -> None:
    """List the operators that may train, answer and search, and those that may not.

    A fact is certain if it is for one crawler. Those that may fetch, but not for their purpose,
    come apart.
    """
    order = [access.value for access in Access]
    for purpose, question in _QUESTIONS.items():
        by_words: dict[str, list[Binding]] = {}
        for one in found:
            if one.crawler.purpose == purpose:
                words = f"{one.access.value}{_objection(one)}"
                by_words.setdefault(words, []).append(one)
        lines = []
        for words in sorted(by_words, key=lambda words: order.index(words.split(",")[0])):
            certain = {_who(one.crawler) for one in by_words[words] if not one.doubts}
            names = dict.fromkeys(_who(one.crawler) for one in by_words[words])
            said = ", ".join(name if name in certain else f"{name}?" for name in names)
            lines.append(f"{words}: {said}")
        _write_section(f"who can {question}", lines, call)


def _objection(binding: Binding) -> str:
    """The words of the file against the purpose of a crawler with access; empty without them."""
    by, is_open = binding.use_by, binding.access is Access.ALLOWED
    is_against = binding.use is Preference.DISALLOWED and is_open
    return f", but {by.category}=n (line {by.source.line})" if by and is_against else ""


def _who(crawler: Crawler) -> str:
    """The operator; or the name of the crawler, if any operator may run it."""
    is_anyone = crawler.operator == "unknown" or crawler.operator.startswith("anyone")
    return crawler.token if is_anyone else crawler.operator


def _write_section(title: str, texts: Iterable[str], call: Call) -> None:
    """Write a title and wrapped texts; a verdict before a colon gets its colour."""
    for number, text in enumerate(texts):
        if number == 0:
            call.line(call.paint(title, "bold"))
        lines = textwrap.wrap(text, _COLUMNS - 2, subsequent_indent="    ")
        word, colon, rest = lines[0].partition(":")
        if word in _COLOURS:
            lines[0] = f"{call.paint(word, _COLOURS[word])}{colon}{rest}"
        call.lines(lines, "  ")


def _name_words(lines: Iterable[Line], known: set[str]) -> Iterator[str]:
    """Describe names in the file that are out of use, or that RFC 9309 parsers cannot match."""
    for line in lines:
        name = line.value.decode("utf-8", "replace")
        crawler = crawler_of(name_of(line.value)) or crawler_of(name)
        if crawler is None or crawler.name not in known:
            continue
        where = f"line {line.number}: {safe(line.value)}"
        if crawler.is_obsolete and not crawler.operator.startswith("anyone"):
            yield f"{where} is out of use{_successors(crawler)}"
        read = name_by_rfc(crawler)
        if read is not None:
            reads = f"only {read!r}" if read else "no name at all"
            yield f"{where}: no parser of RFC 9309 can match {crawler.token!r}, it reads {reads}"


def _unknown_words(lines: Iterable[Line]) -> Iterator[str]:
    """The names in the file that match no known crawler; probable mistakes come first."""
    unknown: dict[str, int] = {}
    for line in lines:
        name = name_of(line.value)
        if name != EVERYONE and not {name, safe(line.value).lower()} & KNOWN:
            unknown.setdefault(safe(line.value), line.number)
    others = []
    for text, number in unknown.items():
        meant = near_tokens(text) or meant_by(text)
        if meant:
            yield f"line {number}: {text}; perhaps {either(meant)}"
        else:
            others.append(text or "(empty)")
    if others:
        yield f"other names: {', '.join(others)}"


def _successors(crawler: Crawler) -> str:
    in_use = (other for other in CRAWLERS if not other.is_obsolete)
    names = [other.token for other in in_use if other.operator == crawler.operator]
    return f"; {crawler.operator} has {', '.join(names)}" if names else f" ({crawler.operator})"


def _rows(found: Sequence[Binding], accidents: Sequence[Accident]) -> Iterator[dict[str, Any]]:
    """Yield a row for each crawler and URL."""
    by_binding = {(one.binding.crawler.token, one.binding.url): one for one in accidents}
    for binding in found:
        crawler, verdict = binding.crawler, binding.verdict
        accident = by_binding.get((crawler.token, binding.url))
        yield {
            "url": binding.url,
            "crawler": crawler.token,
            "operator": crawler.operator,
            "purpose": crawler.purpose,
            "access": binding.access.name.lower(),
            "file_allows": verdict.allowed,
            "group": binding.group or None,
            "group_is": _group_is(binding),
            "line": verdict.line or None,
            "rule": None if verdict.rule is None else str(verdict.rule),
            "use": binding.use.value,
            "use_by": None if binding.use_by is None else str(binding.use_by),
            "obeys": crawler.obeys,
            "is_certain": not binding.doubts,
            "doubts": list(binding.doubts),
            "accident": None if accident is None else accident.sign,
            "accident_words": None if accident is None else accident.words,
            "name_by_rfc_9309": crawler.token if (read := name_by_rfc(crawler)) is None else read,
            "is_obsolete": crawler.is_obsolete,
            "is_user_triggered": crawler.is_user_triggered,
            "by": crawler.by,
            "seen": crawler.seen or None,
            "list_of": DATED,
        }


def _group_is(binding: Binding) -> str:
    if binding.group in ("", EVERYONE):
        return "everyone" if binding.group else "none"
    return "own" if binding.is_own_group else "fallback"


def _write_rows(rows: Iterator[dict[str, Any]], call: Call) -> None:
    for number, row in enumerate(rows):
        if call.is_json:
            call.row(row)
            continue
        if number == 0:
            call.csv_row(row)
        call.csv_row(row.values())
