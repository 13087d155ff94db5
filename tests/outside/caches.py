"""The suite http-tests/cache-tests: when a cache may use an answer, and what a 304 changes.

A case is a row of requests with the answers of a server. Each request is ours for a robots.txt,
at an instant that we choose: `answered` says which requests the knowledge of an origin answers, and
with which header fields. Left out are cases on other requests, for shared caches, on fields that a
proxy adds, and those of the kind "check", which have no right answer.

The files of the suite are modules of JavaScript, which Node.js reads.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

from scrapy_rep.protocol.access.events import NOT_MODIFIED
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge
from scrapy_rep.protocol.access.lifetime import Limits
from scrapy_rep.protocol.access.states import Act, PolicyOptions, learn, standing
from tests.outside import Case, Checkout

# As HTTP has it: no shortest lifetime, and no longest one. Without a field that says how long an
# answer is fresh, it is fresh for a day (RFC 9309, 2.4).
_OPTIONS = PolicyOptions(limits=Limits(min_seconds=0, headers_max_seconds=1e12))
_START = 1_795_882_000.0
_PAUSE_SECONDS = {False: 1.0, True: 3.0}
_DATED = {"date", "expires", "last-modified"}
_OF_REQUESTS = ("request_method", "request_headers", "request_body", "query_arg", "filename")
_LEFT_OUT = {"disconnect", "interim_responses", "expected_request_headers", "magic_ims"}
_READ = "import(process.argv[1]).then(m => console.log(JSON.stringify(m.default)))"


def cases(checkout: Checkout) -> Iterator[Case]:
    """The cases on one and the same request, made again and again by a private cache."""
    for group in _groups(checkout):
        for test in group["tests"]:
            is_right = test.get("kind") != "check"
            is_private = not (test.get("browser_skip") or test.get("cdn_only"))
            requests = test["requests"]
            if is_right and is_private and _is_ours(requests):
                yield Case(test["id"], requests, [_expected(request) for request in requests])


def _is_ours(requests: list[dict[str, Any]]) -> bool:
    """Whether all requests are the same, and nothing is compared that only a proxy adds."""
    first = requests[0]
    return all(
        all(request.get(key) == first.get(key) for key in _OF_REQUESTS)
        and not _LEFT_OUT & set(request)
        and all(
            len(one) == len(("name", "value")) and isinstance(one[1], str)
            for one in request.get("expected_response_headers", [])
        )
        for request in requests
    )


def answered(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each request, where its answer came from, and the fields with which it came."""
    known, now, told = Knowledge(), _START, []
    for request in requests:
        expected = _expected(request)
        source = "cached"
        if known.outage or standing(known, now, _OPTIONS).act is Act.FETCH:
            validators = known.copy.validators if known.copy else {}
            is_confirmed = bool(validators) and expected["from"] == "validated"
            source = "validated" if is_confirmed else "not_cached"
            status = NOT_MODIFIED if is_confirmed else request.get("response_status", [200])[0]
            came = Answer(status, headers=_fields(request, now), confirms=bool(validators))
            known = learn(known, came, now, _OPTIONS.limits)
        fields = dict(known.copy.headers) if known.copy else {}
        told.append(
            {
                "from": source if expected["from"] else None,
                "fields": {name: fields.get(name) for name in expected["fields"]},
            }
        )
        now += _PAUSE_SECONDS[bool(request.get("pause_after"))]
    return told


def _expected(request: dict[str, Any]) -> dict[str, Any]:
    source = request.get("expected_type")
    present = {name.lower(): value for name, value in request.get("expected_response_headers", [])}
    missing = request.get("expected_response_headers_missing", [])
    return {
        "from": "validated" if source in ("etag_validated", "lm_validated") else source,
        "fields": {**present, **{name: None for name in missing if isinstance(name, str)}},
    }


def _fields(request: dict[str, Any], now: float) -> dict[str, str]:
    """The header fields of the server's answer; dates are in seconds from now."""
    found: dict[str, str] = {}
    for name, value, *_ in request.get("response_headers", []):
        is_date = name.lower() in _DATED and isinstance(value, int)
        text = formatdate(now + value, usegmt=True) if is_date else str(value)
        found[name.lower()] = ", ".join(filter(None, (found.get(name.lower()), text)))
    return found


def _groups(checkout: Checkout) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for path in checkout.paths("tests"):
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(checkout.read(path))
        command = ["node", "-e", _READ, str(Path(folder, "tests/index.mjs"))]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    groups: list[dict[str, Any]] = json.loads(done.stdout)
    return groups
