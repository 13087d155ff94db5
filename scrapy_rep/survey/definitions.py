"""What each statistic of a survey means, in a sentence: the one table, for output and docs."""

from __future__ import annotations

CAPTURES, FILES = "captures", "files"
KNOWN, LINTED = "captures that tell it", "files linted"
"""The denominators of shares."""

FACTS: dict[str, str] = {
    "sha256": "The different files, by the SHA-256 of their octets.",
    "octets": "The octets of the file as it came, decompressed, also those beyond the parse limit.",
    "is_cut": "The file is longer than the parse limit of 500 KiB, so that its end is ignored.",
    "bom": "The file begins with the byte order mark of UTF-8.",
    "is_utf16": "The file is written in UTF-16.",
    "utf8": "The octets up to the parse limit are UTF-8.",
    "markup": "The file begins as a page: with a doctype, html, head, body, or an XML declaration.",
    "eol": "How the lines end: lf, crlf, cr, more than one of these (mixed), or none.",
    "lines": "The lines up to the parse limit, also blank ones.",
    "lines_blank": "The lines that hold nothing but white space.",
    "comments": "The lines that hold a '#'.",
    "lines_no_record": "The lines that hold more than a comment, and yet no record.",
    "user_agent_lines": "The user-agent lines.",
    "allow_lines": "The allow rules, also those before any group.",
    "disallow_lines": "The disallow rules, also those before any group.",
    "sitemap_lines": "The Sitemap lines.",
    "other_lines": "The other records: neither user-agent lines, rules nor Sitemap lines.",
    "groups": "The unmerged groups: a user-agent line after a rule begins a new group.",
    "multi_agent_groups": "The groups with more than one user-agent line.",
    "names": "The different names of user-agent lines, '*' apart.",
    "has_star": "A group is for '*', everyone else.",
    "names_in_several_groups": "The names, '*' among them, that more than one group names.",
    "rules": "The allow and disallow rules of all groups, also those without effect.",
    "rules_before_agent": "The rules before any group, which apply to no crawler.",
    "empty_rules": "The rules of groups without a path.",
    "wildcard_rules": "The rules of groups with a '*' in their path.",
    "dollar_rules": "The rules of groups whose path ends with '$'.",
    "percent_rules": "The rules of groups with a '%' in their path.",
    "dead_rules": "The rules of groups whose path begins with no '/' or '*': they match nothing.",
    "longest_rule": "The octets of the longest path of a rule.",
    "crawl_delay_star": "The largest valid Crawl-delay for '*', in seconds.",
    "sitemaps": "The different usable URIs of Sitemap lines.",
    "star_class": (
        "The restriction of '*' by verdicts: full (no URL is allowed), part, none (no limits). "
        "Judged are '/', a path that no file names, and the paths that each pattern names."
    ),
    "content_signal": "A Content-Signal record is there; what it says to '*' about '/'.",
    "content_usage": "A Content-Usage record is there; what it says to '*' about '/'.",
    "agents": (
        "The files that name a crawler in a user-agent line, by the restriction of its own group: "
        "full (no URL is allowed), part, none (no restriction). 'effective' adds the files that do "
        "not name it, by the restriction of its fallback or of '*'."
    ),
    "lint": "The files with a finding of this code, and how many findings.",
    "other_keys": "The files with an other record of this key, and how many records.",
    "host": "The different hosts.",
    "scheme": "Whether the file was requested over http or https.",
    "port": "Whether the port is the usual one of the scheme.",
    "date": "When the first and the last of the captures were made.",
    "status": "The status of the last answer.",
    "failure": "The failure, if there was no answer.",
    "hops": "The redirects that were followed.",
    "cross_host": "The last answer is that of another host than the one that was asked.",
    "media_type": "The media type of the answer; rare ones are 'other'.",
    "max_age": "The seconds for which the answer may be kept, where it says so.",
    "sitemaps_cross_host": "The usable URIs of Sitemap lines that are on other hosts.",
    "stratum": "The captures and files of each stratum, and the classes of everyone else there.",
}
"""The 50 facts of a capture."""

OTHERS: dict[str, str] = {
    "captures": "The answers that were read, one for each origin in an input.",
    "files": "The captures with a body that came with 2xx, or by itself: the robots.txt files.",
    "files_with_rules": "The files with at least one rule in a group.",
    "bad_records": "The records of inputs that were left out, by the reason.",
    "purposes": (
        "The files that name a known crawler of this purpose, and those that shut at least one of "
        "them out; 'ai' is every purpose that begins so."
    ),
    "operators": (
        "The files that name a known crawler of this operator, and those that shut at least one of "
        "them out."
    ),
    "licence": "The files with a License record.",
    "error_bound": (
        "By how much the count of an unknown crawler, or of a key, may be too low, because the "
        "rarest of too many different ones were dropped; 0 if all were kept."
    ),
}
DEFINITIONS: dict[str, str] = {**OTHERS, **FACTS}
