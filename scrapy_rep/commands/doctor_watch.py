"""Watches what the project's downloader middlewares do to the request for a robots.txt."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from inspect import unwrap
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name
from twisted.internet.defer import CancelledError

from scrapy_rep.engine.components import middleware_orders
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.protocol.paths import is_robots_txt

OK, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"

_SPARE = "let {0} return {1} at once if request.callback is scrapy.http.request.NO_CALLBACK"
_SERVICE = (
    "if the new URL is that of a service, see 'Services that fetch pages' in the documentation"
)


@dataclass(frozen=True)
class Finding:
    """A line of the output.

    Attributes:
        severity: ok, note, warning or error.
        topic: the part of the project.
        text: the fact.
        fix: the setting or the change of code that changes it; may be empty.
    """

    severity: str
    topic: str
    text: str
    fix: str = ""

    def as_dict(self) -> dict[str, str]:
        """The same as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Method:
    """A method of a middleware of the project."""

    owner: type
    name: str
    code: Any

    @classmethod
    def of(cls, method: Any) -> _Method | None:
        """The method; None if it belongs to Scrapy or to this package."""
        owner = getattr(method, "__self__", None)
        if owner is None:  # one of our hooks around the first or the last method
            owner = getattr(getattr(method, "__wrapped__", None), "__self__", None)
        kind = type(owner)
        if owner is None or kind.__module__.partition(".")[0] in ("scrapy", "scrapy_rep"):
            return None
        return cls(kind, method.__name__, getattr(unwrap(method), "__code__", None))

    def __str__(self) -> str:
        return f"{global_object_name(self.owner)}.{self.name}"

    @property
    def spare(self) -> str:
        """The change that has it leave requests for robots.txt alone."""
        returned = "the response" if self.name == "process_response" else "None"
        return _SPARE.format(self.name, returned)

    def place(self, error: BaseException | None = None) -> str:
        """The file and the line of the method, or those of an error in it."""
        if self.code is None:
            return "in code without lines"
        file, line = self.code.co_filename, self.code.co_firstlineno
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if frame.filename == file] or frames[-1:]
            file, line = own[-1].filename, own[-1].lineno or 0
        with_parents = Path(os.path.relpath(file))
        return f"{file if with_parents.parts[:1] == ('..',) else with_parents}:{line}"


@dataclass
class _Before:
    """A request as it came to a method, which may change it."""

    url: str
    meta: dict[str, Any]
    headers: dict[Any, Any]

    @classmethod
    def of(cls, request: Request) -> _Before:
        return cls(request.url, dict(request.meta), dict(request.headers))


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
        self.findings: list[Finding] = []
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
            if not is_robots_txt(request.url):
                return await ensure_awaitable(call(**given))
            before = _Before.of(request)
            self.under_way.append(own)
            try:
                found = await ensure_awaitable(call(**given))
            except (asyncio.CancelledError, CancelledError):
                self.hung(own)
                raise
            except Exception as error:
                if error is not given.get("exception"):
                    self._raised(own, request, error)
                raise
            finally:
                self.under_way.remove(own)
            self._compare(own, before, request, given.get("response"), found)
            return found

        return watched

    def hung(self, own: _Method) -> None:
        """Note a method that does not return."""
        self._note(ERROR, f"{own} does not return in time ({own.place()})", own.spare)

    def _note(self, severity: str, text: str, fix: str = "") -> None:
        finding = Finding(severity, "middleware", text, fix)
        if finding not in self.findings:
            self.findings.append(finding)

    def _raised(self, own: _Method, request: Request, error: Exception) -> None:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        lead = "drops the request for robots.txt, and the crawl with it"
        if not isinstance(error, IgnoreRequest):
            lead = "breaks on the request for robots.txt"
        fix = own.spare
        key = error.args[0] if isinstance(error, KeyError) and error.args else None
        if isinstance(key, str) and key not in request.meta:
            fix += f"; if it reads the meta: request.meta.get({key!r}), or "
            fix += f"REP_FETCH_META = {{{key!r}: ...}}"
        self._note(ERROR, f"{own} {lead}: it raises {what} ({own.place(error)})", fix)

    def _compare(
        self, own: _Method, before: _Before, request: Request, came: Response | None, found: Any
    ) -> None:
        """Note the effect of a method that has returned."""
        at = f"({own.place()})"
        is_of_answer = own.name == "process_response"
        if (found is None and is_of_answer) or not isinstance(found, Request | Response | None):
            wanted = "a Response or a Request" if is_of_answer else "None, a Response or a Request"
            text = f"{own} returns {type(found).__name__} instead of {wanted} {at}"
            self._note(ERROR, f"{text}: Scrapy drops the request for robots.txt", own.spare)
        elif isinstance(found, Request) and own.name == "process_request":
            self._sends(own, before, found, "puts another request in the place of that for")
        elif isinstance(found, Request):
            fix = "let it leave requests with dont_retry or dont_redirect in their meta alone"
            self._note(WARNING, f"{own} requests robots.txt again {at}", fix)
        elif isinstance(found, Response) and came is None:
            self._answers(own, found)
        elif isinstance(found, Response) and came is not None and found is not came:
            self._replaces(own, came, found)
        if not isinstance(found, Request):
            self._sends(own, before, request, "changes the request for")

    def _sends(self, own: _Method, before: _Before, now: Request, lead: str) -> None:
        """Note how a request differs from the one before."""
        text = f"{own} {lead} robots.txt ({own.place()})"
        if now.url != before.url:
            fix = f"{own.spare}; {_SERVICE}"
            self._note(ERROR, f"{text}: {before.url} becomes {now.url}", fix)
        headers, meta = (
            {_text(key): (old.get(key), new.get(key)) for key in [*old, *new]}
            for old, new in ((before.headers, dict(now.headers)), (before.meta, now.meta))
        )
        lost = sorted(key for key in before.meta if key not in now.meta)
        if lost:
            fix = "let it keep the meta: request.replace(...) does, and a new Request does not"
            self._note(ERROR, f"{text}: it loses {', '.join(lost)} of the meta", fix)
        kept = {key: pair for key, pair in meta.items() if key not in lost}
        changed = {
            word: sorted(key for key, (old, new) in pairs.items() if old is not new and old != new)
            for word, pairs in (("header", headers), ("meta", kept))
        }
        self.setters |= dict.fromkeys([*changed["header"], *changed["meta"]], own)
        told = [f"{word} {', '.join(keys)}" for word, keys in changed.items() if keys]
        if told:
            self._note(NOTE, f"{text}: {'; '.join(told)}")
        elif now.url == before.url and lead.startswith("puts"):
            self._note(NOTE, text)

    def _answers(self, own: _Method, found: Response) -> None:
        markup = _markup_words(found.body)
        lead = f"{own} answers the request for robots.txt itself ({own.place()}), with "
        is_of_failure = own.name == "process_exception"
        if is_of_failure:
            lead = (
                f"{own} answers for a robots.txt that could not be fetched ({own.place()}), with "
            )
        facts = f"{found.status} and {len(found.body)} octets"
        severity = ERROR if markup or is_of_failure else WARNING
        self._note(severity, f"{lead}{facts}{markup}", own.spare)
        order = self._orders.get(own.owner)
        first = self._orders.get(RepMiddleware)
        if order is not None and first is not None and order < first and not is_of_failure:
            name = global_object_name(own.owner)
            text = f"{name} (order {order}) comes before RepMiddleware (order {first})"
            fix = f'DOWNLOADER_MIDDLEWARES = {{"{name}": {first + 1}}}, or more'
            self._note(ERROR, f"{text}: pages that it answers itself are not checked", fix)

    def _replaces(self, own: _Method, came: Response, found: Response) -> None:
        markup = _markup_words(found.body) if found.body != came.body else ""
        differing = [
            f"{word} {old} becomes {new}"
            for word, old, new in (
                ("status", came.status, found.status),
                ("class", type(came).__name__, type(found).__name__),
            )
            if old != new
        ]
        severity = NOTE
        if found.body != came.body or found.status != came.status:
            severity = ERROR if markup else WARNING
            differing.append("its body is another one" if found.body != came.body else "")
        words = ", ".join(filter(None, differing))
        if words:
            text = f"{own} replaces the answer to the request for robots.txt ({own.place()})"
            self._note(severity, f"{text}: {words}{markup}", own.spare)


def _text(name: Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)


def _markup_words(body: bytes) -> str:
    """The words for a body that is HTML and not a robots.txt; empty for others."""
    start = body[:2000].lstrip().lower()
    if not start.startswith(b"<"):
        return ""
    if b"<pre" in start:
        return (
            ": the page source of a browser, with <pre> around the file, so its first line is lost"
        )
    return ": an HTML page, and not a robots.txt"


def place_of_proxy(proxy: Any) -> tuple[str, int]:
    """The host and the port of a proxy, without its credentials."""
    parts = urlsplit(str(proxy) if "://" in str(proxy) else f"http://{proxy}")
    usual: Mapping[str, int] = {"https": 443, "socks5": 1080, "socks5h": 1080}
    return parts.hostname or "", parts.port or usual.get(parts.scheme, 80)
