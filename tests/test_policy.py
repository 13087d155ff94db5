"""What a policy tells of its file, beyond verdicts."""

from __future__ import annotations

import pytest

from scrapy_rep.policy import Policy, Reading
from scrapy_rep.protocol.access import Meaning
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.lint.codes import Code
from scrapy_rep.protocol.origin import Origin

ORIGIN = Origin("https", "example.com", 443)
BODY = b"""\
Sitemap: /a.xml
User-agent: *
Disallow: /private
Clean-param: ref /shop
Host: not a host
Host: www.example.com
License: /l.xml
"""


def policy(body: bytes = BODY) -> Policy:
    robots_txt = parse(body, ORIGIN.robots_txt_uri)
    return Policy(ORIGIN, 200, Meaning.RULES, Reading(robots_txt, robots_txt), ("*",))


def test_what_the_file_says() -> None:
    found = policy()
    assert found.sitemaps == ("https://example.com/a.xml",)
    assert found.host == "www.example.com"
    assert found.clean_params("https://example.com/shop/1") == {"ref"}
    assert (
        found.canonical("https://example.com/shop/1?ref=2&a=3") == "https://example.com/shop/1?a=3"
    )
    keys = [record.key for record in found.other_records]
    assert keys == [b"Clean-param", b"Host", b"Host", b"License"]
    assert [one.code for one in found.findings] == [Code.SITEMAP_RELATIVE]


def test_of_nothing() -> None:
    found = policy(b"")
    assert (found.sitemaps, found.other_records, found.findings) == ((), (), ())
    assert found.host is None
    assert found.canonical("https://example.com/?a") == "https://example.com/?a"


def test_the_file_is_read_once_for_each_view(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    for name in ("sitemaps", "findings", "records"):
        whole = vars(RobotsTxt)[name].fget

        def counted(self: RobotsTxt, name: str = name, whole: object = whole) -> object:
            read.append(name)
            return whole(self)  # type: ignore[operator]

        monkeypatch.setattr(RobotsTxt, name, property(counted))
    found = policy()
    for _ in range(3):
        _ = (found.sitemaps, found.findings, found.other_records, found.host)
        found.canonical("https://example.com/?a")
        # As a confirmed copy has it: another policy, the same reading of the same file.
        found = Policy(ORIGIN, 200, Meaning.RULES, found.reading, ("*",))
    assert sorted(read) == ["findings", "records", "records", "sitemaps"]


def test_what_is_kept_is_counted() -> None:
    found = policy(b"a: b\n" * 1000)
    grown: list[int] = []
    found.grown = lambda policy: grown.append(policy.octets)
    before = found.octets
    assert len(found.other_records) == 1000
    assert len(found.other_records) == 1000
    assert grown == [found.octets]
    assert found.octets - before > 1000 * 100
