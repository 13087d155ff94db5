"""The table of faults, written out by hand: what goes wrong, and what then holds.

There are three pages, and four outcomes that differ: the file that is served disallows `/new`, the
copy that is kept disallows `/old`, and no file disallows `/free`.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.faults.sites import Plan
from tests.servers.answers import Answer, ContentEncoding, Sequence, redirect

PAGES = ("/new", "/old", "/free")
SERVED = "User-agent: *\nDisallow: /new\n"
KEPT = b"User-agent: *\nDisallow: /old\n"
KEPT_ETAG = '"kept"'

OUTCOMES = {
    "served": {"/old", "/free"},
    "kept": {"/new", "/free"},
    "allow": {"/new", "/old", "/free"},
    "disallow": set[str](),
}
PRESETS = ("rfc9309", "google", "strict")
"""`tests/protocol/test_access.py` has the results of the other presets."""
STATES = ("never fetched", "stale copy")

# Kind of fault -> what holds with a file never fetched, and with a stale copy; by preset.
EXPECTED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    #         rfc9309     google      strict
    "file": (("served", "served", "served"), ("served", "served", "served")),
    "same": (("served", "served", "served"), ("kept", "kept", "kept")),
    "unasked": (("disallow", "disallow", "disallow"), ("kept", "kept", "kept")),
    "empty": (("allow", "allow", "allow"), ("allow", "allow", "allow")),
    "page": (("allow", "allow", "disallow"), ("allow", "allow", "disallow")),
    "page with rules": (("served", "served", "disallow"), ("served", "served", "disallow")),
    "gone": (("allow", "allow", "allow"), ("allow", "allow", "allow")),
    "guarded": (("allow", "allow", "disallow"), ("allow", "allow", "disallow")),
    "down": (("disallow", "disallow", "disallow"), ("kept", "disallow", "disallow")),
}


@dataclass(frozen=True)
class Fault:
    """A fault of a robots.txt: its kind, and the sites that have it.

    Attributes:
        kind: a row of EXPECTED.
        plan: the site; given a name by which a redirect finds its second site.
        other: the second site, if there is one.
    """

    kind: str
    plan: Callable[[str], Plan]
    other: Plan | None = None


def answers(kind: str, answer: Answer | Sequence) -> Fault:
    """A site with such a robots.txt."""
    return Fault(kind, lambda _: Plan({"/robots.txt": answer}))


def over_tls(kind: str, answer: Answer | Sequence) -> Fault:
    """The same, over TLS."""
    return Fault(kind, lambda _: Plan({"/robots.txt": answer}, tls=True))


def leads(kind: str, location: str, other: Plan) -> Fault:
    """A site with a robots.txt that is elsewhere."""
    return Fault(
        kind,
        lambda name: Plan({"/robots.txt": redirect(_located(location, name))}),
        other,
    )


def _located(location: str, name: str) -> str:
    location = location.replace("{other with credentials}", f"{{{name} with credentials}}")
    return location.replace("{other}", f"{{{name}}}")


def chain(kind: str, length: int) -> Fault:
    """A site that redirects so often, and then has a file."""
    routes: dict[str, Answer] = {"/robots.txt": redirect("/hop1")}
    routes |= {f"/hop{n}": redirect(f"/hop{n + 1}", 302 + n % 2 * 5) for n in range(1, length)}
    routes[f"/hop{length}"] = Answer(body=SERVED)
    return Fault(kind, lambda _: Plan(dict(routes)))


_FILE = Answer(body=SERVED)
_LENIENT_FILE = "User-agent: *\nAllow: /\n"
_LONG = _LENIENT_FILE + "# padding\n" * 200
_BOMB_OCTETS = 20_000_000
_CODINGS: tuple[ContentEncoding, ...] = ("gzip", "deflate", "br", "zstd")
_GZIPPED = gzip.compress(_LENIENT_FILE.encode() * 200)

_RESET = Answer(body=_LENIENT_FILE, fault="reset_open")
_CLOSED = Answer(fault="close_open")
_CUT = Answer(body=_LENIENT_FILE, fault="cut_open")
_LIKE_CHUNKS = [("Transfer-Encoding", "xchunked")]
_RANGE = "Content-Range"

# A body without a length that does not end in order, or is empty.
_BROKEN = {
    "reset after nothing": replace(_RESET, body=""),
    "reset amid the file": _RESET,
    "reset after the file": replace(_RESET, body=SERVED),
    "reset in HTTP/1.0": replace(_RESET, version="1.0"),
    "reset in HTTP/2.0 that is HTTP/1": replace(_RESET, version="2.0"),
    "reset in a coding like chunks": replace(_RESET, headers=_LIKE_CHUNKS),
    "reset in a coding behind an odd blank": replace(
        _RESET, headers=[("Transfer-Encoding", "\x0bchunked")]
    ),
    "closed after nothing": _CLOSED,
    "closed after nothing in a coding like chunks": replace(_CLOSED, headers=_LIKE_CHUNKS),
}
_BROKEN_TLS = {
    "TLS cut after nothing": replace(_CUT, body=""),
    "TLS cut amid the file": _CUT,
    "TLS cut after the file": replace(_CUT, body=SERVED),
    "TLS cut in HTTP/1.0": replace(_CUT, version="1.0"),
    "TLS cut in HTTP/2.0 that is HTTP/1": replace(_CUT, version="2.0"),
    "TLS reset amid the file": _RESET,
    "TLS closed after nothing": _CLOSED,
}
BROKEN = (*_BROKEN, *_BROKEN_TLS)
_PARTS = {
    "a part": Answer(headers=[(_RANGE, "bytes 0-21/40")], body=_LENIENT_FILE),
    "a part of who knows": Answer(headers=[(_RANGE, "bytes 0-21/*")], body=_LENIENT_FILE),
    "the end": Answer(headers=[(_RANGE, "bytes 22-39/40")], body="low: /\n"),
    "an odd range": Answer(headers=[(_RANGE, "lines 1-2/3")], body=_LENIENT_FILE),
    "parts": Answer(
        headers=[("Content-Type", "Multipart/ByteRanges; boundary=x")], body=_LENIENT_FILE
    ),
}

FAULTS: dict[str, Fault] = {
    "none": answers("file", _FILE),
    "none: slow, but in time": answers("file", Answer(body=SERVED, drip=(10, 0.05))),
    **{
        f"none: {coding}": answers("file", Answer(body=SERVED, content_encoding=coding))
        for coding in _CODINGS
    },
    "none: 206": answers("file", Answer(body=SERVED, status=206)),
    **{
        f"bomb: {coding}": answers(
            "file", Answer(body=SERVED, content_encoding=coding, bomb_octets=_BOMB_OCTETS)
        )
        for coding in _CODINGS
    },
    "endless": answers("file", Answer(body=SERVED, fault="endless")),
    "none: closed in order, without a length": answers(
        "file", Answer(body=SERVED, fault="close_open")
    ),
    "none: HTTP/1.0": answers("file", Answer(body=SERVED, fault="close_open", version="1.0")),
    "none: TLS closed in order, without a length": over_tls(
        "file", Answer(body=SERVED, fault="close_open")
    ),
    **{
        f"none: {name} for an encoding": answers(
            "file", Answer(body=SERVED, headers=[("Content-Encoding", value)])
        )
        for name, value in {
            "a charset": "utf-8",
            "a charset with its name": "charset=utf-8",
            "no coding": "aws-chunked",
            "an unknown name": "rot13",
        }.items()
    },
    "none: no coding beside gzip": answers(
        "file",
        Answer(
            body=gzip.compress(SERVED.encode()),
            headers=[("Content-Encoding", "aws-chunked,gzip;q=1.0")],
        ),
    ),
    "none: gzip, and a wrong length": answers(
        "file", Answer(body=SERVED, content_encoding="gzip", fault="truncated_length")
    ),
    "none: octets after the gzip file": answers(
        "file",
        Answer(body=gzip.compress(SERVED.encode()) + b"\n", headers=[("Content-Encoding", "gzip")]),
    ),
    **{
        f"none: {name}, which no header names": answers("file", Answer(body=body))
        for name, body in {
            "gzip": gzip.compress(SERVED.encode()),
            "gzip twice": gzip.compress(gzip.compress(SERVED.encode())),
            "UTF-32": SERVED.encode("utf-32"),
            "UTF-32, big-endian": f"\ufeff{SERVED}".encode("utf-32-be"),
            "UTF-32, and LF": SERVED.strip().encode("utf-32") + b"\n",
            "UTF-16, and LF": SERVED.strip().encode("utf-16") + b"\n",
        }.items()
    },
    "none: sent as HTML": answers(
        "file", Answer(body=SERVED, headers=[("Content-Type", "text/html")])
    ),
    "rules after markup": answers("page with rules", Answer(body=f"<html>\n<p>Welcome\n{SERVED}")),
    "five redirects": chain("file", 5),
    "redirect to another origin's robots.txt": leads(
        "file", "{other}/robots.txt", Plan({"/robots.txt": _FILE})
    ),
    "redirect with 300": Fault(
        "file", lambda _: Plan({"/robots.txt": redirect("/rules", 300), "/rules": _FILE})
    ),
    "redirect with credentials": leads(
        "file", "{other with credentials}/robots.txt", Plan({"/robots.txt": _FILE})
    ),
    "redirect to another path of another origin": leads(
        "file", "{other}/policy?a=b", Plan({"/policy?a=b": _FILE})
    ),
    "redirect to a wall of cookies": Fault(
        "file",
        lambda _: Plan(
            {"/robots.txt": redirect("/rules"), "/rules": Answer(body=SERVED, wall=("seen=1", ""))}
        ),
    ),
    "good, then 503": answers("file", Sequence([_FILE, Answer(status=503)], cycle=True)),
    "304 to the validators": answers("same", Answer(body=SERVED, etag=KEPT_ETAG)),
    "an empty file": answers("empty", Answer()),
    "204": answers("empty", Answer(status=204)),
    "text sent as HTML": answers(
        "page", Answer(body="No such page", headers=[("Content-Type", "text/html; charset=utf-8")])
    ),
    "nothing but markup": answers("page", Answer(body="<html><p>No such page</p></html>")),
    "404": answers("gone", Answer(status=404)),
    "404, reset": answers("gone", Answer(status=404, body="no", fault="reset_open")),
    "404 whose body disallows": answers(
        "gone", Answer(status=404, body="User-agent: *\nDisallow: /")
    ),
    "410": answers("gone", Answer(status=410)),
    "redirect to another origin's 404": leads(
        "gone", "{other}/robots.txt", Plan({"/robots.txt": Answer(status=404)})
    ),
    "401": answers("guarded", Answer(status=401)),
    "403": answers("guarded", Answer(status=403)),
    "six redirects": chain("guarded", 6),
    "redirect to itself": answers("guarded", redirect("/robots.txt")),
    "redirect in a circle": Fault(
        "guarded",
        lambda _: Plan({"/robots.txt": redirect("/a-hop"), "/a-hop": redirect("/robots.txt")}),
    ),
    "redirect to nowhere": answers("guarded", Answer(status=302)),
    "300 without a Location": answers("guarded", Answer(status=300, body=_LENIENT_FILE)),
    "redirect to a file": answers("guarded", redirect("file:///etc/hostname")),
    "redirect to data": answers("guarded", redirect("data:text/plain,User-agent:*%0AAllow:/")),
    "redirect to no URL": answers("guarded", redirect("http://[broken")),
    "429": answers("down", Answer(status=429, body=_LENIENT_FILE)),
    "429 with Retry-After": answers("down", Answer(status=429, headers=[("Retry-After", "1")])),
    "500": answers("down", Answer(status=500, body=_LENIENT_FILE)),
    "503": answers("down", Answer(status=503)),
    "503 with Retry-After": answers("down", Answer(status=503, headers=[("Retry-After", "9999")])),
    "604": answers("down", Answer(status=604, body=_LENIENT_FILE)),
    "304 whatever was asked": answers("unasked", Answer(status=304)),
    "503, then good": answers("down", Sequence([Answer(status=503), Answer(body=_LENIENT_FILE)])),
    "empty reply": answers("down", Answer(fault="close_before_answer")),
    "reset before the answer": answers("down", Answer(fault="reset_before_answer")),
    "reset in the headers": answers("down", Answer(fault="reset_in_headers")),
    "reset in the body": answers("down", Answer(body=_LONG, fault="reset_in_body")),
    **{name: answers("down", answer) for name, answer in _BROKEN.items()},
    **{name: over_tls("down", answer) for name, answer in _BROKEN_TLS.items()},
    **{name: answers("down", replace(answer, status=206)) for name, answer in _PARTS.items()},
    "endless headers": answers("down", Answer(body=_LENIENT_FILE, fault="header_flood")),
    "endless interim answers": answers("down", Answer(fault="informational_flood")),
    "endless chunk extensions": answers(
        "down", Answer(body=_LENIENT_FILE, fault="extension_flood")
    ),
    "headers slower than the timeout": answers("down", Answer(fault="slow_headers")),
    "wrong length": answers("down", Answer(body=_LONG, fault="truncated_length")),
    "chunks without an end": answers("down", Answer(body=_LONG, fault="truncated_chunked")),
    "a wrong chunk": answers("down", Answer(body=_LONG, fault="wrong_chunk")),
    "no HTTP": answers("down", Answer(body=_LENIENT_FILE, fault="garbage")),
    "no answer": answers("down", Answer(fault="hang")),
    "an answer after the timeout": answers("down", Answer(body=_LENIENT_FILE, delay_seconds=60)),
    "a body slower than the timeout": answers("down", Answer(body=_LONG, drip=(9, 1.0))),
    "gzip that is none": answers(
        "down", Answer(body=_LENIENT_FILE, headers=[("Content-Encoding", "gzip")])
    ),
    "gzip cut short": answers(
        "down",
        Answer(body=_GZIPPED[: len(_GZIPPED) // 2], headers=[("Content-Encoding", "gzip")]),
    ),
    "gzip cut short, which no header names": answers(
        "down", Answer(body=_GZIPPED[: len(_GZIPPED) // 2])
    ),
    "gzip cut short, and a wrong length": answers(
        "down",
        Answer(
            body=_GZIPPED[:-1], headers=[("Content-Encoding", "gzip")], fault="truncated_length"
        ),
    ),
    "an encoding that Python lacks": answers(
        "down", Answer(body=_LENIENT_FILE, headers=[("Content-Encoding", "compress")])
    ),
    "no coding, and no text": answers(
        "down", Answer(body=b"\x00" * 99, headers=[("Content-Encoding", "aws-chunked")])
    ),
    "refused": Fault("down", lambda _: Plan(is_open=False)),
    "no such host": Fault("down", lambda _: Plan(host="nobody.invalid")),
    "TLS with a server of plain HTTP": Fault(
        "down", lambda _: Plan(scheme="https", greets="HTTP/1.1 400 Bad Request\r\n\r\n")
    ),
    "redirect to another origin's 503": leads(
        "down", "{other}/robots.txt", Plan({"/robots.txt": Answer(status=503)})
    ),
    "redirect to where nobody listens": leads("down", "{other}/robots.txt", Plan(is_open=False)),
    "redirect that the guard refuses": Fault(
        "down", lambda _: Plan({"/robots.txt": redirect("http://localhost:9/robots.txt")})
    ),
}


def expected(fault: str, state: str, preset: str) -> str:
    """The outcome of a cell."""
    never_fetched, stale = EXPECTED[FAULTS[fault].kind]
    return (never_fetched if state == "never fetched" else stale)[PRESETS.index(preset)]


def is_failure(fault: str, state: str) -> bool:
    """Whether the robots.txt is unreachable."""
    kind = FAULTS[fault].kind
    return kind == "down" or (kind == "unasked" and state == "never fetched")
