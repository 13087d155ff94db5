"""Rows of the table: rules, their wildcards and escapes, and their effect."""

from __future__ import annotations

from .codes import Check, Code, Severity


def _star(*rules: str) -> bytes:
    return "\n".join(("User-agent: *", *rules, "")).encode()


RULES = (
    Check(
        Code.RULE_MATCHES_NOTHING,
        Severity.ERROR,
        "a path pattern begins with neither '/' nor '*' and matches nothing",
        "put a / in front of it",
        _star("Disallow: private/"),
        _star("Disallow: /private/"),
    ),
    Check(
        Code.FULL_URL,
        Severity.ERROR,
        "a path pattern is a path, not a URL; this one matches nothing",
        "write the path alone; other hosts have files of their own",
        _star("Disallow: https://example.com/private/"),
        _star("Disallow: /private/"),
    ),
    Check(
        Code.SPACE_IN_PATH,
        Severity.WARNING,
        "the path holds white space, which some crawlers take for its end",
        "write %20",
        _star("Disallow: /my files/"),
        _star("Disallow: /my%20files/"),
    ),
    Check(
        Code.SEVERAL_PATHS,
        Severity.ERROR,
        "a rule has one path; this is read as one that holds a blank or a comma",
        "write one rule for each path",
        _star("Disallow: /a /b"),
        _star("Disallow: /a", "Disallow: /b"),
    ),
    Check(
        Code.FRAGMENT,
        Severity.WARNING,
        "# begins a comment, also within a path; what follows it is ignored",
        "write %23 if the character is meant, or put a blank in front of the comment",
        _star("Disallow: /page#top"),
        _star("Disallow: /page # top"),
    ),
    Check(
        Code.DUPLICATE_RULE,
        Severity.INFO,
        "the group has the same rule above",
        "remove the line",
        _star("Disallow: /a", "Disallow: /a"),
        _star("Disallow: /a", "Disallow: /b"),
    ),
    Check(
        Code.TIE,
        Severity.WARNING,
        "the group allows and disallows the same path; allow decides, but not for all crawlers",
        "remove the one that is not meant; without the Allow, the path is disallowed",
        _star("Disallow: /a", "Allow: /a"),
        _star("Disallow: /a", "Allow: /a/b"),
    ),
    Check(
        Code.EMPTY_ALLOW,
        Severity.WARNING,
        "an empty Allow is no rule; it neither allows nor forbids",
        "remove the line",
        _star("Allow:"),
        _star("Disallow:"),
    ),
    Check(
        Code.EMPTY_BESIDE_RULES,
        Severity.WARNING,
        "an empty Disallow beside other rules has no effect, but some crawlers take it for "
        "'everything is allowed'",
        "remove the line",
        _star("Disallow:", "Disallow: /private/"),
        _star("Disallow: /private/"),
    ),
    Check(
        Code.RULE_TOO_LONG,
        Severity.WARNING,
        "the path is longer than 1,024 octets; Yandex does not read it",
        "shorten the path, with * in place of its end",
        _star("Disallow: /" + "a" * 1024),
        _star("Disallow: /a"),
    ),
    Check(
        Code.BACKSLASH,
        Severity.WARNING,
        "a backslash does not divide paths; clients send / or %5C in its place",
        "write /",
        _star("Disallow: /private\\files"),
        _star("Disallow: /private/files"),
    ),
    Check(
        Code.DOT_SEGMENTS,
        Severity.WARNING,
        "clients resolve '.' and '..' before they send a request, so no path in one holds these",
        "write the path as it is asked for",
        _star("Disallow: /a/../private/"),
        _star("Disallow: /private/"),
    ),
    Check(
        Code.DISALLOW_ALL,
        Severity.INFO,
        "crawlers that are not named may fetch nothing, search engines among them",
        "make sure that this is meant",
        _star("Disallow: /"),
        _star("Disallow: /private/"),
    ),
    Check(
        Code.BLOCKS_ROBOTS,
        Severity.INFO,
        "/robots.txt itself is always allowed, whatever a rule says",
        "remove the line; paths that only begin like that, if there are any, are allowed then",
        _star("Disallow: /robots.txt"),
        _star("Disallow: /private/"),
    ),
    Check(
        Code.CONTROL_CHARACTER,
        Severity.WARNING,
        "the path holds a control character, which nobody sees and no URL holds as it is",
        "remove it, or write it as a percent-escape if it is meant",
        _star("Disallow: /pri\bvate/"),
        _star("Disallow: /private/"),
    ),
)

WILDCARDS = (
    Check(
        Code.DOLLAR_NOT_LAST,
        Severity.WARNING,
        "$ is the end of the path only where it stands last; here it is the character",
        "write %24, which is that character",
        _star("Disallow: /a$b"),
        _star("Disallow: /a%24b"),
    ),
    Check(
        Code.BAD_ESCAPE,
        Severity.WARNING,
        "% without two hexadecimal digits is no escape; it is read as %25, and as the begin of any "
        "escape",
        "write %25 if that character is meant, and whole escapes if these are",
        _star("Disallow: /100%/"),
        _star("Disallow: /100%25/"),
    ),
    Check(
        Code.NOT_ASCII,
        Severity.WARNING,
        "crawlers differ in how they compare characters that are not ASCII",
        "write them as percent-escapes of UTF-8",
        _star("Disallow: /café/"),
        _star("Disallow: /caf%C3%A9/"),
    ),
    Check(
        Code.TRAILING_STAR,
        Severity.INFO,
        "a rule matches whatever follows, so * at its end only makes it one octet longer",
        "remove the *",
        _star("Disallow: /private/*"),
        _star("Disallow: /private/"),
    ),
    Check(
        Code.REPEATED_STAR,
        Severity.INFO,
        "several * in a row match no more than one does",
        "write one *",
        _star("Disallow: /a**b"),
        _star("Disallow: /a*b"),
    ),
    Check(
        Code.NEEDLESS_ESCAPE,
        Severity.WARNING,
        "an escape equals the character that needs none, but not for crawlers that compare octets",
        "write the character as it stands in URLs",
        _star("Disallow: /%7Euser/"),
        _star("Disallow: /~user/"),
    ),
    Check(
        Code.LOWER_CASE_ESCAPE,
        Severity.INFO,
        "escapes in lower case equal those in upper case, but not for all crawlers",
        "write the digits in upper case",
        _star("Disallow: /caf%c3%a9/"),
        _star("Disallow: /caf%C3%A9/"),
    ),
    Check(
        Code.REGULAR_EXPRESSION,
        Severity.WARNING,
        "rules know * and a final $, and no other part of regular expressions",
        "write it with * and $, or as several rules",
        _star("Disallow: /.*[0-9]+"),
        _star("Disallow: /*9"),
    ),
    Check(
        Code.LEADING_STAR,
        Severity.INFO,
        "crawlers without wildcards read nothing in a rule that begins with *",
        "put / in front of the * if the rule is not meant for the top of the site",
        _star("Disallow: */private/"),
        _star("Disallow: /*/private/"),
    ),
    Check(
        Code.ESCAPED_SLASH,
        Severity.INFO,
        "an escaped / or ? in a path does not divide it, and is not equal to the character",
        "write the character if it is meant",
        _star("Disallow: /a%2Fb"),
        _star("Disallow: /a/b"),
    ),
    Check(
        Code.MANY_WILDCARDS,
        Severity.WARNING,
        "the file has more than 2,000 rules with wildcards; a URL that nearly matches too many of "
        "them is disallowed, since to tell would take too long",
        "merge rules with wildcards, or write paths without them",
        b"User-agent: *\n" + b"".join(b"Disallow: /*p%d/\n" % number for number in range(2001)),
        b"User-agent: *\nDisallow: /*p\n",
    ),
)

EFFECT = (
    Check(
        Code.RULE_SHADOWED,
        Severity.WARNING,
        "the rule can never decide: wherever it matches, a more specific one does too",
        "remove the rule",
        _star("Disallow: /a", "Allow: /a*"),
        _star("Disallow: /a", "Allow: /a/b"),
    ),
    Check(
        Code.RULE_REDUNDANT,
        Severity.INFO,
        "the rule has no effect: without it, every path gets the same verdict",
        "remove the rule",
        _star("Disallow: /a", "Disallow: /a/b"),
        _star("Disallow: /a", "Allow: /a/b"),
    ),
    Check(
        Code.BLOCKS_RESOURCES,
        Severity.INFO,
        "by its name, the rule seems to be for style sheets or scripts, without which crawlers "
        "can't see pages as people do",
        "allow style sheets and scripts that pages need",
        _star("Disallow: /*.css$"),
        _star("Disallow: /*.pdf$"),
    ),
    Check(
        Code.BLOCKS_SITEMAP,
        Severity.WARNING,
        "the rule keeps the crawler that it is for from a sitemap of this file",
        "allow the sitemap's path",
        b"User-agent: a\nDisallow: /sitemap\nSitemap: https://example.com/sitemap.xml\n",
        b"User-agent: a\nDisallow: /private\nSitemap: https://example.com/sitemap.xml\n",
    ),
    Check(
        Code.GROUP_LIKE_STAR,
        Severity.INFO,
        "the group has the same rules as the one for *, so the crawlers that it names need "
        "none of their own",
        "name the crawler in the group for *, as `scrapy rep format` does",
        b"User-agent: a\nDisallow: /x\n\nUser-agent: *\nDisallow: /x\n",
        b"User-agent: a\nDisallow: /y\n\nUser-agent: *\nDisallow: /x\n",
    ),
    Check(
        Code.ORDER_MATTERS,
        Severity.INFO,
        "a shorter rule above matches the same paths; the longer one decides, but not for "
        "crawlers that take the first match",
        "put the longer rule first",
        _star("Disallow: /a", "Allow: /a/b"),
        _star("Allow: /a/b", "Disallow: /a"),
    ),
)
