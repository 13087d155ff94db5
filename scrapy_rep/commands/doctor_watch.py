"""Watches what the project's downloader middlewares do to the request for a robots.txt."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import unwrap
from pkgutil import get_data
from typing import Any, NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name
from twisted.internet.defer import CancelledError

from scrapy_rep.engine.components import middleware_orders
from scrapy_rep.engine.transfer import MARK, is_own
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.protocol.page_source import text_in_page
from scrapy_rep.protocol.units import counted

_SPARE = f"let {{}} return {{}} at once if {MARK!r} is in request.meta"


class Diagnosis(NamedTuple):
    """A line of the output.

    Attributes:
        name: stays the same in later versions.
        severity: ok, note, warning or error.
        topic: the part of the project.
        text: the fact.
        fix: the setting or the change of code that changes it; may be empty.
    """

    name: str
    severity: str
    topic: str
    text: str
    fix: str


@cache
def rows() -> dict[str, list[str]]:
    """The rows of the table of findings, by their first cell."""
    text = (get_data(__name__, "doctor_findings.txt") or b"").decode()
    lines = (line.split("|") for line in text.splitlines() if line and not line.startswith("#"))
    return {cells[0].strip(): [cell.strip() for cell in cells] for cells in lines}


def diagnosis(name: str, **facts: Any) -> Diagnosis:
    """The finding with a name, with facts in its words."""
    return Diagnosis(*(cell.format_map(facts) for cell in rows()[name]))


@dataclass(frozen=True)
class _Method:
    """A method of a middleware of the project."""

    owner: type
    name: str
    code: Any

    @classmethod
    def of(cls, method: Any) -> _Method | None:
        """The method; None if it belongs to Scrapy or to this package."""
        inner = getattr(method, "__wrapped__", None)  # in our hook around the first or last method
        owner = getattr(method, "__self__", getattr(inner, "__self__", None))
        if type(owner).__module__.partition(".")[0] in ("builtins", "scrapy", "scrapy_rep"):
            return None
        return cls(type(owner), method.__name__, getattr(unwrap(method), "__code__", None))

    def __str__(self) -> str:
        return f"{global_object_name(self.owner)}.{self.name}"

    def place(self, error: BaseException | None = None) -> str:
        """The file and the line of the method, or those of an error in it."""
        file = getattr(self.code, "co_filename", "?")
        line = getattr(self.code, "co_firstlineno", 0)
        frames = [] if error is None else traceback.extract_tb(error.__traceback__)
        for frame in [one for one in frames if one.filename == file] or frames:
            file, line = frame.filename, frame.lineno or 0  # the last one counts
        return f"{file.removeprefix(os.getcwd() + os.sep)}:{line}"


class Watch:
    """The findings on the middlewares, and the request that left them.

    Attributes:
        findings: so far.
        watched: the names of the middlewares that are watched.
        under_way: the methods that have not returned.
        setters: the methods that set a header field or a meta key, by its name.
        sent: the first request for a robots.txt as it came to the downloader; None before.
        status: the status of the last answer that the downloader got; None without one.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Take the crawl."""
        self.findings: list[Diagnosis] = []
        self.watched: set[str] = set()
        self.under_way: list[_Method] = []
        self.setters: dict[str, _Method] = {}
        self.sent: Request | None = None
        self.status: int | None = None
        self._orders = middleware_orders(crawler.settings)

    def reached(self, request: Request) -> None:
        """Note a request that came to the downloader."""
        self.sent = self.sent or request

    def came(self, response: Response) -> None:
        """Note an answer that the downloader got."""
        self.status = response.status

    def wrap(self, method: Any, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """A method that does the same, and notes its effect on requests for a robots.txt."""
        own = _Method.of(method)
        if own is None:
            return None
        self.watched.add(global_object_name(own.owner))

        async def watched(**given: Any) -> Any:
            request: Request = given["request"]
            if not is_own(request):
                return await ensure_awaitable(call(**given))
            before = request.copy()
            self.under_way.append(own)
            try:
                found = await ensure_awaitable(call(**given))
            except (asyncio.CancelledError, CancelledError):
                self._note("hangs", own)
                raise
            except Exception as error:
                if error is not given.get("exception"):
                    self._raised(own, request, error)
                raise
            finally:
                self.under_way.remove(own)
            self._returned(own, given.get("response"), found)
            self._compare(own, before, found if isinstance(found, Request) else request)
            return found

        return watched

    def give_up(self) -> None:
        """Note the methods that have not returned."""
        for own in self.under_way:
            self._note("hangs", own)

    def _note(self, name: str, own: _Method, **facts: Any) -> None:
        is_of_answer = own.name == "process_response"
        spare = _SPARE.format(own.name, "the response" if is_of_answer else "None")
        noted = diagnosis(name, **{"own": own, "at": own.place(), "spare": spare, **facts})
        if noted not in self.findings:
            self.findings.append(noted)

    def _raised(self, own: _Method, request: Request, error: Exception) -> None:
        name, key = "drops" if isinstance(error, IgnoreRequest) else "breaks", ""
        if isinstance(error, KeyError) and error.args and error.args[0] not in request.meta:
            name, key = "breaks-key", error.args[0]
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        self._note(name, own, error=what, at=own.place(error), key=key)

    def _returned(self, own: _Method, came: Response | None, found: Any) -> None:
        """Note an unusual result of a method."""
        is_of_answer, is_of_request = came is not None, own.name == "process_request"
        if not isinstance(found, Request | Response) and (is_of_answer or found is not None):
            wanted = "a Response or a Request" if is_of_answer else "None, a Response or a Request"
            self._note("wrong-value", own, kind=type(found).__name__, wanted=wanted)
        elif isinstance(found, Request) and not is_of_request:
            self._note("repeats", own)
        elif isinstance(found, Response) and found is not came:
            kind = f"{type(found).__name__}{' from a cache' * ('cached' in found.flags)}"
            facts = f"{found.status}, {counted(len(found.body), 'octet')} and a {kind}"
            is_same = came is not None and (came.status, came.body) == (found.status, found.body)
            name = "replaces" if is_of_answer else "answers"
            if is_same and type(found) is type(came):
                return
            if is_same:
                name = "replaces-class"
            elif not is_of_answer and not is_of_request:
                name = "answers-failure"
            elif text_in_page(found.body) is not None:
                name += "-source"
            elif found.body.lstrip().startswith(b"<"):
                name += "-markup"
            self._note(name, own, facts=facts, kind=kind)
            order, first = self._orders.get(own.owner), self._orders.get(RepMiddleware) or 0
            if is_of_request and order is not None and order < first:
                orders = {"order": order, "first": first, "more": first + 1}
                self._note("answers-first", own, owner=global_object_name(own.owner), **orders)

    def _compare(self, own: _Method, before: Request, now: Request) -> None:
        """Note the effect of a method on the request."""
        if now.url != before.url:
            self._note("rewrites", own, old=before.url, new=now.url)
        if lost := sorted(key for key in before.meta if key not in now.meta):
            self._note("loses-meta", own, keys=", ".join(lost))
        old, new = ({**one.headers, **one.meta} for one in (before, now))
        changed = [key for key, value in new.items() if old.get(key) != value]
        names = [key.decode("latin-1") if isinstance(key, bytes) else str(key) for key in changed]
        if names:
            self.setters |= dict.fromkeys(names, own)
            self._note("changes", own, keys=", ".join(names))
