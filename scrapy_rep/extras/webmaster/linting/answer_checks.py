"""Checks of the answer for a robots.txt: its status or failure, its redirects, its headers."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.effect.differences import TooMuchToCompare, differences
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.protocol.access.events import AccessResult, Failure, access_result, name_of
from scrapy_rep.protocol.access.knowledge import REMARK, Answer
from scrapy_rep.protocol.document import parse

_OK = 200
_SLOW_SECONDS = 5
_FAILURES = {
    Failure.TIMEOUT: Code.TIMEOUT,
    Failure.DNS: Code.DNS,
    Failure.TLS: Code.TLS,
    Failure.REDIRECT_LIMIT: Code.REDIRECT_DEAD_END,
    Failure.REDIRECT_LOOP: Code.REDIRECT_DEAD_END,
    Failure.REDIRECT_TARGET: Code.REDIRECT_DEAD_END,
    Failure.HTML: Code.HTML,
}
_PLAIN = "text/plain"


def answer_findings(answer: Answer) -> Iterator[Finding]:
    """Findings about an answer, without its body, which `lint` checks."""
    event = answer.event
    octets = name_of(event).encode()
    result = access_result(event)
    if isinstance(event, Failure):
        yield Finding(_FAILURES.get(event, Code.NETWORK), octets=octets)
    elif result is AccessResult.UNREACHABLE:
        yield Finding(Code.SERVER_ERROR, octets=octets)
    elif result is AccessResult.UNAVAILABLE:
        yield Finding(Code.CLIENT_ERROR, octets=octets)
    elif event != _OK:
        yield Finding(Code.ODD_STATUS, octets=octets)
    if result is AccessResult.SUCCESSFUL:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_ftp = any(hop.lower().startswith("ftp:") for hop in answer.hops[-1:])
        if kind != _PLAIN and not is_ftp:  # FTP has no media types
            yield Finding(Code.MEDIA_TYPE, octets=kind.encode() or b"(none)")
        if REMARK in answer.headers:
            yield Finding(Code.ODD_CODING, octets=answer.headers[REMARK].encode())
    if answer.took_seconds is not None and answer.took_seconds > _SLOW_SECONDS:
        yield Finding(Code.SLOW_ANSWER, detail=f"{answer.took_seconds:.1f} s")
    if len(answer.hops) > 1:
        is_one = len({urlsplit(hop).hostname for hop in answer.hops}) == 1
        code = Code.REDIRECT if is_one else Code.REDIRECT_CROSS_HOST
        yield Finding(code, octets=" -> ".join(answer.hops).encode())


def scheme_findings(answer: Answer, twin: Answer) -> Iterator[Finding]:
    """Findings about different effects of the files of http and https on the same host.

    Only files are compared; a file that redirects to the other one is the same. If the comparison
    would be too much work, a finding says so.
    """
    is_file = all(each.access_result is AccessResult.SUCCESSFUL for each in (answer, twin))
    if not is_file or answer.hops[-1:] == twin.hops[-1:]:
        return
    one, other = parse(answer.body), parse(twin.body)
    where = " and ".join(each.hops[0] for each in (answer, twin) if each.hops)
    try:
        difference = next(differences(one, other), None)
    except TooMuchToCompare as error:
        yield Finding(Code.EFFECT_NOT_CHECKED, octets=where.encode(), detail=str(error))
        return
    if difference is not None:
        detail = f"such as {difference.path} for {difference.agent}"
        yield Finding(Code.SCHEMES_DIFFER, octets=where.encode(), detail=detail)
