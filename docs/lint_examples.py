"""An example of each lint code, and of a file without it: the pages show them, and tests run them.

A row is a code, a file with this finding, and a file without it, with the escapes of Python.
{good}, {star} and {sitemap} are replaced by usual lines, and `_BAD` has the long files. Answers are
not text; they are below.
"""

from __future__ import annotations

import re

from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import REMARK, Answer

Example = bytes | Answer

_FILES = r"""
REP101
 \xef\xbb\xbf{good}
 {good}
REP102
 ...
 {good}
REP103
 {good}# Caf\xe9\n
 {good}# Caf\xc3\xa9\n
REP104
 {star}Disallow: /a\x00b\n
 {star}Disallow: /a\n
REP105
 User-agent: *\rDisallow: /private/\r
 User-agent: *\r\nDisallow: /private/\r\n
REP106
 ...
 {good}
REP107
 <!doctype html>\n<html><body>Not found</body></html>\n
 {good}
REP108
 {"error": "not found"}\n
 {good}
REP109
 \n
 {star}Disallow:\n
REP110
 {sitemap}
 {good}
REP111
 ...
 {star}Disallow: /p*/\n
REP112
 ...
 {star}Disallow: private/\nDisallow: private/\nDisallow: private/\n
REP113
 ...
 {good}
REP114
 ...
 {good}
REP115
 ...
 {good}
REP116
 ...
 {good}
REP117
 ...
 {good}
REP118
 <html><head></head><body><pre>{good}</pre></body></html>
 {good}
REP201
 {star}Disallow /private/\n
 {good}
REP202
 {star}please stay out of here\nDisallow: /private/\n
 {star}# please stay out of here\nDisallow: /private/\n
REP203
 {good}Colour: blue\n
 {good}
REP204
 Robot-version: 2.0\n{good}
 {good}
REP205
 {star}Dissallow: /private/\n
 {good}
REP206
 {star}Disallow: /\nAlow: /public/\n
 {star}Disallow: /\nAllow: /public/\n
REP207
 {star}Disallowed: /private/\n
 {good}
REP208
 ...
 {good}
REP209
 {star}\xe2\x80\x8bDisallow: /private/\n
 {good}
REP210
 {star}: /private/\n
 {good}
REP211
 User-agent: * Disallow: /private/\n
 {good}
REP212
 {star}Disallow\xef\xbc\x9a /private/\n
 {good}
REP213
 {star}Disallow: "/private/"\n
 {good}
REP214
 {star}- Disallow: /private/\n
 {good}
REP216
 {star}Disallow: /private/ // old\n
 {star}Disallow: /private/ # old\n
REP217
 {star}Disallow= /private/\n
 {star}Disallow: /private/\n
REP218
 {star}Disallow: /private/\nDisallowAITraining: /\n
 {star}Disallow: /private/\n
REP301
 Disallow: /private/\n{star}Disallow: /tmp/\n
 {good}Disallow: /tmp/\n
REP302
 User-agent:\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
REP303
 User-agent: https://example.com/bot\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
REP304
 User-agent: Example.Bot\nDisallow: /private/\n
 User-agent: ExampleBot\nDisallow: /private/\n
REP305
 User-agent: ExampleBot/1.2\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
REP306
 User-agent: Mozilla/5.0 (compatible; ExampleBot/1.2)\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
REP307
 User-agent: Example*\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
REP308
 User-agent: ExampleBot, OtherBot\nDisallow: /private/\n
 User-agent: ExampleBot\nUser-agent: OtherBot\nDisallow: /private/\n
REP309
 User-agent: Googelbot\nDisallow: /private/\n
 User-agent: Googlebot\nDisallow: /private/\n
REP310
 User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n\nUser-agent: a\nDisallow: /x\n
 User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n
REP311
 User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n\nUser-agent: a\nDisallow: /y\n
 User-agent: a\nDisallow: /x\nDisallow: /y\n\nUser-agent: b\nDisallow:\n
REP312
 {star}Disallow: /x\n\n{star}Disallow: /y\n
 {star}Disallow: /x\nDisallow: /y\n
REP313
 User-agent: a\nUser-agent: A\nDisallow: /x\n
 User-agent: a\nUser-agent: b\nDisallow: /x\n
REP314
 User-agent: ExampleBot\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
REP315
 {good}\nUser-agent: ExampleBot\n
 {good}\nUser-agent: ExampleBot\nDisallow:\n
REP316
 {star}\nDisallow: /private/\n
 {good}
REP317
 User-agent: a\nContent-Signal: search=yes\nUser-agent: b\nDisallow: /x\n
 User-agent: a\nUser-agent: b\nContent-Signal: search=yes\nDisallow: /x\n
REP318
 {star}Disallow: /\n
 {good}
REP319
 User-agent: Perplexity-User\nDisallow: /private/\n
 User-agent: PerplexityBot\nDisallow: /private/\n
REP320
 User-agent: Bingbot\nCrawl-delay: 5\n\nUser-agent: BadBot\nDisallow: /\n
 User-agent: Bingbot\nCrawl-delay: 5\nDisallow:\n\nUser-agent: BadBot\nDisallow: /\n
REP321
 User-agent: OpenAI\nDisallow: /\n
 User-agent: GPTBot\nUser-agent: OAI-SearchBot\nDisallow: /\n
REP322
 User-agent: Example Site Reader\nDisallow: /private/\n
 User-agent: ExampleBot\nDisallow: /private/\n
REP323
 User-agent: __usage_ai-trainig\nDisallow: /\n
 User-agent: __usage_ai-training\nDisallow: /\n
REP324
 User-agent: ExampleBot\nCrawl-delay: 1\n\n{good}
 User-agent: ExampleBot\nCrawl-delay: 1\nDisallow:\n\n{good}
REP401
 {star}Disallow: private/\n
 {good}
REP402
 {star}Disallow: https://example.com/private/\n
 {good}
REP403
 {star}Disallow: /my files/\n
 {star}Disallow: /my%20files/\n
REP404
 {star}Disallow: /a /b\n
 {star}Disallow: /a\nDisallow: /b\n
REP405
 {star}Disallow: /#top\n
 {star}Disallow: /\n
REP406
 {star}Disallow: /a\nDisallow: /a\n
 {star}Disallow: /a\nDisallow: /b\n
REP407
 {star}Disallow: /a\nAllow: /a\n
 {star}Disallow: /a\nAllow: /a/b\n
REP408
 {star}Allow:\n
 {star}Disallow:\n
REP409
 {star}Disallow:\nDisallow: /private/\n
 {good}
REP411
 {star}Disallow: /private\\files\n
 {star}Disallow: /private/files\n
REP412
 {star}Disallow: /a/../private/\n
 {good}
REP413
 {star}Disallow: /\n
 {good}
REP414
 {star}Disallow: /robots.txt\n
 {good}
REP415
 {star}Disallow: /pri\x08vate/\n
 {good}
REP416
 User-agent: Googlebot\nDisallow: /\n
 User-agent: Googlebot\nDisallow: /private/\n
REP417
 {star}Disallow: /caf\xe9/\n
 {star}Disallow: /caf%C3%A9/\n
REP418
 {star}Disallow: /list?a=1&amp;b=2\n
 {star}Disallow: /list?a=1&b=2\n
REP419
 {star}Disallow: /caf\xc3\x83\xc2\xa9/\n
 {star}Disallow: /caf%C3%A9/\n
REP420
 {star}Disallow: /example.com/private/\n{sitemap}
 {star}Disallow: /private/\n{sitemap}
REP421
 {star}Disallow: //private/\n
 {star}Disallow: /private/\n
REP501
 {star}Disallow: /a$b\n
 {star}Disallow: /a%24b\n
REP502
 {star}Disallow: /100%/\n
 {star}Disallow: /100%25/\n
REP503
 {star}Disallow: /caf\xc3\xa9/\n
 {star}Disallow: /caf%C3%A9/\n
REP504
 {star}Disallow: /private/*\n
 {good}
REP505
 {star}Disallow: /a**b\n
 {star}Disallow: /a*b\n
REP506
 {star}Disallow: /%7Euser/\n
 {star}Disallow: /~user/\n
REP507
 {star}Disallow: /caf%c3%a9/\n
 {star}Disallow: /caf%C3%A9/\n
REP508
 {star}Disallow: /.*[0-9]+\n
 {star}Disallow: /*9\n
REP509
 {star}Disallow: */private/\n
 {star}Disallow: /*/private/\n
REP511
 ...
 {star}Disallow: /*p\n
REP601
 {good}Sitemap: /sitemap.xml\n
 {good}{sitemap}
REP602
 {good}Sitemap: https://[example/sitemap.xml\n
 {good}{sitemap}
REP603
 {good}Sitemap: ftp://example.com/sitemap.xml\n
 {good}{sitemap}
REP604
 {good}Sitemap:\n
 {good}{sitemap}
REP605
 {good}
 {good}{sitemap}
REP606
 {good}Sitemap: https://cdn.example.org/sitemap.xml\n
 {good}{sitemap}
REP607
 {star}Disallow: /sitemap\n{sitemap}
 {good}{sitemap}
REP608
 {good}{sitemap}{sitemap}
 {good}{sitemap}
REP609
 {good}Sitemap: https://example.com/sitemaps/\n
 {good}{sitemap}
REP610
 {good}Sitemap: "https://example.com/sitemap.xml"\n
 {good}{sitemap}
REP611
 {good}Sitemap: https://example.com/a.xml, https://example.com/b.xml\n
 {good}Sitemap: https://example.com/a.xml\nSitemap: https://example.com/b.xml\n
REP612
 {good}Sitemap: example.com/sitemap.xml\n
 {good}{sitemap}
REP613
 {good}Sitemap: http//example.com/sitemap.xml\n
 {good}{sitemap}
REP614
 {good}Sitemap: https://example.com/site map.xml\n
 {good}Sitemap: https://example.com/site%20map.xml\n
REP615
 {good}Sitemap: http://localhost:3000/sitemap.xml\n
 {good}Sitemap: https://example.com/sitemap.xml\n
REP701
 {good}Crawl-delay: soon\n
 {good}Crawl-delay: 5\n
REP702
 {good}Crawl-delay: 1,5\n
 {good}Crawl-delay: 1.5\n
REP703
 {good}Crawl-delay: 1\nCrawl-delay: 5\n
 {good}Crawl-delay: 5\n
REP704
 {good}Crawl-delay: 3600\n
 {good}Crawl-delay: 10\n
REP705
 User-agent: Googlebot\nDisallow: /private/\nCrawl-delay: 5\n
 User-agent: Bingbot\nDisallow: /private/\nCrawl-delay: 5\n
REP706
 Crawl-delay: 5\n{good}
 {good}Crawl-delay: 5\n
REP707
 {good}Clean-param: /path sid,ref\n
 {good}Clean-param: sid&ref /path\n
REP708
 {good}Host: example.com\n
 {good}
REP709
 {good}Noindex: /old/\n
 {good}
REP710
 {good}Content-Signal: ai-train: never\n
 {good}Content-Signal: search=yes, ai-train=no\n
REP712
 License: /license.xml\n{good}
 License: https://example.com/license.xml\n{good}
REP714
 {good}Content-Usage: no training\n
 {good}Content-Usage: train-ai=n\n
REP715
 {good}Content-Usage: train-ai=n\nContent-Usage: train-ai=y\n
 {good}Content-Usage: train-ai=n\nContent-Usage: /a train-ai=y\n
REP719
 Content-Signal: search=yes, ai-train=no\n{good}
 {good}Content-Signal: search=yes, ai-train=no\n
REP720
 {good}Content-Signal: search: yes; ai-train: N\n
 {good}Content-Signal: search=yes, ai-train=no\n
REP721
 {good}Content-Usage: Train-AI=n\n
 {good}Content-Usage: train-ai=n\n
REP722
 {good}Content-Usage: ai-train=no\n
 {good}Content-Usage: train-ai=n\n
REP723
 {good}Content-Usage: bots=n\n
 {good}Content-Usage: train-ai=n\n
REP724
 {good}Content-Signal: search=yes, ai-train=no\nContent-Signal: ai-train=yes\n
 {good}Content-Signal: search=yes, ai-train=no\nContent-Signal: /a ai-train=yes\n
REP801
 {star}Disallow: /a\nDisallow: /a/b\nAllow: /a/b*\n
 {star}Disallow: /a\nAllow: /a/b\n
REP802
 {star}Disallow: /a\nDisallow: /a/b\n
 {star}Disallow: /a\nAllow: /a/b\n
REP803
 {star}Disallow: /*.css$\n
 {star}Disallow: /*.pdf$\n
REP804
 User-agent: Googlebot\nDisallow: /sitemap\n{sitemap}
 User-agent: Googlebot\nDisallow: /private\n{sitemap}
REP805
 User-agent: a\nDisallow: /x\n\n{star}Disallow: /x\n
 User-agent: a\nDisallow: /y\n\n{star}Disallow: /x\n
REP806
 {star}Disallow: /a\nAllow: /a/b\n
 {star}Allow: /a/b\nDisallow: /a\n
REP807
 User-agent: Googlebot\nDisallow: /d/\n\n{star}Disallow: /a/\nDisallow: /b/\nDisallow: /c/\n
 User-agent: Googlebot\nDisallow: /a/\n\n{star}Disallow: /a/\nDisallow: /b/\nDisallow: /c/\n
REP808
 {star}Disallow: /plugins/\nAllow: /*.js\n
 {star}Disallow: /plugins/\nAllow: /plugins/*.js\n
"""

_STAR = b"User-agent: *\n"
_GOOD = b"User-agent: *\nDisallow: /private/\n"
_SITEMAP = b"Sitemap: https://example.com/sitemap.xml\n"
_GZIP = bytes.fromhex(
    "1f8b08000000000002ff0b2d4e2dd24d4c4fcd2bb152d0e272c92c4eccc9c92fb752d02f28ca2c4b"
    "2c49d5e7020061298f7722000000"
)
"""The good file, compressed."""
_BAD = {
    Code.UTF16: _GOOD.decode().encode("utf-16"),
    Code.PARSE_LIMIT: _GOOD + (b"# " + b"old rules, " * 100 + b"\n") * 470,
    Code.TOO_MANY_RULES: _STAR + b"".join(b"Disallow: /p%d/\n" % n for n in range(2049)),
    Code.TOO_MANY_FINDINGS: _STAR + b"Disallow: private/\n" * 1001,
    Code.EFFECT_NOT_CHECKED: _STAR + b"".join(b"Disallow: /*%d*a\n" % n for n in range(3000)),
    Code.UTF32: _GOOD.decode().encode("utf-32"),
    Code.GZIP: _GZIP,
    Code.GZIP_DAMAGED: _GZIP[:20],
    Code.NOT_TEXT: _GOOD.decode().encode("utf-16-le"),
    Code.LINE_TOO_LONG: _STAR + b"Disallow: /" + b"a" * 17_000 + b"\n",
    Code.MANY_WILDCARDS: _STAR + b"".join(b"Disallow: /*p%d/\n" % n for n in range(2001)),
}

_URI, _HTTP_URI = "https://example.com/robots.txt", "http://example.com/robots.txt"
_TEXT = {"content-type": "text/plain; charset=utf-8"}


def _answer(event: Event, *more_hops: str, kind: str = "text/plain") -> Answer:
    return Answer(event, _GOOD, (_URI, *more_hops), {"content-type": kind})


_BAD_ANSWERS = {
    Code.CLIENT_ERROR: _answer(404),
    Code.SERVER_ERROR: _answer(503),
    Code.TIMEOUT: _answer(Failure.TIMEOUT),
    Code.DNS: _answer(Failure.DNS),
    Code.TLS: _answer(Failure.TLS),
    Code.NETWORK: _answer(Failure.RESET),
    Code.REDIRECT: _answer(200, "https://example.com/static/robots.txt"),
    Code.REDIRECT_CROSS_HOST: _answer(200, "https://www.example.org/robots.txt"),
    Code.REDIRECT_DEAD_END: _answer(Failure.REDIRECT_LOOP, _URI),
    Code.ODD_STATUS: _answer(206),
    Code.MEDIA_TYPE: _answer(200, kind="text/html"),
    Code.SCHEMES_DIFFER: Answer(200, _STAR + b"Disallow:\n", (_HTTP_URI,), _TEXT),
    Code.ODD_CODING: Answer(200, _GOOD, (_URI,), {**_TEXT, REMARK: "Content-Encoding: utf-8"}),
    Code.SLOW_ANSWER: Answer(200, _GOOD, (_URI,), _TEXT, took_seconds=6.2),
    Code.HTML: Answer(Failure.HTML, b"<!doctype html>\n<title>Welcome</title>\n", (_URI,), _TEXT),
}
_GOOD_ANSWERS = {
    **dict.fromkeys(_BAD_ANSWERS, Answer(200, _GOOD, (_URI,), _TEXT)),
    Code.SCHEMES_DIFFER: Answer(200, _GOOD, (_HTTP_URI,), _TEXT),
    Code.SLOW_ANSWER: Answer(200, _GOOD, (_URI,), _TEXT, took_seconds=0.2),
}


def _octets(text: str) -> bytes:
    """An example as the octets that it stands for."""
    octets = text.encode().decode("unicode_escape").encode("latin-1")
    octets = octets.replace(b"{good}", _GOOD).replace(b"{star}", _STAR)
    return octets.replace(b"{sitemap}", _SITEMAP)


_ROWS = [row.split("\n ") for row in re.split(r"\n(?=\S)", _FILES.strip())]

BAD: dict[Code, Example] = {
    **{Code(code): _octets(bad) for code, bad, _ in _ROWS},
    **_BAD,
    **_BAD_ANSWERS,
}
"""A file, or an answer, that a code is found in."""
GOOD: dict[Code, Example] = {
    **{Code(code): _octets(good) for code, _, good in _ROWS},
    **_GOOD_ANSWERS,
}
"""One that has it not."""
