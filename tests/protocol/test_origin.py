"""semantics.md, part 5, scope: scheme, host and port, in the one form that can be compared."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.origin import Origin, has_clear_authority
from scrapy_rep.protocol.access.redirects import next_hop
from scrapy_rep.protocol.errors import InvalidUri


class TestScope:
    """5: Default ports equal their absence, IDN equals punycode, userinfo and case play no part."""

    @pytest.mark.parametrize(
        ("uri", "origin"),
        [
            ("http://example.com", Origin("http", "example.com", 80)),
            ("http://example.com:/x", Origin("http", "example.com", 80)),
            ("https://example.com:443/x", Origin("https", "example.com", 443)),
            ("ftp://example.com/x", Origin("ftp", "example.com", 21)),
            ("HTTPS://EXAMPLE.com/", Origin("https", "example.com", 443)),
            ("http://user:pa@ss@example.com/", Origin("http", "example.com", 80)),
            ("http://[::1]:/", Origin("http", "::1", 80)),
            ("http://example.com?x", Origin("http", "example.com", 80)),
            ("http://example.com#x", Origin("http", "example.com", 80)),
            ("http://bücher.example/", Origin("http", "xn--bcher-kva.example", 80)),
            ("http://BÜCHER.example/", Origin("http", "xn--bcher-kva.example", 80)),
            ("http://xn--bcher-kva.example/", Origin("http", "xn--bcher-kva.example", 80)),
            ("http://例え。example/", Origin("http", "xn--r8jz45g.example", 80)),
            ("http://127.0.0.1:8080/", Origin("http", "127.0.0.1", 8080)),
            ("http://127.0.0.1:65535/", Origin("http", "127.0.0.1", 65_535)),
            ("http://localhost:10000", Origin("http", "localhost", 10_000)),
            ("http://[2001:DB8::1]/", Origin("http", "2001:db8::1", 80)),
            ("http://a_b.example/", Origin("http", "a_b.example", 80)),
        ],
    )
    def test_origin_of_a_uri_is_normalised(self, uri: str, origin: Origin) -> None:
        assert Origin.of(uri) == origin
        assert Origin.of(str(origin)) == origin

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("http://example.com/", "https://example.com/"),
            ("http://example.com/", "http://example.com./"),
            ("http://example.com/", "http://example.com:81/"),
            ("http://example.com/", "http://www.example.com/"),
            ("https://example.com:80/", "http://example.com/"),
            ("http://127.0.0.1/", "http://localhost/"),
        ],
    )
    def test_scheme_host_and_port_tell_origins_apart(self, one: str, other: str) -> None:
        assert Origin.of(one) != Origin.of(other)


class TestNotJudged:
    """5: Other schemes are not judged."""

    @pytest.mark.parametrize(
        "uri",
        [
            "data:text/html,x",
            "file:///etc",
            "s3://b/k",
            "about:blank",
            "javascript:1",
            "mailto:a@b",
        ],
    )
    def test_other_schemes_have_no_origin(self, uri: str) -> None:
        assert Origin.of(uri) is None

    @pytest.mark.parametrize(
        "uri", ["", "/x", "example.com/x", "//example.com/x", ":", "httpx://a"]
    )
    def test_without_a_judged_scheme(self, uri: str) -> None:
        assert Origin.of(uri) is None


class TestInvalid:
    """5: A judged scheme without a host or port that can be asked is an error of the caller's."""

    @pytest.mark.parametrize(
        "uri",
        [
            "http:",
            "http://",
            "http:///x",
            "http:/x",
            "http://:80/",
            "http://user@/",
            "http://a:0/",
            "http://a:65536/",
            "http://a:-1/",
            "http://a:x/",
            "http://a:８０/",
            "http://[::1/",
            "http://a b/",
            "http://a%62/",
            "http://a;b/",
            "http://[::1];x",
            "http://[::1]x:80/",
            "http://u@[::1]:80;/",
            "http://a;@b;/",
            "http://a\\b/",
            "http://é..com/",
            "http://\u00ad/",
            f"http://{'é' * 80}/",
        ],
    )
    def test_names_no_origin(self, uri: str) -> None:
        with pytest.raises(InvalidUri, match="names no origin"):
            Origin.of(uri)

    @pytest.mark.parametrize("blank", ["\\", " ", "\t", "\xa0", "\u3000", "\x85", "\u200b", "\x7f"])
    @pytest.mark.parametrize("shape", ["u{}@a", "u:{}p@a", "{}a", "a{}", "a{}:80", "a.{}b"])
    def test_an_authority_that_clients_read_differently(self, shape: str, blank: str) -> None:
        """Some end it at a backslash, some drop blanks: they would ask different hosts."""
        authority = shape.format(blank)
        with pytest.raises(InvalidUri, match="names no origin"):
            Origin.of(f"http://{authority}/")
        for reference in (f"//{authority}/", f"http://{authority}", f"hTTp://{authority}?/"):
            assert not has_clear_authority(reference)
            hop = next_hop(["http://h/robots.txt"], 301, reference.encode(), limit=5)
            assert hop is Failure.GUARD or blank not in f"{hop}"

    @pytest.mark.parametrize(
        "reference",
        ["/a b", "/a\\b", "a b", "http://h/ ", "//h?\\", "http://u:p@h/#\\", "x:\\//", "", "?//\\"],
    )
    def test_an_authority_that_is_clear(self, reference: str) -> None:
        assert has_clear_authority(reference)

    @pytest.mark.parametrize("uri", ["http://a％b/", "http://a＼b/", "http://a\u3000b/"])
    def test_host_that_becomes_invalid(self, uri: str) -> None:
        """Full-width forms become ASCII in the host's ASCII form, and are no better there."""
        with pytest.raises(InvalidUri, match="names no origin"):
            Origin.of(uri)


@pytest.mark.parametrize(
    ("uri", "other"),
    [
        ("http://h/", "https://h"),
        ("https://h:443/", "http://h"),
        ("http://h:8080/", None),
        ("ftp://h/", None),
    ],
)
def test_other_scheme_of_an_origin_is_found(uri: str, other: str | None) -> None:
    origin = Origin.of(uri)
    assert origin is not None
    found = origin.other_scheme
    assert (None if found is None else str(found)) == other


class TestAccessMethod:
    """2.3: The rules MUST be at ``/robots.txt``, in lower case, at the top of the service."""

    @pytest.mark.parametrize(
        ("uri", "robots_txt"),
        [
            ("https://www.example.com/a/b?c#d", "https://www.example.com/robots.txt"),
            ("ftp://ftp.example.com/a", "ftp://ftp.example.com/robots.txt"),
            ("http://example.com:8080", "http://example.com:8080/robots.txt"),
            ("HTTP://u:p@Example.COM:80/", "http://example.com/robots.txt"),
            ("https://[::1]:444/", "https://[::1]:444/robots.txt"),
        ],
    )
    def test_uri_of_robots_txt_is_at_the_root(self, uri: str, robots_txt: str) -> None:
        origin = Origin.of(uri)
        assert origin is not None
        assert origin.robots_txt_uri == robots_txt
