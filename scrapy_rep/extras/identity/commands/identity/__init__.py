"""``scrapy rep identity``: the key of a crawler, the files that its operator publishes, checks."""

from __future__ import annotations

import json
import re
import time
from html import escape
from pkgutil import get_data

from scrapy_rep.commands.named_agents import project_identity
from scrapy_rep.commands.running import FOUND, OK, Call, CommandError, unreadable
from scrapy_rep.extras.identity.card import Profile, key_set
from scrapy_rep.extras.identity.keys import KeyPair
from scrapy_rep.extras.identity.signatures import DIRECTORY_TYPE, directory_fields
from scrapy_rep.protocol.access.origin import DIRECTORY_PATH
from scrapy_rep.protocol.units import DAY_SECONDS

from .identity_check import check
from .identity_verify import verify

CARD_PATH = "/bot.json"
"""Where a card is, by default."""

_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URI = re.compile(r"(?:https?://|mailto:)[^\s<>\"',;()]+")
_CACHE_SECONDS = 3600
_MOST_NAMES = {"keygen": 1, "directory": 2, "check": 1, "verify": 1}


def run(call: Call) -> int | None:
    """Run one of the actions."""
    names, action = call.options.names, call.options.action
    most = _MOST_NAMES.get(action, 0)
    if len(names) > most:
        raise CommandError(f"{action} takes {most or 'no'} names: {' '.join(names)}")
    if action in _DO:
        return _DO[action](call)
    profile = _profile(call, names[0] if names else call.ours.sign_agent)
    url = call.options.url or profile.agent + CARD_PATH
    if action == "check":
        return check(call, profile, url)
    if not profile.contacts:
        call.complain("note: no contact; set REP_REPORT_CONTACT = 'bot@bot.example', for example")
    if action == "page":
        call.line(_page(profile))
        return None
    call.complain("note: the card is a draft (draft-meunier-webbotauth-registry of 2026-08-20)")
    call.complain(f"note: serve it at {url} with the status 200 and the type application/json")
    call.line(json.dumps(profile.card(url), indent=2))
    return None


def _profile(call: Call, agent: str) -> Profile:
    """The facts of this project's settings."""
    from scrapy_rep.extras.identity.agent_origin import sign_agent  # loads Scrapy

    try:
        origin = sign_agent(agent).removesuffix(DIRECTORY_PATH)
    except ValueError as error:
        raise CommandError(f"{agent!r} {error}") from None
    if not origin:
        raise CommandError("set REP_SIGN_AGENT to the https origin that publishes your key")
    identity = project_identity(call)
    if not identity.tokens:
        raise CommandError("set USER_AGENT to 'YourBot/1.0 (+URL)': it names no crawler")
    contact = call.ours.report_contact
    found = (*_URI.findall(contact), *(f"mailto:{mail}" for mail in _MAIL.findall(contact)))
    return Profile(
        agent=origin,
        name=identity.tokens[0],
        token=identity.tokens[0],
        user_agent=identity.header,
        purpose=", ".join(call.ours.uses),
        contacts=tuple(dict.fromkeys(found)),
        is_compliant=call.settings.getbool("ROBOTSTXT_OBEY"),
    )


def _keygen(call: Call) -> int:
    if not call.options.names:
        raise CommandError("keygen needs the name of a new file, such as bot.pem")
    path = call.options.names[0]
    try:
        pair = KeyPair.create(path)
    except FileExistsError:
        call.complain(f"{path} exists, and is not overwritten: give a new name")
        return FOUND
    except OSError as error:
        raise unreadable(path, error) from error
    call.line(pair.signing.keyid)
    call.complain(f"{path} has the private key: keep it secret, and set REP_SIGN_KEY to its path")
    return OK


def _directory(call: Call) -> int:
    """Write the body to standard output, and the header fields to standard error."""
    options = call.options
    paths = options.names or [call.ours.sign_key]
    if not all(paths):
        raise CommandError("give the PEM file of the key, or set REP_SIGN_KEY")
    pairs = [KeyPair.read(path) for path in paths]
    body = json.dumps(key_set(pair.jwk for pair in pairs), indent=2).encode() + b"\n"
    fields = {"Content-Type": DIRECTORY_TYPE, "Cache-Control": f"max-age={_CACHE_SECONDS}"}
    if options.sign:
        if options.days < 1:
            raise CommandError(f"--days {options.days}: give 1 or more")
        keys, seconds = (pair.signing for pair in pairs), int(options.days * DAY_SECONDS)
        try:
            fields |= directory_fields(body, options.sign, keys, time.time(), seconds)
        except ValueError as error:
            raise CommandError(f"--sign: {error}; give a host such as bot.example") from None
    call.terminal.complain(f"serve it at {DIRECTORY_PATH} with the status 200 and these fields:")
    for name, value in fields.items():
        call.terminal.complain(f"{name}: {value}")
    call.terminal.octets(body)
    return OK


def _page(profile: Profile) -> str:
    """The page that explains the crawler to owners of sites, in HTML."""
    obeys = "obeys robots.txt (RFC 9309). These lines keep it out of a site:"
    facts = {
        "name": profile.name,
        "user_agent": profile.user_agent,
        "purpose": profile.purpose or "not stated",
        "obeys": obeys if profile.is_compliant else "does not obey robots.txt.",
        "lines": f"User-agent: {profile.token}\nDisallow: /" * profile.is_compliant,
        "agent": profile.agent,
        "keys": profile.directory_url,
        "contacts": "\n".join(profile.contacts),
    }
    template = (get_data(__name__, "page.html") or b"").decode()
    return template.format_map({name: escape(fact) for name, fact in facts.items()})


_DO = {"keygen": _keygen, "directory": _directory, "verify": verify}
