"""Files, rules and URLs for hypothesis: mostly near each other, so that rules do match."""

from __future__ import annotations

from hypothesis import strategies as st

_FRAGMENTS = [
    *["/", "a", "b", "ab", "*", "$", "?", "=", ".", "index.htm", "/index.html"],
    *["%", "%2F", "%2f", "%3F", "%41", "%61", "%2A", "%24", "%zz", "%C3%A9", "é", " ", "{"],
    *["/.", "/..", "/%2e", "/.%2E/", "/../", "*%2F", "*a%3F"],
]
_KEYS = [
    *["User-agent", "user-agent", "USERAGENT", "user agent", "Allow", "allow", "Allowed"],
    *["Disallow", "disallow", "DISALLOW", "dissalow", "Sitemap", "site-map", "Crawl-delay"],
    *["Foo", "", " ", "agent", "Disallow x", "#"],
]
_VALUES = ["a", "b", "*", "a/1", "* x", "MJ12bot", "", "/", "/a", "1", "1,5", "http://h/s", "é"]

fragments = st.lists(st.sampled_from(_FRAGMENTS), max_size=7).map("".join)

patterns = fragments.map(lambda rest: f"/{rest}".encode())
"""Path patterns as sites write them; they hold no ``#`` and no outer white space."""

paths = fragments.map(lambda rest: f"/{rest}")
"""Path and query of URLs, as links spell them."""

urls = paths.map(lambda path: f"https://h{path}")

tokens = st.sampled_from(["a", "b", "c", "A", "MJ12bot"])

plain_patterns = patterns.map(bytes.strip)

rules = st.tuples(st.booleans(), plain_patterns)
"""Rules as (allow, path pattern)."""

tame_lines = st.one_of(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(_KEYS),
        st.sampled_from([":", ": ", " : ", " ", "", "\t"]),
        st.one_of(st.sampled_from(_VALUES), paths),
        st.sampled_from(["", " ", "#", " # c", "\0x", "\v"]),
    ),
    st.sampled_from(_KEYS),
)
"""Lines near to real ones, without their ends; also keys alone, which are no records."""

line_ends = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n"])

files = st.one_of(
    st.binary(max_size=300),
    st.lists(st.tuples(tame_lines.map(str.encode), line_ends), max_size=14).map(
        lambda pairs: b"".join(line + end for line, end in pairs)
    ),
    st.tuples(
        st.sampled_from([b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]),
        st.lists(st.one_of(tame_lines.map(str.encode), st.binary(max_size=20)), max_size=10),
    ).map(lambda pair: pair[0] + b"\n".join(pair[1])),
)
"""Any octets: binary, lines near to real ones, and both together after a byte order mark."""
