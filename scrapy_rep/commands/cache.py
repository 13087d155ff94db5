"""``scrapy rep cache``: what is kept of origins, in words; and how to get rid of it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from .running import FOUND, OK, UNREACHABLE, CommandError
from .sources import is_url, origin_of

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.base import Browsable, Store
    from scrapy_rep.protocol.origin import Origin

    from .terminal import Terminal

SUMMARY = "look into the store of answers"
DESCRIPTION = """\
Show what this project's crawls keep of origins (REP_STORE, REP_STORE_PATH), throw it away, ask
again, or write it as JSON lines. An origin is a URL, or a host, which stands for https://host."""
EXAMPLES = """\
examples:
  scrapy rep cache list
  scrapy rep cache show https://example.com
  scrapy rep cache purge example.com
  scrapy rep cache refresh --all
  scrapy rep cache export > answers.jsonl

exit status: 0 done; 1 there is nothing to show or to throw away; 2 wrong usage; 3 a site that was
asked again is unreachable"""

_ACTIONS = {
    "list": "the origins, and how things stand with each",
    "show": "all that is known of some origins",
    "purge": "throw away what is known of some origins",
    "refresh": "ask some origins again, and keep what they answer",
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
    parser.add_argument("--body", action="store_true", help="with show: the file's octets alone")


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Do one of the actions."""
    named = [origin_of(text if is_url(text) else f"https://{text}") for text in options.origins]
    if named and options.all:
        raise CommandError("give origins or --all, not both")
    if options.action in ("show", "purge", "refresh") and not named and not options.all:
        raise CommandError(f"{options.action} what? Name origins, or give --all")
    if options.action == "refresh":
        return _refresh(named, settings, terminal)
    from .kept import kept_store

    with kept_store(settings) as store:
        origins = named or _browsable(store, options.action).origins()
        do: Callable[..., int] = {
            "list": _list,
            "show": _show,
            "purge": _purge,
            "export": _export,
        }[options.action]
        return do(store, origins, options, settings, terminal)


def _browsable(store: Store, action: str) -> Browsable:
    """The store, if it can say what it holds.

    Raises:
        CommandError: it can't.
    """
    from scrapy_rep.cache.base import Browsable

    if not isinstance(store, Browsable):
        kind = type(store)
        raise CommandError(
            f"{action}: {kind.__module__}.{kind.__qualname__} can't list or forget its entries; "
            "give it the methods of scrapy_rep.cache.base.Browsable (show works with origins "
            "that you name)"
        )
    return store


def _list(
    store: Store,
    origins: list[Origin],
    options: argparse.Namespace,  # noqa: ARG001
    settings: Settings,
    terminal: Terminal,
) -> int:
    from .entries import row_of

    rows = [row for origin in origins if (row := row_of(store.peek(origin), settings)) is not None]
    if not rows:
        terminal.complain("nothing is kept")
        return FOUND
    terminal.table([("origin", "state", "answer", "octets", "fetched"), *rows])
    return OK


def _show(
    store: Store,
    origins: list[Origin],
    options: argparse.Namespace,
    settings: Settings,
    terminal: Terminal,
) -> int:
    from .entries import words_of

    status = OK
    for origin in origins:
        entry = store.peek(origin)
        if entry is None:
            terminal.complain(f"nothing is kept of {origin}")
            status = FOUND
        elif options.body:
            terminal.octets(entry.known.copy.body if entry.known.copy else b"")
        else:
            terminal.line(terminal.paint(str(origin), "bold"))
            for text in words_of(entry, settings):
                terminal.line(f"  {text}")
    return status


def _purge(
    store: Store,
    origins: list[Origin],
    options: argparse.Namespace,  # noqa: ARG001
    settings: Settings,  # noqa: ARG001
    terminal: Terminal,
) -> int:
    browsable = _browsable(store, "purge")
    purged = [origin for origin in origins if browsable.forget(origin).result()]
    for origin in purged:
        terminal.line(f"purged {origin}")
    if not purged:
        terminal.complain("nothing is kept of that")
    return OK if purged else FOUND


def _export(
    store: Store,
    origins: list[Origin],
    options: argparse.Namespace,  # noqa: ARG001
    settings: Settings,
    terminal: Terminal,
) -> int:
    import json

    from .entries import as_dict

    entries = [entry for origin in origins if (entry := store.peek(origin)) is not None]
    for entry in entries:
        terminal.line(json.dumps(as_dict(entry, settings)))
    return OK if entries else FOUND


def _refresh(named: list[Origin], settings: Settings, terminal: Terminal) -> int:
    """Ask again; a failure is kept as an outage, beside the copy that there is."""
    from .refreshing import refresh

    status = OK
    for origin, word, is_down in refresh(named, settings):
        terminal.line(f"{origin}: {word}")
        status = UNREACHABLE if is_down else status
    return status
