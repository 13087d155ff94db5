"""``scrapy rep identity check``: would a verifier accept the files that an operator publishes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scrapy_rep.commands.inputs import origin_of
from scrapy_rep.commands.running import FOUND, UNREACHABLE, Call, CommandError
from scrapy_rep.extras.identity.card import Profile, card_problems, key_set_problems, keys_by_id
from scrapy_rep.extras.identity.keys import KeyPair
from scrapy_rep.extras.identity.signatures import (
    DIRECTORIES,
    DIRECTORY_TYPE,
    Message,
    is_digest_of,
    signatures_in,
    texts_of,
)
from scrapy_rep.protocol.access.events import AccessResult, name_of
from scrapy_rep.protocol.access.origin import DIRECTORY_PATH
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS

from .identity_verify import refusal_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.protocol.access.knowledge import Answer

_NOT_FOUND = (404, 410)
_AS_IT_IS: dict[str, object] = {
    "dont_obey_robotstxt": True,
    "download_maxsize": PARSE_LIMIT_OCTETS,
    **dict.fromkeys(("dont_redirect", "dont_cache", "handle_httpstatus_all"), True),
}
"""The meta of a request: verifiers follow no redirect, and these files are the operator's own."""


def check(call: Call, profile: Profile, card_url: str) -> int:
    """Fetch the files, and show a line for each promise that they keep or break."""
    directory, card, robots = _fetched(call, profile, card_url)
    key = KeyPair.read(call.ours.sign_key) if call.ours.sign_key else None
    keyid = key.signing.keyid if key else ""
    is_optional = not call.options.url
    findings = {
        f"directory {profile.directory_url}": _of_directory(directory, profile, keyid),
        f"card {card_url}": _of_card(card, card_url, profile, is_optional=is_optional),
        "robots.txt": _of_robots(robots, profile.directory_url),
        "settings": _of_settings(call, profile, keyid),
    }
    status = 0
    for subject, problems in findings.items():
        found = list(problems)
        wrong = [words for words in found if not words.startswith("note: ")]
        call.line(
            f"{call.paint('wrong' if wrong else 'right', 'red' if wrong else 'green')}  {subject}"
        )
        call.lines(found, "  ")
        status = FOUND if wrong else status
    is_down = isinstance(directory, CommandError)
    return UNREACHABLE if is_down else status


def _fetched(call: Call, profile: Profile, card_url: str) -> tuple[Any, Any, Answer]:
    """The answers to directory and card, or why there is no answer, and the robots.txt."""
    from scrapy import Request

    from scrapy_rep.commands.engine_work import answer_now, answer_to, in_engine

    async def get(url: str, crawler: Crawler) -> Response | CommandError:
        try:
            return await answer_to(Request(url, meta=dict(_AS_IT_IS)), crawler)
        except CommandError as error:
            return error

    async def work(crawler: Crawler) -> tuple[Any, Any, Answer]:
        robots = await answer_now(crawler, origin_of(profile.agent))
        return await get(profile.directory_url, crawler), await get(card_url, crawler), robots

    call.set(DOWNLOAD_VERIFY_CERTIFICATES=True)
    return in_engine(call, work)


def _json(answer: Any, type_: str) -> tuple[Any, list[str]]:
    """The JSON of an answer, and why a verifier would refuse the answer."""
    if isinstance(answer, CommandError):
        return None, [str(answer)]
    location = (answer.headers.get("Location") or b"").decode("latin-1")
    if answer.status != 200:  # noqa: PLR2004 - no other status will do
        at = f", a redirect to {location}: verifiers follow none" if location else ""
        return None, [f"the status is {answer.status}{at}; serve it with 200"]
    served = (answer.headers.get("Content-Type") or b"").decode("latin-1").partition(";")[0]
    problems = (
        []
        if served.strip().lower() == type_
        else [f"the media type is {served or 'missing'}; set Content-Type: {type_}"]
    )
    try:
        return json.loads(answer.body), problems
    except (ValueError, RecursionError):
        return None, [*problems, "the body is not JSON"]


def _of_directory(answer: Any, profile: Profile, keyid: str) -> Iterator[str]:
    keys, problems = _json(answer, DIRECTORY_TYPE)
    yield from problems
    if keys is None:
        return
    yield from key_set_problems(keys)
    if keyid and keyid not in keys_by_id(keys):
        yield f"the key {keyid} of REP_SIGN_KEY is missing; publish 'scrapy rep identity directory'"
    if not answer.headers.get("Cache-Control"):
        yield "note: it has no Cache-Control; set Cache-Control: max-age=3600"
    if not answer.headers.get("Signature"):
        yield "note: it is not signed, which the draft recommends; see identity directory --sign"
        return
    headers = texts_of(answer.headers)
    message = Message("GET", profile.directory_url, headers, is_response=True)
    signatures = signatures_in(message)
    if not signatures:
        yield "it has a Signature, but no Signature-Input with components"
    for label, signed in signatures.items():
        refusal = refusal_of(signed, keys_by_id(keys), DIRECTORIES, time.time())
        if refusal:
            yield f"its signature {label} does not verify: {refusal}; see identity directory --sign"
    if not is_digest_of(answer.body, headers.get("content-digest", "")):
        yield "its Content-Digest is not that of its octets; see identity directory --sign"


def _of_card(answer: Any, url: str, profile: Profile, *, is_optional: bool) -> Iterator[str]:
    if is_optional and getattr(answer, "status", 0) in _NOT_FOUND:
        yield "note: there is no card, and none is needed; --url names another place"
        return
    card, problems = _json(answer, "application/json")
    yield from problems
    if card is not None:
        yield from card_problems(card, url)
        if isinstance(card, dict):
            yield from profile.disagreements(card)


def _of_robots(answer: Answer, url: str) -> Iterator[str]:
    if answer.access_result is AccessResult.UNREACHABLE:
        yield f"it is unreachable ({name_of(answer.event)}): verifiers that obey it cannot begin"
    elif not parse(answer.body).verdict(url, ()).allowed:
        yield f"note: it disallows {url}: add 'Allow: {DIRECTORY_PATH}'"


def _of_settings(call: Call, profile: Profile, keyid: str) -> Iterator[str]:
    if not keyid:
        yield "note: REP_SIGN_KEY is not set, so the key of this project is not compared"
    elif call.ours.sign_agent.removesuffix(DIRECTORY_PATH) != profile.agent:
        yield f"REP_SIGN_AGENT is {call.ours.sign_agent}; set it to {profile.agent}"
    if profile.token.lower() not in profile.user_agent.lower():
        yield f"USER_AGENT {profile.user_agent!r} does not contain the token {profile.token!r}"
