"""``scrapy rep cache``: shows and deletes entries of the store."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from .running import FOUND, OK, UNREACHABLE, CommandError
from .sources import is_url, origin_of
from .terminal import in_columns, width_of

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.base import Browsable, Store
    from scrapy_rep.cache.entry import Key
    from scrapy_rep.protocol.access.origin import Origin

    from .terminal import Terminal

SUMMARY = "look into the store of answers"
DESCRIPTION = """\
Show, delete, refresh or export the answers that this project's crawls have stored (REP_STORE,
REP_STORE_PATH, REP_REDIS_URL). An origin is a URL, or a host, which stands for https://host.
Answers to different User-Agents, or to another REP_FETCH_META, are stored apart."""
EXAMPLES = """\
examples:
  scrapy rep cache list
  scrapy rep cache show https://example.com
  scrapy rep cache log example.com
  scrapy rep cache purge example.com
  scrapy rep cache purge --all --user-agent OldBot --yes
  scrapy rep cache refresh --all
  scrapy rep cache export > answers.jsonl

exit status: 0 done; 1 there is nothing to show or to delete; 2 wrong usage; 3 a refreshed site, or
the store in Redis, is unreachable"""

_ACTIONS = {
    "list": "the origins and their states",
    "show": "all that is stored of some origins",
    "log": "the versions of some origins' files, the newest first (REP_STORE_VERSIONS)",
    "purge": "delete the entries of some origins",
    "refresh": "fetch the files of some origins again",
    "export": "write entries as JSON lines",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    actions = "; ".join(f"{name}: {what}" for name, what in _ACTIONS.items())
    parser.add_argument("action", choices=_ACTIONS, metavar="ACTION", help=actions)
    parser.add_argument(
        "origins", nargs="*", metavar="ORIGIN", help="by default all, for list and export"
    )
    parser.add_argument("--all", action="store_true", help="all origins, for purge and refresh")
    parser.add_argument(
        "--user-agent",
        metavar="TEXT",
        help="only entries fetched with a User-Agent that holds this",
    )
    parser.add_argument("--yes", action="store_true", help="with purge --all: do not ask")
    parser.add_argument(
        "--body", action="store_true", help="with show: only the octets of the robots.txt"
    )


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Do one of the actions."""
    named = [origin_of(text if is_url(text) else f"https://{text}") for text in options.origins]
    if named and options.all:
        raise CommandError("give origins or --all, not both")
    if options.action in ("show", "log", "purge", "refresh") and not named and not options.all:
        raise CommandError(f"{options.action} what? Name origins, or give --all")
    if options.action == "refresh":
        if options.user_agent is not None:
            raise CommandError(
                "refresh fetches as this project does: set USER_AGENT with -s instead"
            )
        return _refresh(named, settings, terminal)
    from .kept import kept_store

    with kept_store(settings) as store:
        keys = _keys(store, named, options, settings)
        do: Callable[..., int] = {
            "list": _list,
            "show": _show,
            "log": _log,
            "purge": _purge,
            "export": _export,
        }[options.action]
        return do(store, keys, options, settings, terminal)


def _keys(
    store: Store, named: list[Origin], options: argparse.Namespace, settings: Settings
) -> list[Key]:
    """The keys to act on; a store that cannot list has those of this project's crawls."""
    from scrapy_rep.cache.base import Browsable

    from .kept import asker_of, keys_in

    if named and options.action in ("show", "log") and not isinstance(store, Browsable):
        return list(map(asker_of(settings).key, named))
    return keys_in(_browsable(store, options.action), named, options.user_agent)


def _browsable(store: Store, action: str) -> Browsable:
    """The store, if it can list its entries.

    Raises:
        CommandError: it cannot.
    """
    from scrapy_rep.cache.base import Browsable

    if not isinstance(store, Browsable):
        kind = type(store)
        raise CommandError(
            f"{action}: {kind.__module__}.{kind.__qualname__} cannot list or forget its entries; "
            "give it the methods of scrapy_rep.cache.base.Browsable (show works with origins "
            "that you name)"
        )
    return store


def _list(
    store: Store,
    keys: list[Key],
    options: argparse.Namespace,  # noqa: ARG001
    settings: Settings,
    terminal: Terminal,
) -> int:
    from .entries import row_of
    from .kept import entries_of

    found = (row_of(entry, settings) for entry in entries_of(store, keys))
    rows = [row for row in found if row is not None]
    if not rows:
        terminal.complain("nothing is stored")
        return FOUND
    _write_list([("origin", "state", "answer", "octets", "fetched", "as"), *rows], terminal)
    return OK


def _write_list(rows: list[tuple[str, ...]], terminal: Terminal) -> None:
    """The table; where a terminal would cut its last column, that holds numbers, told below."""
    if terminal.columns is None or max(map(width_of, in_columns(rows))) <= terminal.columns:
        terminal.table(rows)
        return
    head, *others = rows
    askers = dict.fromkeys(row[-1] for row in others)
    numbers = {asker: str(number) for number, asker in enumerate(askers, 1)}
    terminal.table([head, *((*row[:-1], numbers[row[-1]]) for row in others)])
    for asker, number in numbers.items():
        terminal.line(terminal.wrapped(f"as {number}: {asker}"))


def _show(
    store: Store,
    keys: list[Key],
    options: argparse.Namespace,
    settings: Settings,
    terminal: Terminal,
) -> int:
    from scrapy_rep.cache.entry import key_of
    from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH

    from .entries import place_of, words_of
    from .kept import entries_of

    if options.body:
        keys = [key for key in keys if key.path == ROBOTS_TXT_PATH]
    entries = list(entries_of(store, keys))
    found = {str(key_of(entry.origin).origin) for entry in entries}
    named = [
        str(origin_of(text if is_url(text) else f"https://{text}")) for text in options.origins
    ]
    missing = [origin for origin in dict.fromkeys(named) if origin not in found]
    for origin in missing:
        terminal.complain(f"nothing is stored of {origin}")
    for entry in entries:
        if options.body:
            terminal.octets(entry.known.copy.body if entry.known.copy else b"")
        else:
            terminal.line(terminal.paint(place_of(key_of(entry.origin)), "bold"))
            for text in words_of(entry, settings):
                terminal.line(f"  {text}")
    return FOUND if missing else OK


def _log(
    store: Store,
    keys: list[Key],
    options: argparse.Namespace,  # noqa: ARG001
    settings: Settings,
    terminal: Terminal,
) -> int:
    from .entries import key_words, version_rows
    from .kept import versions_of
    from .watching import is_watched

    is_empty = True
    for key in keys:
        versions = [] if is_watched(key) else versions_of(store, key)
        if versions:
            is_empty = False
            terminal.line(terminal.paint(key_words(key), "bold"))
            terminal.table(version_rows(versions))
            terminal.line()
    if is_empty:
        terminal.complain("nothing is stored of that")
        return FOUND
    _tell_history(store, settings, terminal)
    return OK


def _tell_history(store: Store, settings: Settings, terminal: Terminal) -> None:
    """Say why there is nothing but the latest version."""
    from scrapy_rep.cache.base import Remembering
    from scrapy_rep.settings import RepSettings

    ours = RepSettings.of(settings)
    if not isinstance(store, Remembering):
        terminal.complain(
            f"note: {type(store).__qualname__} keeps only the latest version; give it the method "
            "of scrapy_rep.cache.base.Remembering"
        )
    elif not ours.store_versions:
        terminal.complain(
            "note: REP_STORE_VERSIONS is 0, so new versions replace the old ones; set it to 10, say"
        )
    elif ours.redis_url and ours.store_local != "sqlite":
        terminal.complain(
            "note: Redis keeps only the latest version; with REP_STORE_LOCAL = 'sqlite', this "
            "machine keeps those that it sees"
        )


def _purge(
    store: Store,
    keys: list[Key],
    options: argparse.Namespace,
    settings: Settings,  # noqa: ARG001
    terminal: Terminal,
) -> int:
    from .entries import key_words

    if options.all and keys and not options.yes:
        _confirm(len(keys), terminal)
    browsable = _browsable(store, "purge")
    purged = [key for key in keys if browsable.forget(key).result()]
    for key in purged:
        terminal.line(f"purged {key_words(key)}")
    if not purged:
        terminal.complain("nothing is stored of that")
    return OK if purged else FOUND


def _confirm(count: int, terminal: Terminal) -> None:
    """Go on only if the user confirms at the terminal.

    Raises:
        CommandError: the user does not, or there is no terminal.
    """
    from .terminal import count_of

    what = count_of(count, "entry", "entries")
    answer = terminal.ask(f"Delete {what} from this project's store? [y/N] ")
    if answer is None:
        raise CommandError(
            f"purge --all would delete {what}, and there is no terminal to confirm at; give --yes"
        )
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("nothing is deleted")


def _export(
    store: Store,
    keys: list[Key],
    options: argparse.Namespace,  # noqa: ARG001
    settings: Settings,
    terminal: Terminal,
) -> int:
    import json

    from .entries import as_dict
    from .kept import entries_of

    status = FOUND
    for entry in entries_of(store, keys):
        terminal.line(json.dumps(as_dict(entry, settings)))
        status = OK
    return status


def _refresh(named: list[Origin], settings: Settings, terminal: Terminal) -> int:
    """Fetch again; a failure is stored as an outage beside the copy."""
    from .refreshing import refresh

    status = OK
    for origin, word, is_down in refresh(named, settings):
        terminal.line(f"{origin}: {word}")
        status = UNREACHABLE if is_down else status
    return status
