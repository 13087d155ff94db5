"""The kinds of records, the addresses in them, and the page that describes them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.trail_records import Query, redaction
from scrapy_rep.extras.evidence.trail_shapes import SHAPES
from scrapy_rep.protocol.paths import path_of
from scrapy_rep.protocol.secrecy import bare

_PAGE = Path(__file__).parents[4] / "docs" / "audit.md"


def test_page_describes_every_kind() -> None:
    page, _, _ = _PAGE.read_text(encoding="utf-8").partition("\n## Delete what a site forbids now")
    described = re.findall(r"^\| `([a-z]+)` \|", page, re.MULTILINE)
    assert set(described) - {"t"} == SHAPES.keys()


@given(st.text(), st.text(), st.text())
def test_record_is_one_line_of_json(url: str, rule: str, group: str) -> None:
    record = {"t": "decision", "url": url, "rule": rule, "group": group}
    line = records.line({**record, "p": None})
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    assert line.isascii()
    assert json.loads(line) == record


@given(st.binary())
def test_body_keeps_its_octets(octets: bytes) -> None:
    record = json.loads(records.body(octets, "0"))
    assert records.octets_of(record) == octets


@pytest.mark.parametrize("record", [{}, {"base64": "?"}, {"base64": "é"}])
def test_body_without_octets_is_refused(record: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"octets|base64|ASCII"):
        records.octets_of(record)


@pytest.mark.parametrize(
    ("url", "kept", "hidden"),
    [
        ("https://a.example/x?q=1#f", "https://a.example/x?q=1", True),
        ("https://user:pass@a.example/x", "https://a.example/x", False),
        ("https://u@v@a.example/x?e=me@b.example", "https://a.example/x?e=me@b.example", True),
        ("https://a.example/@me", "https://a.example/@me", False),
        ("//u:p@a.example/", "//a.example/", False),
        ("/relative?q=2", "/relative?q=2", True),
        ("data:,x", "data:,x", False),
        ("https://a.example/x?", "https://a.example/x?", True),
    ],
)
def test_urls_lose_userinfo_and_queries(url: str, kept: str, hidden: bool) -> None:
    assert bare(url) == redaction(Query.KEEP)(url) == kept
    head = kept.partition("?")[0]
    assert redaction(Query.DROP)(url) == (f"{head}?" if hidden else kept)
    hashed = redaction(Query.HASH, b"k")(url)
    assert hashed.startswith(f"{head}?hmac-sha256=" if hidden else kept)
    assert hashed == redaction(Query.HASH, b"k")(url)
    assert not hidden or hashed != redaction(Query.HASH, b"another")(url)


@given(st.from_regex(r"https://([a-z:]*@)?a\.example/[a-z?#@:/]*", fullmatch=True))
def test_shortened_url_has_the_same_path(url: str) -> None:
    assert path_of(bare(url)) == path_of(url.partition("#")[0])


def test_values_of_path_parameters_are_hidden() -> None:
    """Values may identify a session, as in queries; names stay."""
    url = "https://a.example/x;jsessionid=0A1B/y;v=2;z?q=1"
    assert redaction(Query.KEEP)(url) == url
    dropped = redaction(Query.DROP)(url)
    assert dropped == "https://a.example/x;jsessionid=/y;v=;z?"
    assert redaction(Query.DROP)(dropped) == dropped
    hashed = redaction(Query.HASH, b"k")(url)
    assert hashed.startswith("https://a.example/x;jsessionid=hmac-sha256=")
    assert "0A1B" not in hashed
    assert hashed == redaction(Query.HASH, b"k")(url)
    assert hashed != redaction(Query.HASH, b"another")(url)
