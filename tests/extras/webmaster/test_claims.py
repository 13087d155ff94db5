"""The crawler that a request claims to be from."""

from __future__ import annotations

import time

import pytest

from scrapy_rep.extras.webmaster.agents.claims import claim_of, identities
from scrapy_rep.protocol.errors import ConfigurationError


@pytest.mark.parametrize(
    ("agent", "name", "tokens"),
    [
        ("Mozilla/5.0 (compatible; gptbot/1.2; +x)", "GPTBot", ("gptbot",)),
        ("Googlebot-Image/1.0", "Googlebot-Image", ("googlebot-image", "googlebot")),
        ("FooBot", "FooBot", ("foobot",)),
        ("Mozilla/5.0 (X11; Linux) ChatGPT-User/1.0", "ChatGPT-User", ("chatgpt-user",)),
        ("Sogou web spider/4.0(+http://www.sogou.com/x)", "Sogou web spider", ("sogou",)),
        (
            "Mozilla/5.0 (Macintosh) Version/13 Safari/605 (Applebot/0.1; +http://apple.com)",
            "Applebot",
            ("applebot", "googlebot"),
        ),
    ],
)
def test_crawler_is_named_by_its_header(agent: str, name: str, tokens: tuple[str, ...]) -> None:
    claim = claim_of(agent)
    assert claim is not None
    assert (claim.name, claim.tokens) == (name, tokens)


@pytest.mark.parametrize(
    "added", ["[Pinterest/Android]", "Flipboard/4.2.23/4722,4.2.23.4722", "CocCoc/33.0.1750.157"]
)
def test_browser_of_an_app_is_not_the_crawler_of_the_same_company(added: str) -> None:
    assert claim_of(f"Mozilla/5.0 (Linux) AppleWebKit/537 Chrome/63 Safari/537 {added}") is None


def test_long_header_takes_little_time() -> None:
    began_at = time.process_time()
    assert claim_of("Mozilla/5.0 " + "a.b-" * 12_000) is None
    assert time.process_time() - began_at < 1


def test_addresses_tell_genuine_from_claimed() -> None:
    told = identities(
        b'{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}, {"ipv6Prefix": "2001:db8::/32"}]}'
    )
    genuine = ("192.0.2.255", "2001:db8:1::1", "[2001:db8::1]", "::ffff:192.0.2.1")
    assert {told(address) for address in genuine} == {"genuine"}
    assert {told(address) for address in ("66.249.66.1", "2a00::1")} == {"claimed"}
    unknown = ("10.0.0.1", "127.0.0.1", "fd00::1", "unix:", "-", "")
    assert {told(address) for address in unknown} == {"unknown"}


def test_addresses_of_several_files_are_genuine() -> None:
    files = (b'{"prefixes": [{"ipv4Prefix": "66.249.%d.0/24"}]}' % one for one in (66, 67))
    told = identities(*files)
    assert {told(address) for address in ("66.249.66.1", "66.249.67.1,")} == {"genuine"}


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"[]",
        b'{"prefixes": [1]}',
        b'{"prefixes": []}',
        b'{"prefixes": [{"a": "x"}]}',
        b"[" * 100_000,
    ],
)
def test_other_files_than_ranges_are_refused(octets: bytes) -> None:
    with pytest.raises(ConfigurationError, match="no list of prefixes"):
        identities(octets)
