"""`origin_of` agrees with the protocol's `Origin.of`."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_rep import InvalidUri, Origin
from scrapy_rep.protocol.access.origin import origin_of

SCHEMES = ["http", "https", "HTTP", "ftp", "data", "file", "", "https "]
AUTHORITIES = [
    *["a.example", "A.Example", "a.example:8080", "a.example:65535", "a.example:0", "a.example."],
    *["user:pass@a.example", "[::1]", "[::1]:81", "b\u00fccher.example", "a b.example", ""],
    *["a.example\\b.example", "a%2eexample", "x" * 400, "a.example:99999", "127.0.0.1"],
]
TAILS = ["/", "/a", "/a/b?c=/d#e", "?x=/y", "#/z", "", "//b.example/", "/a b", "/\u00fc", "\\/x"]
ODD = ["", "\x00", "\n", "\x7f", " ", "\t", "\x1f", "\u00a0", "\u2028", "\ud800"]

urls = st.builds(
    lambda before, scheme, authority, tail, within, after: (
        f"{before}{scheme}://{authority}{tail[:1]}{within}{tail[1:]}{after}"
    ),
    st.sampled_from(ODD),
    st.sampled_from(SCHEMES),
    st.sampled_from(AUTHORITIES),
    st.sampled_from(TAILS),
    st.sampled_from(ODD),
    st.sampled_from(ODD),
)


def outcome(find: object, url: str) -> object:
    try:
        return find(url)  # type: ignore[operator]
    except InvalidUri:
        return InvalidUri


@given(url=urls | st.text(max_size=30))
@example(url="https://a.example/\n")
@example(url="https://a.example/ ")
@example(url=" https://a.example/")
@example(url="http:///a.example/b")
def test_quick_origin_agrees_with_the_protocol(url: str) -> None:
    assert outcome(origin_of, url) == outcome(Origin.of, url)
    assert outcome(origin_of, url) == outcome(Origin.of, url), "now from memory"


@pytest.mark.parametrize("octet", ["\x00", "\x1f", "\x7f", "\n"])
@pytest.mark.parametrize("tail", ["{}", "a{}", "a?b={}c", "a#{}"])
def test_known_base_does_not_hide_a_bad_path(octet: str, tail: str) -> None:
    assert origin_of("https://a.example/a") == Origin("https", "a.example", 443)
    with pytest.raises(InvalidUri, match="control characters"):
        origin_of(f"https://a.example/{tail.format(octet)}")
