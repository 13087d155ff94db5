"""Rows of the table: groups and their user-agent lines."""

from __future__ import annotations

from .codes import Check, Code, Severity

_GOOD = b"User-agent: ExampleBot\nUser-agent: *\nDisallow: /private/\n"

GROUPS = (
    Check(
        Code.RULE_BEFORE_GROUP,
        Severity.ERROR,
        "a rule before the first user-agent line is ignored",
        "put a user-agent line in front of it",
        b"Disallow: /private/\nUser-agent: *\nDisallow: /tmp/\n",
        b"User-agent: *\nDisallow: /private/\nDisallow: /tmp/\n",
    ),
    Check(
        Code.USER_AGENT_EMPTY,
        Severity.ERROR,
        "the user-agent line is empty and names nobody",
        "write * for everyone, or the crawler's product token",
        b"User-agent:\nDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.USER_AGENT_NAMES_NOBODY,
        Severity.ERROR,
        "a user-agent line holds no product token",
        "write the crawler's product token, which begins with a letter, '-' or '_'",
        b"User-agent: 2bot\nDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.USER_AGENT_CUT,
        Severity.WARNING,
        "the name holds a character that no product token holds; many crawlers read only what "
        "is before it",
        "write the name that the crawler's operator documents",
        b"User-agent: Example.Bot\nDisallow: /private/\n",
        b"User-agent: ExampleBot\nDisallow: /private/\n",
    ),
    Check(
        Code.USER_AGENT_VERSION,
        Severity.INFO,
        "a version after the name is ignored",
        "write the product token alone",
        b"User-agent: ExampleBot/1.2\nDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.USER_AGENT_HEADER,
        Severity.ERROR,
        "this is a User-Agent header; only its first word is read, and that is a browser's",
        "write the crawler's product token alone",
        b"User-agent: Mozilla/5.0 (compatible; ExampleBot/1.2)\nDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.USER_AGENT_WILDCARD,
        Severity.WARNING,
        "* within a name is no wildcard; what stands before it is the name, if anything does",
        "write the product token alone, one line for each crawler",
        b"User-agent: Example*\nDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.USER_AGENT_LIST,
        Severity.ERROR,
        "a user-agent line names one crawler; those after the comma are ignored",
        "write one user-agent line for each crawler, one below the other",
        b"User-agent: ExampleBot, OtherBot\nDisallow: /private/\n",
        b"User-agent: ExampleBot\nUser-agent: OtherBot\nDisallow: /private/\n",
    ),
    Check(
        Code.USER_AGENT_NEAR,
        Severity.WARNING,
        "no crawler of this name is known, but one with nearly the same name",
        "write the name that is meant",
        b"User-agent: Googelbot\nDisallow: /private/\n",
        b"User-agent: Googlebot\nDisallow: /private/\n",
    ),
    Check(
        Code.DUPLICATE_GROUP,
        Severity.INFO,
        "another group of this crawler has the same rules",
        "put all rules of a crawler into one group, as `scrapy rep format` does",
        b"User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n\nUser-agent: a\nDisallow: /x\n",
        b"User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n",
    ),
    Check(
        Code.GROUP_SHADOWED,
        Severity.WARNING,
        "another group of this crawler stands above; they are merged, but crawlers that go by "
        "order read only one of them",
        "put all rules of a crawler into one group, as `scrapy rep format` does",
        b"User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow:\n\nUser-agent: a\nDisallow: /y\n",
        b"User-agent: a\nDisallow: /x\nDisallow: /y\n\nUser-agent: b\nDisallow:\n",
    ),
    Check(
        Code.MULTIPLE_STAR,
        Severity.WARNING,
        "another group for * stands above; they are merged, but some crawlers call it an error",
        "put all rules for * into one group, as `scrapy rep format` does",
        b"User-agent: *\nDisallow: /x\n\nUser-agent: *\nDisallow: /y\n",
        b"User-agent: *\nDisallow: /x\nDisallow: /y\n",
    ),
    Check(
        Code.USER_AGENT_REPEATED,
        Severity.INFO,
        "the group names this crawler already",
        "remove the line",
        b"User-agent: a\nUser-agent: A\nDisallow: /x\n",
        b"User-agent: a\nUser-agent: b\nDisallow: /x\n",
    ),
    Check(
        Code.NO_STAR,
        Severity.INFO,
        "no group is for *, so crawlers that are not named may fetch everything",
        "add a group for *, with an empty Disallow if all others may fetch everything",
        b"User-agent: ExampleBot\nDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.GROUP_WITHOUT_RULES,
        Severity.WARNING,
        "the file ends before a rule follows, so the crawlers that the group names may fetch "
        "everything",
        "write an empty Disallow below it, or the rules that are meant",
        b"User-agent: *\nDisallow: /private/\n\nUser-agent: ExampleBot\n",
        b"User-agent: *\nDisallow: /private/\n\nUser-agent: ExampleBot\nDisallow:\n",
    ),
    Check(
        Code.BLANK_LINE_INSIDE,
        Severity.WARNING,
        "a blank line within a group ends it for some crawlers",
        "remove the blank line",
        b"User-agent: *\n\nDisallow: /private/\n",
        b"User-agent: *\nDisallow: /private/\n",
    ),
    Check(
        Code.RECORD_SPLITS_GROUP,
        Severity.WARNING,
        "a record other than a rule stands between user-agent lines; for many crawlers it ends "
        "the group, so that those above it get no rules",
        "put it below the user-agent lines",
        b"User-agent: a\nContent-Signal: search=yes\nUser-agent: b\nDisallow: /x\n",
        b"User-agent: a\nUser-agent: b\nContent-Signal: search=yes\nDisallow: /x\n",
    ),
    Check(
        Code.OWN_TOKEN_ONLY,
        Severity.INFO,
        "some crawlers obey only groups that name them, not the one for *, and the file does not "
        "name these",
        "name those in the group too that it is meant for",
        b"User-agent: *\nDisallow: /\n",
        b"User-agent: *\nDisallow: /private/\n",
    ),
    Check(
        Code.UNENFORCEABLE,
        Severity.INFO,
        "this agent may not obey robots.txt, or not always",
        "block it at the server if it has to stay out",
        b"User-agent: Perplexity-User\nDisallow: /private/\n",
        b"User-agent: PerplexityBot\nDisallow: /private/\n",
    ),
    Check(
        Code.GROUP_SWALLOWED,
        Severity.ERROR,
        "this crawler gets the rules of the next group, since no rule stands below its own "
        "user-agent line",
        "write an empty Disallow below it, or its own rules; leave it if the next group is meant "
        "for it",
        b"User-agent: Bingbot\nCrawl-delay: 5\n\nUser-agent: BadBot\nDisallow: /\n",
        b"User-agent: Bingbot\nCrawl-delay: 5\nDisallow:\n\nUser-agent: BadBot\nDisallow: /\n",
    ),
)
