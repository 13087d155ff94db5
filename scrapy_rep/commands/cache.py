"""``scrapy rep cache``: show and edit the store of answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from scrapy_rep.cache.base import Browsable, Remembering
from scrapy_rep.cache.entry import Entry, Key, key_of
from scrapy_rep.extras import nothing, part
from scrapy_rep.fetch.chosen_store import IN_MEMORY
from scrapy_rep.fetch.reading import digest_of
from scrapy_rep.protocol.access.events import AccessResult, access_result, name_of
from scrapy_rep.protocol.access.knowledge import Copy, Outage
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.units import counted

from .inputs import named_origin
from .project_store import ProjectStore, answer_words, is_watched, project_store, refreshed
from .running import FOUND, OK, UNREACHABLE, Call, CommandError
from .terminal import date, distance, safe, step_dict, way_words, when


def run(call: Call) -> int:
    """Run one of the actions."""
    options, action = call.options, call.options.action
    named = list(map(named_origin, options.origins))
    if named and options.all:
        raise CommandError("give origins or --all, not both")
    if action in ("show", "log", "purge", "refresh") and not named and not options.all:
        raise CommandError(f"{action} needs origins, or --all")
    if action == "refresh":
        if options.user_agent is not None:
            raise CommandError(
                "refresh uses the USER_AGENT of this project: set it with -s instead"
            )
        return _refresh(named, call)
    with project_store(call.settings) as stored:
        keys = _keys(stored, named, call)
        found = {key_of(entry.origin).origin for entry in stored.entries(keys)} if named else set()
        for origin in dict.fromkeys(named):
            if origin not in found:
                call.terminal.complain(stored.absence_words(origin))
                call.end_with(FOUND)
        return _DO[action](stored, keys, call)


def _keys(stored: ProjectStore, named: list[Origin], call: Call) -> list[Key]:
    """The keys to act on; if the store cannot list, those of this project's crawls."""
    action, agent = call.options.action, call.options.user_agent
    if named and action in ("show", "log") and not isinstance(stored.store, Browsable):
        return list(map(stored.key, named))
    keys = stored.browsable(action).keys()
    own = (key for key in keys if not named or key.origin in named)
    return [key for key in own if (agent or "").lower() in key.user_agent.lower()]


def _list(stored: ProjectStore, keys: list[Key], call: Call) -> int:
    rows = [_row(entry, stored) for entry in stored.entries(keys)]
    if not rows:
        if not call.options.origins:  # otherwise it was said
            call.terminal.complain("nothing is stored")
        return FOUND
    call.table([("origin", "state", "answer", "octets", "fetched", "as"), *rows])
    return OK


def _row(entry: Entry, stored: ProjectStore) -> tuple[str, ...]:
    known, key = entry.known, key_of(entry.origin)
    event = known.outage.event if known.outage else known.copy.event if known.copy else None
    return (
        _place(key),
        stored.standing_of(key, known).state.name.lower().replace("_", " "),
        "-" if event is None else name_of(event),
        f"{len(known.copy.body):,}" if known.copy else "-",
        distance(known.copy.fetched_at) if known.copy else "never",
        safe(key.requester),
    )


def _place(key: Key) -> str:
    """The origin of a robots.txt, or the URI of another file."""
    return str(key.origin) if key.path == ROBOTS_TXT_PATH else safe(key.uri)


def _key_words(key: Key) -> str:
    """An origin, and the identity that fetched its file."""
    return f"{_place(key)} (fetched as {safe(key.requester)})" if key.requester else _place(key)


def _show(stored: ProjectStore, keys: list[Key], call: Call) -> int:
    if call.options.body:
        keys = [key for key in keys if key.path == ROBOTS_TXT_PATH]
    for entry in stored.entries(keys):
        if call.options.body:
            call.terminal.octets(entry.known.copy.body if entry.known.copy else b"")
        else:
            call.line(call.paint(_place(key_of(entry.origin)), "bold"))
            call.lines(_words(entry, stored), "  ")
    return OK


def _words(entry: Entry, stored: ProjectStore) -> Iterator[str]:
    key, known = key_of(entry.origin), entry.known
    stands = stored.standing_of(key, known)
    yield f"state: {stands.state.name.lower().replace('_', ' ')}: {stands.state.value}"
    if key.path == ROBOTS_TXT_PATH:
        meaning = stands.meaning.value if stands.meaning else "none until it is fetched again"
        yield f"means: {meaning}{' (stale)' if stands.is_stale else ''}"
    yield f"fetched as: {safe(key.requester) or '-'}"
    if known.copy is not None:
        yield from _copy_words(known.copy, key)
    if known.outage is not None:
        yield from _outage_words(known.outage)


def _copy_words(copy: Copy, key: Key) -> Iterator[str]:
    yield f"answer: {name_of(copy.event)} ({access_result(copy.event).value})"
    yield from map("  {}".format, way_words(copy.steps, copy.hops))
    yield f"fetched: {when(copy.fetched_at)}"
    yield f"confirmed: {when(copy.confirmed_at)}"
    yield from map("  {}".format, way_words(copy.confirmed_by, ()))
    yield f"fresh until: {when(copy.fresh_until)}"
    yield f"file: {counted(len(copy.body), 'octet')}, {_content_words(copy.body, key)}"
    for name, value in copy.headers:
        yield f"header: {safe(name)}: {safe(value)}"


def _content_words(body: bytes, key: Key) -> str:
    if key.path != ROBOTS_TXT_PATH:
        tdm_file = part("tdmrep.json", nothing)
        if tdm_file is nothing:
            return "unread"
        return counted(len(tdm_file.of(body, key.uri).rules), "rule")
    file = parse(body, key.uri)
    sitemaps = counted(len(file.sitemaps), "sitemap")
    found = part("findings of files", nothing)(file)
    return sitemaps if found is None else f"{sitemaps}, {counted(len(found), 'finding')}"


def _outage_words(outage: Outage) -> Iterator[str]:
    yield f"outage: {name_of(outage.event)}, {outage.count} in a row since {when(outage.since)}"
    yield from map("  {}".format, way_words(outage.steps, outage.hops))
    yield f"last try: {when(outage.failed_at)}"
    yield f"next try: {when(outage.retry_at)}"


def _log(stored: ProjectStore, keys: list[Key], call: Call) -> int:
    found = {key: stored.versions(key) for key in keys if not is_watched(key)}
    for key, versions in found.items():
        if versions:
            call.line(call.paint(_key_words(key), "bold"))
            call.table([_VERSION_HEAD, *map(_version_row, versions)])
            call.line()
    if not any(found.values()):
        call.terminal.complain("no such entry is stored")
        return FOUND
    note = _history_note(stored, call)
    if note:
        call.terminal.complain(f"note: {note}")
    return OK


_VERSION_HEAD = ("from (UTC)", "last seen (UTC)", "answer", "octets", "sha256")


def _version_row(copy: Copy) -> tuple[str, ...]:
    """The time span in which a version was seen, and its digest."""
    digest = digest_of(copy.body)[:12] if copy.body else "-"
    octets, answer = f"{len(copy.body):,}", name_of(copy.event)
    return date(copy.fetched_at), date(copy.confirmed_at), answer, octets, digest


def _history_note(stored: ProjectStore, call: Call) -> str:
    """The reason why only the latest version is there."""
    if not isinstance(stored.store, Remembering):
        kind = type(stored.store).__qualname__
        method = "to keep more, implement scrapy_rep.cache.base.Remembering"
        return f"{kind} keeps only the latest version; {method}"
    if not call.ours.store_versions:
        return "REP_STORE_VERSIONS is 0, so new versions replace the old ones; set it to 10"
    if call.ours.redis_url and call.ours.store_path == IN_MEMORY:
        return (
            "Redis keeps only the latest version; with REP_STORE_PATH other than ':memory:', this "
            "machine keeps the versions that it sees"
        )
    return ""


def _purge(stored: ProjectStore, keys: list[Key], call: Call) -> int:
    if call.options.all and keys and not call.options.yes:
        entries = counted(len(keys), "entry", "entries")
        call.confirm(f"Delete {entries} from this project's store?")
    browsable = stored.browsable("purge")
    purged = [key for key in keys if browsable.forget(key).result()]
    for key in purged:
        call.line(f"purged {_key_words(key)}")
    if not purged:
        call.terminal.complain("no such version is stored")
    return OK if purged else FOUND


def _export(stored: ProjectStore, keys: list[Key], call: Call) -> int:
    status = FOUND
    for entry in stored.entries(keys):
        call.row(_as_dict(entry, stored))
        status = OK
    return status


def _as_dict(entry: Entry, stored: ProjectStore) -> dict[str, Any]:
    """An entry as JSON: the body as text, or in base64 if it is not UTF-8."""
    key, copy, outage = key_of(entry.origin), entry.known.copy, entry.known.outage
    stands = stored.standing_of(key, entry.known)
    return {
        "origin": str(key.origin),
        "user_agent": key.user_agent,
        "variant": key.variant,
        "path": key.path,
        "state": stands.state.name.lower(),
        "meaning": stands.meaning.value if stands.meaning else None,
        "is_stale": stands.is_stale,
        "copy": copy
        and {
            "event": name_of(copy.event),
            "hops": copy.hops,
            "steps": list(map(step_dict, copy.steps)),
            "confirmed_by": list(map(step_dict, copy.confirmed_by)),
            "headers": dict(copy.headers),
            "fetched_at": copy.fetched_at,
            "confirmed_at": copy.confirmed_at,
            "fresh_until": copy.fresh_until,
            **_body(copy.body),
        },
        "outage": outage
        and {
            "event": name_of(outage.event),
            "hops": outage.hops,
            "steps": list(map(step_dict, outage.steps)),
            "since": outage.since,
            "failed_at": outage.failed_at,
            "count": outage.count,
            "retry_at": outage.retry_at,
        },
    }


def _body(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}


def _refresh(named: list[Origin], call: Call) -> int:
    """Fetch again; a failure is stored as an outage next to the copy."""
    for origin, answer, _ in refreshed(named, call):
        call.line(f"{origin}: {answer_words(answer)}")
        if answer.access_result is AccessResult.UNREACHABLE:
            call.end_with(UNREACHABLE)
    return OK


_DO = {"list": _list, "show": _show, "log": _log, "purge": _purge, "export": _export}
