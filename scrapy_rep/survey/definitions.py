"""The definition of each statistic of a survey, one sentence each, for the output and the docs."""

from __future__ import annotations

CAPTURES, FILES = "captures", "files"
KNOWN, LINTED = "captures that have it", "files linted"
"""The denominators of shares."""

FACTS: dict[str, str] = {
    "sha256": "The different files, by the SHA-256 of their octets.",
    "octets": "The decompressed octets of the file, including those beyond the parse limit.",
    "is_cut": "The file is longer than the parse limit of 500 KiB, so that its end is ignored.",
    "bom": "The file begins with the byte order mark of UTF-8.",
    "is_utf16": "The file is written in UTF-16.",
    "utf8": "The octets up to the parse limit are UTF-8.",
    "markup": "The file begins like HTML or XML: a doctype, html, head, body, or XML declaration.",
    "eol": "How the lines end: lf, crlf, cr, more than one of these (mixed), or none.",
    "lines": "The lines up to the parse limit, including blank ones.",
    "lines_blank": "The lines with only white space.",
    "comments": "The lines with a '#'.",
    "lines_no_record": "The lines with text that is neither a record nor a comment.",
    "user_agent_lines": "The user-agent lines.",
    "allow_lines": "The allow rules, including those before any group.",
    "disallow_lines": "The disallow rules, including those before any group.",
    "sitemap_lines": "The Sitemap lines.",
    "other_lines": "The other records: neither user-agent lines, rules nor Sitemap lines.",
    "groups": "The unmerged groups: a user-agent line after a rule begins a new group.",
    "multi_agent_groups": "The groups with more than one user-agent line.",
    "names": "The different names in user-agent lines, without '*'.",
    "has_star": "A group is for '*', all other crawlers.",
    "names_in_several_groups": "The names, including '*', that are in more than one group.",
    "rules": "The allow and disallow rules of all groups, including those without effect.",
    "rules_before_agent": "The rules before any group, which apply to no crawler.",
    "empty_rules": "The rules in groups that have an empty path.",
    "wildcard_rules": "The rules in groups with a '*' in their path.",
    "dollar_rules": "The rules in groups with a '$' at the end of their path.",
    "percent_rules": "The rules in groups with a '%' in their path.",
    "dead_rules": "The rules in groups that match nothing: no '/' or '*' begins their path.",
    "longest_rule": "The octets of the longest path of a rule.",
    "crawl_delay_star": "The largest valid Crawl-delay for '*', in seconds.",
    "sitemaps": "The different usable URIs of Sitemap lines.",
    "star_class": (
        "The restriction of '*' by verdicts: full (no URL is allowed), part, none (no limits). The "
        "URLs judged are '/', a path that no file names, and the paths that each pattern names."
    ),
    "content_signal": "The file has a Content-Signal record, and its preferences for '*' and '/'.",
    "content_usage": "The file has a Content-Usage record, and its preferences for '*' and '/'.",
    "agents": (
        "The files that name a crawler in a user-agent line, by the restriction of its own group: "
        "full (no URL is allowed), part, none (no restriction). 'effective' adds the files that do "
        "not name it, by the restriction of its fallback or of '*'."
    ),
    "lint": "The files with a finding of this code, and the number of findings.",
    "other_keys": "The files with another kind of record, by its key, and the number of records.",
    "host": "The different hosts.",
    "scheme": "Whether the file was requested over http or https.",
    "port": "Whether the port is the default of the scheme.",
    "date": "The dates of the first and the last capture.",
    "status": "The status of the last answer.",
    "failure": "The failure, if there was no answer.",
    "hops": "The redirects that were followed.",
    "cross_host": "The last answer came from another host than the requested one.",
    "media_type": "The media type of the answer; rare ones are 'other'.",
    "max_age": "The seconds for which the answer may be kept, if it has a max-age.",
    "sitemaps_cross_host": "The usable URIs of Sitemap lines that are on other hosts.",
    "stratum": "The captures and files of each stratum, and the classes of '*' in it.",
}
"""The 50 facts of a capture."""

OTHERS: dict[str, str] = {
    "captures": "The answers that were read: one for each origin in a store or in trails, and one "
    "for each fetch in WARC files.",
    "files": "The robots.txt files: captures that have a body, and a 2xx status or no status.",
    "files_with_rules": "The files with at least one rule in a group.",
    "bad_records": "The records of inputs that were left out, by reason.",
    "purposes": (
        "The files that name a known crawler of this purpose, and those that shut at least one of "
        "them out; 'ai' counts all purposes that begin with it."
    ),
    "operators": (
        "The files that name a known crawler of this operator, and those that shut at least one of "
        "them out."
    ),
    "licence": "The files with a License record.",
    "error_bound": (
        "By how much the count of an unknown crawler, or of a key, may be too low because the "
        "rarest ones were dropped; 0 if all were kept."
    ),
}
DEFINITIONS: dict[str, str] = {**OTHERS, **FACTS}

LABELS: dict[str, str] = {
    "files_with_rules": "rules",
    "has_star": "a group for '*'",
    "multi_agent_groups": "groups for several crawlers",
    "names_in_several_groups": "names in several groups",
    "rules_before_agent": "rules before any group",
    "empty_rules": "rules with an empty path",
    "wildcard_rules": "rules with '*'",
    "dollar_rules": "rules with '$' at the end",
    "percent_rules": "rules with '%'",
    "dead_rules": "rules that match nothing",
    "lines_no_record": "lines that are not records",
    "other_lines": "other records",
    "crawl_delay_star": "Crawl-delay for '*'",
    "sitemaps_cross_host": "sitemaps on other hosts",
    "bom": "a byte order mark",
    "is_utf16": "UTF-16",
    "utf8": "valid UTF-8",
    "markup": "HTML or XML",
    "is_cut": "more than 500 KiB",
    "octets": "size in octets",
    "longest_rule": "longest rule in octets",
    "hops": "redirects",
    "max_age": "max-age in seconds",
    "media_type": "media type",
    "eol": "line ends",
    "content_signal": "Content-Signal",
    "content_usage": "Content-Usage",
    "star_full": "'*' full",
    "star_part": "'*' part",
    "star_none": "'*' none",
    "names_ai": "name AI crawlers",
    "shuts_ai_out": "shut AI crawlers out",
}
"""Statistics in words for people; the others have a name that is a word."""
