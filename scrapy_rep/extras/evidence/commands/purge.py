"""The list of what a crawl fetched and should not keep: its trail, by the files of today.

For ``audit replay --now``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scrapy.crawler import Crawler

from scrapy_rep.cache.memory import Lru
from scrapy_rep.commands.engine_work import in_engine
from scrapy_rep.commands.inputs import Freshness
from scrapy_rep.commands.running import FOUND, OK, UNSETTLED, Call, write_rows
from scrapy_rep.commands.terminal import safe
from scrapy_rep.decisions.occasions import DONT_OBEY, OFF
from scrapy_rep.engine.loops import as_they_come
from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.replay import tokens_of, with_grounds
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.usage.categories import CATEGORIES
from scrapy_rep.extras.pages.usage.preference import Preference
from scrapy_rep.extras.pages.usage.robots import FileUsage
from scrapy_rep.policies import policies_of
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import name_of
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.tokens import as_product_tokens
from scrapy_rep.protocol.units import counted

DISALLOWED, USAGE, UNREACHABLE_NOW = "disallowed", "usage", "unreachable"
"""Why a row is in the list; the last is about a file, and has no URL."""

_COLUMNS = (
    *("change", "url", "robots_txt", "confirmed_at", "reason", "line", "text", "category"),
    *("n", "fetched_at"),
)
_WORDS = {
    DISALLOWED: ("URL is disallowed now", "URLs are disallowed now"),
    USAGE: ("preference is n now", "preferences are n now"),
    UNREACHABLE_NOW: ("file is unreachable now", "files are unreachable now"),
}
_AT_ONCE = 16  # files that are fetched at the same time
_FILES_OCTETS = 1 << 26
_SHOWN = 20

Row = dict[str, Any]


class Purge:
    """The list of one run.

    Attributes:
        origins: those of the URLs that it fetched.
    """

    def __init__(self, run: Run, call: Call, began_at: float) -> None:
        """Read the trail once. Files that were confirmed before `began_at` are from the store."""
        self._run, self._call, self._began_at = run, call, began_at
        self._dropped: Counter[str] = Counter()
        self._usages: Lru[tuple[str, tuple[str, ...]], FileUsage] = Lru(_FILES_OCTETS)
        agent = call.options.agent
        self._agent = None if agent is None else as_product_tokens(agent)
        found: dict[Origin, None] = {}
        self._redacted_count = 0
        for _, record in run.records():
            url, kind = record.get("url", ""), record["t"]
            if kind == records.DROP or (records.is_again(record) and not _is_sent(record)):
                self._dropped[url] += 1
            elif _is_sent(record) and (origin := origin_or_none(url)) is not None:
                found[origin] = None
        self.origins = list(found)

    def policies_now(self, *, from_store: bool = False) -> dict[Origin, Policy]:
        """The policies of all origins; a process can call this once.

        All files are fetched, or with `from_store` only those without a fresh copy there.
        """
        if not self.origins:
            return {}
        found: dict[Origin, Policy] = {}

        async def work(crawler: Crawler) -> dict[Origin, Policy]:
            policies = policies_of(crawler, "this command")
            policies.fetching.renewed_from = 0.0 if from_store else self._began_at
            async for policy in as_they_come(map(policies.get, self.origins), _AT_ONCE):
                found[policy.origin] = policy
            return found

        return in_engine(
            self._call, work, lambda: f"robots.txt, {len(found):,} of {len(self.origins):,} done"
        )

    def tell(self, policies: Mapping[Origin, Policy]) -> int:
        """Write the list, and return the exit status."""
        call, options = self._call, self._call.options
        counts: Counter[str] = Counter()
        self._tell_ages(policies)
        rows = self._counted(self._rows(policies), counts)
        if options.output or options.format:
            write_rows(options, _COLUMNS, rows)
        else:
            for row in rows:
                if call.is_json:
                    call.row(row)
                elif counts[row["change"]] <= _SHOWN:
                    call.line(_line(row))
        words = [counted(counts[change], *_WORDS[change]) for change in _WORDS if counts[change]]
        summary = f"{safe(self._run.name)}: {', '.join(words) or 'nothing to purge'}"
        is_data = call.is_json or (options.format and not options.output)
        (call.complain if is_data else call.line)(summary)
        if not is_data and not options.output and max(counts.values(), default=0) > _SHOWN:
            call.line(f"only the first {_SHOWN} of each kind are shown; --format csv writes all")
        if self._redacted_count:
            urls = counted(self._redacted_count, "URL")
            call.complain(f"{urls} without queries in the trail, judged as they are there")
        if self._run.damaged_count:
            places = counted(self._run.damaged_count, "damaged place")
            call.complain(f"the trail has {places}, so URLs may be missing")
        is_partial = self._redacted_count or self._run.damaged_count
        return FOUND if counts else UNSETTLED if is_partial else OK

    def _tell_ages(self, policies: Mapping[Origin, Policy]) -> None:
        """Report the age of the files that judge, the oldest first."""
        dated = [one for one in policies.values() if one.confirmed_at]
        for policy in sorted(dated, key=lambda one: one.confirmed_at)[:_SHOWN]:
            is_stored = policy.confirmed_at < self._began_at
            words = f"{Freshness(policy.confirmed_at, is_stored=is_stored)}"
            event = _failure(policy)
            lead = f"unreachable now ({event}), so its last copy judges, " if event else ""
            self._call.complain(f"{policy.origin.robots_txt_uri}: {lead}{words}")
        if more := len(dated[_SHOWN:]):
            self._call.complain(f"and {counted(more, 'newer file')}")

    @staticmethod
    def _counted(rows: Iterable[Row], counts: Counter[str]) -> Iterator[Row]:
        for row in rows:
            counts[row["change"]] += 1
            yield row

    def _rows(self, policies: Mapping[Origin, Policy]) -> Iterator[Row]:
        for origin in self.origins:
            policy = policies.get(origin)
            event = None if policy is None else _failure(policy)
            if policy is None or event:
                uri, reason = origin.robots_txt_uri, event or "unknown"
                yield {"change": UNREACHABLE_NOW, "robots_txt": uri, "reason": reason}
        dropped, told = self._dropped.copy(), set[int]()
        for record, then, body in with_grounds(self._run):
            if not _is_sent(record) or records.is_again(record):
                continue
            url = record["url"]
            if dropped[url] > 0:
                dropped[url] -= 1
                continue
            at = origin_or_none(url)
            policy = None if at is None else policies.get(at)
            # Without a file or a copy, nothing is known about the URL: the file has its own row.
            if policy is None or (policy.is_unreachable and not policy.is_stale):
                continue
            if (key := hash(url)) in told:
                continue
            rows = [*self._of(record, policy, then, body)]
            if rows:
                told.add(key)
            self._redacted_count += bool(record.get("redacted"))
            yield from rows

    def _of(
        self, record: Row, policy: Policy, then: Row | None, body: bytes | None
    ) -> Iterator[Row]:
        """The rows of a URL: one if it is disallowed, or one for each category that is now n."""
        url, agent = record["url"], self._agent
        tokens = tokens_of(record, self._run.head) if agent is None else agent
        verdict = policy.verdict(url, tokens)
        facts = {"url": url, "robots_txt": policy.origin.robots_txt_uri}
        facts |= {"confirmed_at": policy.confirmed_at or None}
        where = {"n": record["n"], "fetched_at": record["at"]}
        if not verdict.allowed:
            rule = None if verdict.rule is None else str(verdict.rule)
            why = {"reason": verdict.reason.name, "line": verdict.line or None, "text": rule}
            yield {"change": DISALLOWED, **facts, **why, **where}
            return
        usage_tokens = self._call.ours.usage_tokens
        now = file_usage(policy, url, tokens, usage_tokens)
        for category in CATEGORIES:
            if now.preference(category) is not Preference.DISALLOWED:
                continue
            if body is not None and then is not None:
                before = self._usage_then(then["body"], body, tokens).preferences(url)
                if before.preference(category) is Preference.DISALLOWED:
                    continue
            said = now.decided_by(category)[0]
            why = {"reason": said.source.kind, "line": said.source.line or None, "text": said.text}
            yield {"change": USAGE, **facts, **why, "category": category, **where}

    def _usage_then(self, digest: str, body: bytes, tokens: tuple[str, ...]) -> FileUsage:
        """The preferences of the file behind a decision, read once for each crawler."""
        found = self._usages.get((digest, tokens))
        if found is None:
            file, usage_tokens = parse(body), self._call.ours.usage_tokens
            found = FileUsage.of(file.octets, file.uri, file.selection(tokens), usage_tokens)
            self._usages.put((digest, tokens), found, len(body) + found.kept_octets)
        return found


def _failure(policy: Policy) -> str:
    """The failure of the last fetch, also if an old copy judges; empty without one."""
    if policy.is_stale and policy.outage is not None:
        return name_of(policy.outage.event)
    return policy.event if policy.is_unreachable else ""


def _is_sent(record: Row) -> bool:
    is_judged = record["t"] == records.DECISION or record.get("why") in (DONT_OBEY, OFF)
    return is_judged and records.is_sent(record)


def _line(row: Row) -> str:
    """A row in words."""
    place = f"line {row['line']}: " if row.get("line") else ""
    why = safe(f"{place}{row.get('text') or row['reason']}")
    if row["change"] == UNREACHABLE_NOW:
        return f"{row['change']}\t{safe(row['robots_txt'])} ({why})"
    category = f" {row['category']}=n" if "category" in row else ""
    return f"{row['change']}{category}\t{safe(row['url'])} ({why})"
