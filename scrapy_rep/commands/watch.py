"""``scrapy rep watch``: report changes of files since the last look."""

from __future__ import annotations

from scrapy_rep.cache.entry import is_same_version
from scrapy_rep.extras import part
from scrapy_rep.protocol.access.events import name_of
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.document import parse

from .inputs import Freshness, Input, origin_of
from .named_agents import agents_of
from .project_store import answer_words, project_store, refreshed, watch_key
from .running import FOUND, OK, UNREACHABLE, UNSETTLED, Call
from .terminal import date


def run(call: Call) -> None:
    """Fetch the files now, as `refresh` does, and compare; the highest exit status counts."""
    agents = [agent.name for agent in agents_of(call)] if call.options.agent else None
    origins = list(dict.fromkeys(map(origin_of, call.options.urls)))
    with project_store(call.settings, must_exist=False) as stored:
        keys = {origin: watch_key(stored.key(origin)) for origin in origins}
        copies = {origin: stored.known(key).copy for origin, key in keys.items()}
    found = list(refreshed(origins, call))
    with project_store(call.settings, must_exist=False) as stored:
        for origin, answer, known in found:
            uri, words, before = origin.robots_txt_uri, answer_words(answer), copies[origin]
            now = known.copy if known is not None and known.outage is None else None
            if now is None:
                call.complain(f"{uri}: {words}")
                call.end_with(UNREACHABLE)
                continue
            # First, so that a change that was not reported is reported next time.
            if before is None:
                call.complain(f"{uri}: seen for the first time, {words}")
            elif not is_same_version(before, now):
                call.end_with(_changed(uri, before, now, agents, call))
            elif call.options.verbose:
                call.complain(f"{uri}: unchanged, {words}")
            stored.put(keys[origin], Knowledge(now))  # also if unchanged: stores drop old entries


def _changed(uri: str, before: Copy, now: Copy, agents: list[str] | None, call: Call) -> int:
    """Report the changes of a file, and return the status."""
    was, is_now = name_of(before.event), name_of(now.event)
    if call.is_json:  # for programs: the file of the rows that follow
        told = {"answer": was, "seen_at": before.confirmed_at}
        tells = {"answer": is_now, "seen_at": now.confirmed_at}
        call.row({"changed": uri, "before": told, "now": tells})
    else:
        since = date(before.confirmed_at)
        call.line(f"{call.paint(uri, 'bold')}: changed since {since} UTC ({was} -> {is_now})")
    show_differences = part("changes of verdicts", lambda *_: FOUND)
    status: int = show_differences(_input(uri, before), _input(uri, now), agents, call)
    if status == UNSETTLED:
        return UNSETTLED
    has_effect = status != OK or _sitemaps(uri, before) != _sitemaps(uri, now)
    return FOUND if has_effect or not call.options.effect else OK


def _input(uri: str, copy: Copy) -> Input:
    """A copy as `diff` takes it; an empty file if there is none."""
    return Input(uri, uri, copy.body, uri, freshness=Freshness(copy.confirmed_at, is_stored=True))


def _sitemaps(uri: str, copy: Copy) -> set[str]:
    """The Sitemap lines, which `diff` shows, but which change no verdict."""
    return set(parse(copy.body, uri).sitemaps)
