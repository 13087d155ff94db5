"""The one table of checks: the code, the documentation and the command line read it.

A row is four lines or more (a line that begins with two blanks goes on with the one above):

    E401 what it means; E is an error, W a warning, I an info. [weak] before it: a group of codes
     keeps: what to do about it, and what following that does to verdicts
     a file that has it, with the escapes of Python; {good}, {star} and {sitemap} stand for usual
     lines, and `_BAD` has what is long
     a file that has not

Answers are no text; their examples are below. Advice that is not known to keep verdicts is written
as changing them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import REMARK, Answer

from .codes import Check, Code, Effect, Severity

DEFAULT = "default"
ALL = "all"
PEDANTIC = {
    "needless": "what could be left out, or written shorter, without any difference",
    "weak": "what crawlers read otherwise that do not follow RFC 9309",
    "context": "what is right in the file, and good to know of crawlers, pages and sitemaps",
}
"""Groups of codes that are reported only where users ask for them, and what they tell."""

_TABLE = r"""
# The answer
I001 the site answers that there is no file, so everything is allowed
 outside: put a file there, and let everybody read it, if something should not be crawled
E002 the site answers with an error, so nothing may be crawled while it lasts
 outside: answer 200 with the file, or 404 if there is none
E003 the site does not answer in time, so nothing may be crawled while it lasts
 outside: serve the file as a static one, from the nearest cache
E004 the host has no address, so nothing may be crawled while it lasts
 outside: look at the host's name, and at its records in the DNS
E005 no secure connection can be made, so nothing may be crawled while it lasts
 outside: look at the certificate: its names, its end, and the chain that is sent with it
E006 the connection fails or the answer is broken, so nothing may be crawled while it lasts
 outside: look at the server's log and its firewall, and at the encoding and length it declares
I007 the file is reached by a redirect; its rules hold for the host that was first asked
 outside: answer with the file itself where that is possible
W008 the redirect leads to another host, which some crawlers do not follow
 outside: serve the file from the host whose rules it holds
E009 the redirects loop, are too many or lead nowhere, so it is as if there were no file
 outside: redirect at most five times, and to the file
W010 the answer is a success, but not a 200; its body is read as the file
 outside: answer 200
W011 the media type is not text/plain, so some crawlers do not read the file
 outside: send Content-Type: text/plain; charset=utf-8
W012 http and https answer with files of different effect; each holds for its scheme alone
 changes: serve one file for both, or redirect http to https
W013 the body is not encoded as the answer says; as much of it as possible is read
 outside: name in Content-Encoding how the file is compressed, or send none; end where it ends
W014 the answer took longer than 5 seconds; some crawlers give up by then, and crawl nothing
 outside: serve the file as a static one, from the nearest cache
W015 the answer is a page of HTML, so there are no rules; some crawlers keep out then
 changes: answer with the file, or 404 if there is none; let no wall or error page stand in for it
# Octets and the file
I101 the file begins with a byte order mark, which some crawlers read as part of the first key
 keeps: save the file as UTF-8 without a byte order mark
 \xef\xbb\xbf{good}
 {good}
W102 the file is in UTF-16 instead of UTF-8
 keeps: save the file as UTF-8; to most crawlers it is empty, which permits everything
 ...
 {good}
W103 these octets are no UTF-8; they are compared as they are, which few crawlers do
 keeps: save the file as UTF-8, or write the octets as percent-escapes
 {star}Disallow: /caf\xe9/\n
 {star}Disallow: /caf%C3%A9/\n
E104 a NUL ends the content of its line
 keeps: remove the NUL and what follows it on its line, which is not read
 {star}Disallow: /a\x00b\n
 {star}Disallow: /a\n
W105 lines end with CR alone, which some crawlers do not take for a line end
 keeps: end lines with LF or CRLF
 User-agent: *\rDisallow: /private/\r
 User-agent: *\r\nDisallow: /private/\r\n
E106 the file is larger than the parse limit; what follows it is ignored
 changes: keep the file below 500 KiB: merge rules with wildcards, or move pages under one path
 ...
 {good}
E107 the file is markup; only lines that read as records count
 changes: serve a plain text file, or answer 404 if there is none
 <!doctype html>\n<html><body>Not found</body></html>\n
 {good}
E108 the file is JSON; only lines that read as records count
 changes: serve a plain text file, or answer 404 if there is none
 {"error": "not found"}\n
 {good}
I109 the file is empty, so everything is allowed
 changes: say so in words: a group for * with an empty Disallow
 \n
 {star}Disallow:\n
W110 the file has no user-agent line, so it forbids nothing
 changes: begin each group with User-agent
 {sitemap}
 {good}
W111 the file has more than 2,048 rules; Yandex reads no more
 changes: merge rules with wildcards, or move pages under one path
 ...
 {star}Disallow: /p*/\n
I112 more lines have this; they are not listed
 outside: fix those above, and look again
 ...
 {star}Disallow: private/\nDisallow: private/\nDisallow: private/\n
I113 the file is too large for all checks of effect (REP8xx); those beyond are left out
 changes: make the file smaller
 ...
 {good}
W114 the file is in UTF-32 instead of UTF-8
 changes: save the file as UTF-8; to most crawlers it is empty, which permits everything
 ...
 {good}
W115 the file is gzip, as no header says; it is decompressed, which few crawlers do
 outside: serve the file as text, or with Content-Encoding: gzip; to most crawlers it is empty,
  which permits everything
 ...
 {good}
E116 the file begins as gzip does, and can't be decompressed; nothing is allowed
 outside: serve the file as text
 ...
 {good}
# Lines
W201 the colon is missing; exactly two words are read as key and value, by some crawlers
 keeps: put a colon after the key
 {star}Disallow /private/\n
 {good}
E202 the line is no record and is ignored
 keeps: put # in front of it; what is to be read is written as 'key: value'
 {star}please stay out of here\nDisallow: /private/\n
 {star}# please stay out of here\nDisallow: /private/\n
W203 no crawler is known that reads this key; the record is ignored
 keeps: remove the line, or put # in front of it
 {good}Colour: blue\n
 {good}
I204 the key is known, but no crawler of today reads it
 keeps: remove the line, or put # in front of it
 Robot-version: 2.0\n{good}
 {good}
W205 the key is misspelt in a way that some crawlers read, and others do not
 keeps: write User-agent, Disallow or Sitemap
 {star}Dissallow: /private/\n
 {good}
E206 the key is not known, but it is nearly one that is; the record is ignored
 changes: write the key that is meant
 {star}Disallow: /\nAlow: /public/\n
 {star}Disallow: /\nAllow: /public/\n
W207 the key goes on after a known word; Google reads it as that word, others do not
 keeps: write the key alone
 {star}Disallowed: /private/\n
 {good}
E208 the line is longer than 16,663 octets; the rest of it is ignored
 keeps: remove what stands beyond, which is not read
 ...
 {good}
E209 the line begins with a character that can't be seen, which makes its key another one
 changes: remove the character, and write the line anew
 {star}\xe2\x80\x8bDisallow: /private/\n
 {good}
E210 the line begins with its colon; without a key it is ignored
 keeps: put # in front of it; if a record is meant, write its key in front of the colon
 {star}: /private/\n
 {good}
# Groups and user-agent lines
E301 a rule before the first user-agent line is ignored
 changes: put a user-agent line in front of it
 Disallow: /private/\n{star}Disallow: /tmp/\n
 {good}Disallow: /tmp/\n
E302 the user-agent line is empty and names nobody
 changes: write * for everyone, or the crawler's product token
 User-agent:\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
E303 a user-agent line holds no product token
 changes: write the crawler's product token, which begins with a letter, '-' or '_'
 User-agent: 2bot\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
W304 the name holds a character that no product token holds; many crawlers read only what is before
  it
 outside: write the name that the crawler's operator documents
 User-agent: Example.Bot\nDisallow: /private/\n
 User-agent: ExampleBot\nDisallow: /private/\n
I305 [needless] a version after the name is ignored
 keeps: write the product token alone
 User-agent: ExampleBot/1.2\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
E306 this is a User-Agent header; only its first word is read, and that is a browser's
 changes: write the crawler's product token alone
 User-agent: Mozilla/5.0 (compatible; ExampleBot/1.2)\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
W307 * within a name is no wildcard; what stands before it is the name, if anything does
 keeps: write the product token alone, one line for each crawler
 User-agent: Example*\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
E308 a user-agent line names one crawler; those after the comma are ignored
 changes: write one user-agent line for each crawler, one below the other
 User-agent: ExampleBot, OtherBot\nDisallow: /private/\n
 User-agent: ExampleBot\nUser-agent: OtherBot\nDisallow: /private/\n
W309 no crawler of this name is known, but one with nearly the same name
 changes: write the name that is meant
 User-agent: Googelbot\nDisallow: /private/\n
 User-agent: Googlebot\nDisallow: /private/\n
I310 [needless] another group of this crawler has the same rules
 formats: put all rules of a crawler into one group, as `scrapy rep format` does
 User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n\nUser-agent: a\nDisallow: /x\n
 User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n
W311 another group of this crawler stands above; they are merged, but crawlers that go by order read
  only one of them
 formats: put all rules of a crawler into one group, as `scrapy rep format` does
 User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n\nUser-agent: a\nDisallow: /y\n
 User-agent: a\nDisallow: /x\nDisallow: /y\n\nUser-agent: b\nDisallow:\n
W312 another group for * stands above; they are merged, but some crawlers call it an error
 formats: put all rules for * into one group, as `scrapy rep format` does
 {star}Disallow: /x\n\n{star}Disallow: /y\n
 {star}Disallow: /x\nDisallow: /y\n
I313 [needless] the group names this crawler already
 keeps: remove the line
 User-agent: a\nUser-agent: A\nDisallow: /x\n
 User-agent: a\nUser-agent: b\nDisallow: /x\n
I314 [context] no group is for *, so crawlers that are not named may fetch everything
 keeps: add a group for *, with an empty Disallow if all others may fetch everything
 User-agent: ExampleBot\nDisallow: /private/\n
 User-agent: ExampleBot\n{good}
W315 the file ends before a rule follows, so the crawlers that the group names may fetch everything
 keeps: write an empty Disallow below it, or the rules that are meant
 {good}\nUser-agent: ExampleBot\n
 {good}\nUser-agent: ExampleBot\nDisallow:\n
W316 a blank line within a group ends it for some crawlers
 keeps: remove the blank line
 {star}\nDisallow: /private/\n
 {good}
W317 a record other than a rule stands between user-agent lines; for many crawlers it ends the
  group, so that those above it get no rules
 keeps: put it below the user-agent lines
 User-agent: a\nContent-Signal: search=yes\nUser-agent: b\nDisallow: /x\n
 User-agent: a\nUser-agent: b\nContent-Signal: search=yes\nDisallow: /x\n
I318 [context] some crawlers obey only groups that name them, not the one for *, and the file does
  not name these
 changes: name those in the group too that it is meant for
 {star}Disallow: /\n
 {good}
I319 [context] this agent may not obey robots.txt, or not always
 outside: block it at the server if it has to stay out
 User-agent: Perplexity-User\nDisallow: /private/\n
 User-agent: PerplexityBot\nDisallow: /private/\n
E320 this crawler gets the rules of the next group, since no rule stands below its own user-agent
  line
 changes: write an empty Disallow below it, or its own rules; leave it if the next group is meant
  for it
 User-agent: Bingbot\nCrawl-delay: 5\n\nUser-agent: BadBot\nDisallow: /\n
 User-agent: Bingbot\nCrawl-delay: 5\nDisallow:\n\nUser-agent: BadBot\nDisallow: /\n
# Rules
E401 a path pattern begins with neither '/' nor '*' and matches nothing
 changes: put a / in front of it
 {star}Disallow: private/\n
 {good}
E402 a path pattern is a path, not a URL; this one matches nothing
 changes: write the path alone; other hosts have files of their own
 {star}Disallow: https://example.com/private/\n
 {good}
W403 the path holds white space, which some crawlers take for its end
 keeps: write %20
 {star}Disallow: /my files/\n
 {star}Disallow: /my%20files/\n
E404 a rule has one path; this is read as one that holds a blank or a comma
 changes: write one rule for each path
 {star}Disallow: /a /b\n
 {star}Disallow: /a\nDisallow: /b\n
W405 # begins a comment, also within a path; what follows it is ignored
 keeps: write %23 if the character is meant, or put a blank in front of the comment
 {star}Disallow: /page#top\n
 {star}Disallow: /page # top\n
I406 [needless] the group has the same rule above
 keeps: remove the line
 {star}Disallow: /a\nDisallow: /a\n
 {star}Disallow: /a\nDisallow: /b\n
W407 the group allows and disallows the same path; allow decides, but not for all crawlers
 changes: remove the one that is not meant; without the Allow, the path is disallowed
 {star}Disallow: /a\nAllow: /a\n
 {star}Disallow: /a\nAllow: /a/b\n
W408 an empty Allow is no rule; it neither allows nor forbids
 keeps: remove the line
 {star}Allow:\n
 {star}Disallow:\n
W409 an empty Disallow beside other rules has no effect, but some crawlers take it for 'everything
  is allowed'
 keeps: remove the line
 {star}Disallow:\nDisallow: /private/\n
 {good}
W410 the path is longer than 1,024 octets; Yandex does not read it
 changes: shorten the path, with * in place of its end
 ...
 {star}Disallow: /a\n
W411 a backslash does not divide paths; clients send / or %5C in its place
 changes: write /
 {star}Disallow: /private\\files\n
 {star}Disallow: /private/files\n
W412 clients resolve '.' and '..' before they send a request, so no path in one holds these
 changes: write the path as it is asked for
 {star}Disallow: /a/../private/\n
 {good}
I413 crawlers that are not named may fetch nothing, search engines among them
 outside: make sure that this is meant
 {star}Disallow: /\n
 {good}
I414 /robots.txt itself is always allowed, whatever a rule says
 changes: remove the line; paths that only begin like that, if there are any, are allowed then
 {star}Disallow: /robots.txt\n
 {good}
W415 the path holds a control character, which nobody sees and no URL holds as it is
 changes: remove it, or write it as a percent-escape if it is meant
 {star}Disallow: /pri\x08vate/\n
 {good}
# Wildcards and escapes
W501 $ is the end of the path only where it stands last; here it is the character
 keeps: write %24, which is that character
 {star}Disallow: /a$b\n
 {star}Disallow: /a%24b\n
W502 % without two hexadecimal digits is no escape; it is read as %25, and as the begin of any
  escape
 changes: write %25 if that character is meant, and whole escapes if these are
 {star}Disallow: /100%/\n
 {star}Disallow: /100%25/\n
W503 crawlers differ in how they compare characters that are not ASCII
 keeps: write them as percent-escapes of UTF-8
 {star}Disallow: /caf\xc3\xa9/\n
 {star}Disallow: /caf%C3%A9/\n
I504 [needless] a rule matches whatever follows, so * at its end only makes it one octet longer
 keeps: remove the *
 {star}Disallow: /private/*\n
 {good}
I505 [needless] several * in a row match no more than one does
 keeps: write one *
 {star}Disallow: /a**b\n
 {star}Disallow: /a*b\n
W506 an escape equals the character that needs none, but not for crawlers that compare octets
 keeps: write the character as it stands in URLs
 {star}Disallow: /%7Euser/\n
 {star}Disallow: /~user/\n
I507 [weak] escapes in lower case equal those in upper case, but not for all crawlers
 keeps: write the digits in upper case
 {star}Disallow: /caf%c3%a9/\n
 {star}Disallow: /caf%C3%A9/\n
W508 rules know * and a final $, and no other part of regular expressions
 changes: write it with * and $, or as several rules
 {star}Disallow: /.*[0-9]+\n
 {star}Disallow: /*9\n
I509 [weak] crawlers without wildcards read nothing in a rule that begins with *
 changes: put / in front of the * if the rule is not meant for the top of the site
 {star}Disallow: */private/\n
 {star}Disallow: /*/private/\n
I510 an escaped / or ? in a path does not divide it, and is not equal to the character
 changes: write the character if it is meant
 {star}Disallow: /a%2Fb\n
 {star}Disallow: /a/b\n
W511 the file has more than 2,000 rules with wildcards; a URL that nearly matches too many of them
  is disallowed, since to tell would take too long
 changes: merge rules with wildcards, or write paths without them
 ...
 {star}Disallow: /*p\n
# Sitemaps
W601 the sitemap's address is relative; it is resolved against this file's
 keeps: write the whole URL
 {good}Sitemap: /sitemap.xml\n
 {good}{sitemap}
E602 the sitemap's address is no http(s) URL
 changes: write a whole URL, with its host
 {good}Sitemap: https://[example/sitemap.xml\n
 {good}{sitemap}
E603 sitemaps are read over http and https only
 changes: write an http or https URL
 {good}Sitemap: ftp://example.com/sitemap.xml\n
 {good}{sitemap}
E604 the Sitemap line is empty
 keeps: write the whole URL, or remove the line
 {good}Sitemap:\n
 {good}{sitemap}
I605 [context] the file names no sitemap
 outside: add a Sitemap line if there is one
 {good}
 {good}{sitemap}
I606 [context] the sitemap is on another host, which crawlers believe only if this file names it
 outside: make sure that the host is the one that is meant
 {good}Sitemap: https://cdn.example.org/sitemap.xml\n
 {good}{sitemap}
W607 the group for * disallows this sitemap, so crawlers that are not named can't read it
 changes: allow the sitemap's path
 {star}Disallow: /sitemap\n{sitemap}
 {good}{sitemap}
I608 [needless] the file names this sitemap already
 keeps: remove the line
 {good}{sitemap}{sitemap}
 {good}{sitemap}
I609 [context] the sitemap's address names a folder, or has none of the endings that sitemaps have
 outside: make sure that a sitemap is there
 {good}Sitemap: https://example.com/sitemaps/\n
 {good}{sitemap}
W610 quotes or angle brackets stand around the sitemap's address
 formats: write the URL without them
 {good}Sitemap: "https://example.com/sitemap.xml"\n
 {good}{sitemap}
W611 the line names several sitemaps, which many crawlers take for one
 formats: write a line for each
 {good}Sitemap: https://example.com/a.xml, https://example.com/b.xml\n
 {good}Sitemap: https://example.com/a.xml\nSitemap: https://example.com/b.xml\n
W612 the sitemap's address has no scheme; it gets that of this file
 formats: write the whole URL
 {good}Sitemap: example.com/sitemap.xml\n
 {good}{sitemap}
# Other records
E701 the value can't be read; the record is ignored
 changes: write a number of seconds for Crawl-delay, n/m for Request-rate, hhmm-hhmm for Visit-time
 {good}Crawl-delay: soon\n
 {good}Crawl-delay: 5\n
W702 a comma is read as the decimal point
 keeps: write a point
 {good}Crawl-delay: 1,5\n
 {good}Crawl-delay: 1.5\n
W703 the user-agent lines have another Crawl-delay; the largest one counts, but not for all
  crawlers
 keeps: keep one
 {good}Crawl-delay: 1\nCrawl-delay: 5\n
 {good}Crawl-delay: 5\n
W704 the delay is more than 30 seconds; many crawlers cut it, or give the site up
 changes: write 30 or less, and disallow what should not be crawled
 {good}Crawl-delay: 3600\n
 {good}Crawl-delay: 10\n
I705 [context] a crawler that this group names ignores Crawl-delay
 outside: set its rate in the operator's tools, or answer 429 or 503 when there is too much
 User-agent: Googlebot\nDisallow: /private/\nCrawl-delay: 5\n
 User-agent: Bingbot\nDisallow: /private/\nCrawl-delay: 5\n
E706 the record belongs to a group, but stands before the first one, and is ignored
 changes: put it into a group, below the rules
 Crawl-delay: 5\n{good}
 {good}Crawl-delay: 5\n
E707 a Clean-param is names of parameters with & between them, and perhaps a path
 changes: write 'Clean-param: sid&ref /path'
 {good}Clean-param: /path sid,ref\n
 {good}Clean-param: sid&ref /path\n
I708 [context] no crawler reads Host any more; Yandex asks for redirects in its place
 outside: redirect (301) to the main host, and remove the line
 {good}Host: example.com\n
 {good}
E709 robots.txt can't keep pages out of an index; Google ended its support in 2019
 changes: send X-Robots-Tag: noindex, or put it into the page, and do not disallow the page
 {good}Noindex: /old/\n
 {good}
E710 a part of the Content-Signal says nothing: it is perhaps a path, and a list of search, ai-input
  or ai-train = yes or no, or use = immediate, reference or full
 changes: write 'Content-Signal: search=yes, ai-train=no'
 {good}Content-Signal: ai-train: never\n
 {good}Content-Signal: search=yes, ai-train=no\n
W711 the signal permits a use of pages that the same group disallows
 changes: allow the pages, or say no
 {star}Disallow: /\nContent-Signal: search=yes\n
 {star}Disallow: /\nContent-Signal: search=no\n
E712 a License is the whole URL of a licence
 outside: write the whole URL
 License: /license.xml\n{good}
 License: https://example.com/license.xml\n{good}
W713 the group for * disallows the licence, so crawlers that are not named can't read it
 changes: allow its path
 License: https://example.com/private/license.xml\n{good}
 License: https://example.com/license.xml\n{good}
E714 a part of the Content-Usage says nothing: it is perhaps a path, and train-ai or search = y or
  n, in lower case
 changes: write 'Content-Usage: train-ai=n' or 'Content-Usage: /path train-ai=n'
 {good}Content-Usage: no training\n
 {good}Content-Usage: train-ai=n\n
W715 another Content-Usage of the group differs for the same path; the most restrictive one holds
 changes: keep one
 {good}Content-Usage: train-ai=n\nContent-Usage: train-ai=y\n
 {good}Content-Usage: train-ai=n\nContent-Usage: /a train-ai=y\n
W716 the Clean-param is longer than 500 characters, which is more than Yandex reads
 outside: write several, with some of the parameters each
 ...
 {good}Clean-param: p1&p2 /\n
W717 the file has a Host above; a site has one main host, and the first one counts
 outside: keep one
 {good}Host: example.com\nHost: www.example.com\n
 {good}Host: example.com\n
W718 a Host is the name of a host, perhaps with a port; not all readers of it know more
 outside: write the host alone, without a scheme and a path
 {good}Host: https://example.com/\n
 {good}Host: example.com\n
W719 the Content-Signal stands before the first group, so it belongs to none: at most its no is
  heard
 changes: put it into a group, below the rules
 Content-Signal: search=yes, ai-train=no\n{good}
 {good}Content-Signal: search=yes, ai-train=no\n
W720 the Content-Signal is spelled unusually: some crawlers understand it, and others do not
 changes: write 'search=yes, ai-train=no', with = and commas
 {good}Content-Signal: search: yes; ai-train: N\n
 {good}Content-Signal: search=yes, ai-train=no\n
E721 letter case counts in a Content-Usage, so this says nothing, or less than it seems to
 changes: write train-ai, search, y and n in lower case
 {good}Content-Usage: Train-AI=n\n
 {good}Content-Usage: train-ai=n\n
E722 the words are those of Content-Signal; in a Content-Usage they say nothing
 changes: write train-ai for ai-train, y for yes and n for no
 {good}Content-Usage: ai-train=no\n
 {good}Content-Usage: train-ai=n\n
# Effect
W801 the rule can never decide: wherever it matches, a more specific one does too
 keeps: remove the rule
 {star}Disallow: /a\nAllow: /a*\n
 {star}Disallow: /a\nAllow: /a/b\n
I802 [needless] the rule has no effect: without it, every path gets the same verdict
 keeps: remove the rule
 {star}Disallow: /a\nDisallow: /a/b\n
 {star}Disallow: /a\nAllow: /a/b\n
I803 [context] by its name, the rule seems to be for style sheets or scripts, without which crawlers
  can't see pages as people do
 changes: allow style sheets and scripts that pages need
 {star}Disallow: /*.css$\n
 {star}Disallow: /*.pdf$\n
W804 the rule keeps the crawler that it is for from a sitemap of this file
 changes: allow the sitemap's path
 User-agent: a\nDisallow: /sitemap\n{sitemap}
 User-agent: a\nDisallow: /private\n{sitemap}
I805 [needless] the group has the same rules as the one for *, so the crawlers that it names need
  none of their own
 formats: name the crawler in the group for *, as `scrapy rep format` does
 User-agent: a\nDisallow: /x\n\n{star}Disallow: /x\n
 User-agent: a\nDisallow: /y\n\n{star}Disallow: /x\n
I806 [weak] a shorter rule above matches the same paths; the longer one decides, but not for
  crawlers that take the first match
 keeps: put the longer rule first
 {star}Disallow: /a\nAllow: /a/b\n
 {star}Allow: /a/b\nDisallow: /a\n
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
    Code.PARSE_LIMIT: _STAR + b"Disallow: /private/\n" * 26_000,
    Code.TOO_MANY_RULES: _STAR + b"".join(b"Disallow: /p%d/\n" % n for n in range(2049)),
    Code.TOO_MANY_FINDINGS: _STAR + b"Disallow: private/\n" * 1001,
    Code.EFFECT_NOT_CHECKED: _STAR + b"".join(b"Disallow: /*%d*a\n" % n for n in range(3000)),
    Code.UTF32: _GOOD.decode().encode("utf-32"),
    Code.GZIP: _GZIP,
    Code.GZIP_DAMAGED: _GZIP[:20],
    Code.LINE_TOO_LONG: _STAR + b"Disallow: /" + b"a" * 17_000 + b"\n",
    Code.RULE_TOO_LONG: _STAR + b"Disallow: /" + b"a" * 1024 + b"\n",
    Code.MANY_WILDCARDS: _STAR + b"".join(b"Disallow: /*p%d/\n" % n for n in range(2001)),
    Code.CLEAN_PARAM_TOO_LONG: b"%sClean-param: %s /\n"
    % (_GOOD, b"&".join(b"p%d" % n for n in range(150))),
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

_SEVERITIES = {severity.name[0]: severity for severity in Severity}
_ROW = re.compile(
    r"(?P<severity>[EWI])(?P<number>\d{3}) (?:\[(?P<group>\w+)\] )?(?P<meaning>.+)\n"
    r" (?P<effect>\w+): (?P<mend>.+)(?:\n (?P<bad>.+)\n (?P<good>.+))?"
)


def _checks() -> Iterator[Check]:
    section = ""
    for row in re.split(r"\n(?=\S)", _TABLE.strip().replace("\n  ", " ")):
        found = _ROW.fullmatch(row)
        if found is None:
            section = row.removeprefix("# ")
            continue
        code = Code(f"REP{found['number']}")
        yield Check(
            code,
            _SEVERITIES[found["severity"]],
            found["meaning"],
            found["mend"],
            Effect(found["effect"]),
            found["group"] or DEFAULT,
            section,
            _BAD_ANSWERS.get(code) or _BAD.get(code) or _octets(found["bad"]),
            _GOOD_ANSWERS.get(code) or _octets(found["good"]),
        )


def _octets(text: str) -> bytes:
    """An example of the table as the octets that it stands for."""
    octets = text.encode().decode("unicode_escape").encode("latin-1")
    octets = octets.replace(b"{good}", _GOOD).replace(b"{star}", _STAR)
    return octets.replace(b"{sitemap}", _SITEMAP)


CHECKS: dict[Code, Check] = {check.code: check for check in _checks()}
"""The checks by code."""

GROUPS: dict[str, frozenset[Code]] = {
    ALL: frozenset(Code),
    **{
        name: frozenset(code for code, check in CHECKS.items() if check.group == name)
        for name in (DEFAULT, *PEDANTIC)
    },
}
"""The codes of each group, by its name."""
