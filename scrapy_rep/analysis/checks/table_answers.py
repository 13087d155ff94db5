"""Rows of the table: the answer that came for a robots.txt."""

from __future__ import annotations

from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import REMARK, Answer

from .codes import Check, Code, Severity

_URI = "https://example.com/robots.txt"
_TEXT = {"content-type": "text/plain; charset=utf-8"}
_FILE = b"User-agent: *\nDisallow: /private/\n"


def _answer(event: Event, *more_hops: str, kind: str = "text/plain") -> Answer:
    return Answer(event, _FILE, (_URI, *more_hops), {"content-type": kind})


_GOOD = Answer(200, _FILE, (_URI,), _TEXT)

ANSWERS = (
    Check(
        Code.CLIENT_ERROR,
        Severity.INFO,
        "the site answers that there is no file, so everything is allowed",
        "put a file there, and let everybody read it, if something should not be crawled",
        _answer(404),
        _GOOD,
    ),
    Check(
        Code.SERVER_ERROR,
        Severity.ERROR,
        "the site answers with an error, so nothing may be crawled while it lasts",
        "answer 200 with the file, or 404 if there is none",
        _answer(503),
        _GOOD,
    ),
    Check(
        Code.TIMEOUT,
        Severity.ERROR,
        "the site does not answer in time, so nothing may be crawled while it lasts",
        "serve the file as a static one, from the nearest cache",
        _answer(Failure.TIMEOUT),
        _GOOD,
    ),
    Check(
        Code.DNS,
        Severity.ERROR,
        "the host has no address, so nothing may be crawled while it lasts",
        "look at the host's name, and at its records in the DNS",
        _answer(Failure.DNS),
        _GOOD,
    ),
    Check(
        Code.TLS,
        Severity.ERROR,
        "no secure connection can be made, so nothing may be crawled while it lasts",
        "look at the certificate: its names, its end, and the chain that is sent with it",
        _answer(Failure.TLS),
        _GOOD,
    ),
    Check(
        Code.NETWORK,
        Severity.ERROR,
        "the connection fails or the answer is broken, so nothing may be crawled while it lasts",
        "look at the server's log and its firewall, and at the encoding and length it declares",
        _answer(Failure.RESET),
        _GOOD,
    ),
    Check(
        Code.REDIRECT,
        Severity.INFO,
        "the file is reached by a redirect; its rules hold for the host that was first asked",
        "answer with the file itself where that is possible",
        _answer(200, "https://example.com/static/robots.txt"),
        _GOOD,
    ),
    Check(
        Code.REDIRECT_CROSS_HOST,
        Severity.WARNING,
        "the redirect leads to another host, which some crawlers do not follow",
        "serve the file from the host whose rules it holds",
        _answer(200, "https://www.example.org/robots.txt"),
        _GOOD,
    ),
    Check(
        Code.REDIRECT_DEAD_END,
        Severity.ERROR,
        "the redirects loop, are too many or lead nowhere, so it is as if there were no file",
        "redirect at most five times, and to the file",
        _answer(Failure.REDIRECT_LOOP, _URI),
        _GOOD,
    ),
    Check(
        Code.ODD_STATUS,
        Severity.WARNING,
        "the answer is a success, but not a 200; its body is read as the file",
        "answer 200",
        _answer(206),
        _GOOD,
    ),
    Check(
        Code.MEDIA_TYPE,
        Severity.WARNING,
        "the media type is not text/plain, so some crawlers do not read the file",
        "send Content-Type: text/plain; charset=utf-8",
        _answer(200, kind="text/html"),
        _GOOD,
    ),
    Check(
        Code.SCHEMES_DIFFER,
        Severity.WARNING,
        "http and https answer with files of different effect; each holds for its scheme alone",
        "serve one file for both, or redirect http to https",
        Answer(200, b"User-agent: *\nDisallow:\n", ("http://example.com/robots.txt",), _TEXT),
        Answer(200, _FILE, ("http://example.com/robots.txt",), _TEXT),
    ),
    Check(
        Code.ODD_CODING,
        Severity.WARNING,
        "the body is not encoded as the answer says; as much of it as possible is read",
        "name in Content-Encoding how the file is compressed, or send none; end where it ends",
        Answer(200, _FILE, (_URI,), {**_TEXT, REMARK: "Content-Encoding: utf-8"}),
        _GOOD,
    ),
    Check(
        Code.SLOW_ANSWER,
        Severity.WARNING,
        "the answer took longer than 5 seconds; some crawlers give up by then, and crawl nothing",
        "serve the file as a static one, from the nearest cache",
        Answer(200, _FILE, (_URI,), _TEXT, took_seconds=6.2),
        Answer(200, _FILE, (_URI,), _TEXT, took_seconds=0.2),
    ),
    Check(
        Code.HTML,
        Severity.WARNING,
        "the answer is a page of HTML, so there are no rules; some crawlers keep out then",
        "answer with the file, or 404 if there is none; let no wall or error page stand in for it",
        Answer(Failure.HTML, b"<!doctype html>\n<title>Welcome</title>\n", (_URI,), _TEXT),
        _GOOD,
    ),
)
