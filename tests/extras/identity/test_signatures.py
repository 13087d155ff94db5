"""HTTP message signatures: the shared vectors, an oracle of other authors, and odd requests."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64decode
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.datatypes import CaseInsensitiveDict

from scrapy_rep.extras.identity.signatures import (
    FIELDS,
    REQUESTS,
    TAG,
    Message,
    SignatureWish,
    SigningKey,
    agents_in,
    directory_fields,
    problem_of,
    signatures_in,
    signed_fields,
    thumbprint,
    wish_of,
)
from scrapy_rep.extras.structured import dictionary
from tests.shared import SHARED, needs_shared

NOW = 1_800_000_000.5
AGENT = "https://bot.example"


def _octets(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def vectors(kind: str) -> list[dict[str, Any]]:
    if SHARED is None:
        return []
    lines = (SHARED / "conformance/identity.jsonl").read_text(encoding="utf-8").splitlines()
    return [one for one in map(json.loads, lines) if one["kind"] == kind]


PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = SigningKey("the-key", PRIVATE.sign)


def lowered(fields: dict[str, str] | None) -> dict[str, str]:
    assert fields is not None
    return {name.lower(): value for name, value in fields.items()}


@needs_shared
@pytest.mark.parametrize("vector", vectors("request"), ids=lambda one: one["jwk_private"]["kty"])
class TestRequestVectors:
    """The examples of the draft, read, verified, and (Ed25519 has one answer) signed again."""

    def message(self, vector: dict[str, Any], **more: str) -> Message:
        names = ("signature_agent", "signature_input", "signature")
        headers = {name.replace("_", "-"): vector[name] for name in names}
        return Message("GET", vector["url"], {**headers, **more})

    def verify(self, vector: dict[str, Any], signature: bytes, base: bytes) -> None:
        key = vector["jwk_private"]
        if key["kty"] == "RSA":
            numbers = (int.from_bytes(_octets(key[name]), "big") for name in ("e", "n"))
            public = rsa.RSAPublicNumbers(*numbers).public_key()
            salted = padding.PSS(padding.MGF1(hashes.SHA512()), 64)
            public.verify(signature, base, salted, hashes.SHA512())
        else:
            private = Ed25519PrivateKey.from_private_bytes(_octets(key["d"]))
            private.public_key().verify(signature, base)
            assert private.sign(base) == signature

    def test_base_and_signature_are_those_of_the_draft(self, vector: dict[str, Any]) -> None:
        signed = signatures_in(self.message(vector))[vector["label"]]
        assert signed.base.decode() == vector["base"]
        assert signed.parameters["keyid"] == thumbprint(vector["jwk_private"])
        assert signed.agent == "https://signature-agent.test"
        is_other = vector["jwk_private"]["kty"] != "OKP"
        other = "only keys of the type Ed25519 are verified here" if is_other else ""
        # The draft advises against lifetimes of more than a day, and its own examples have more.
        use = replace(REQUESTS, longest_seconds=vector["expires"] - vector["created"])
        for at, problem in (("created", other), ("expires", "it expired 0 s ago")):
            assert problem_of(signed, vector["jwk_private"], use, vector[at]) == problem
        self.verify(vector, signed.signature, signed.base)


@needs_shared
@pytest.mark.parametrize("vector", vectors("directory"))
def test_directory_is_signed_as_in_the_draft(vector: dict[str, Any]) -> None:
    covered = dictionary(vector["signature_input"].encode())
    assert covered is not None
    parameters = covered["binding"].parameters
    created, expires = parameters["created"], parameters["expires"]
    assert isinstance(created, int)
    assert isinstance(expires, int)
    private = next(
        one["jwk_private"] for one in vectors("request") if one["jwk_private"]["kty"] == "OKP"
    )
    sign = Ed25519PrivateKey.from_private_bytes(_octets(private["d"])).sign
    key = SigningKey(thumbprint(private), sign)
    body = vector["body"].encode()
    assert directory_fields(body, vector["authority"], [key], created, expires - created) == {
        "Content-Digest": vector["content_digest"],
        "Signature-Input": vector["signature_input"],
        "Signature": vector["signature"],
    }


@needs_shared
@pytest.mark.parametrize("vector", vectors("signature-agent"), ids=lambda one: one["name"])
def test_signature_agents_are_read(vector: dict[str, Any]) -> None:
    entries = {one["label"]: (one["uri"], one["type"]) for one in vector["entries"]}
    assert agents_in(vector["header"]) == entries


@needs_shared
@pytest.mark.parametrize("vector", vectors("thumbprint"), ids=lambda one: one["name"])
def test_thumbprint_is_that_of_the_rfc(vector: dict[str, Any]) -> None:
    assert thumbprint(vector["jwk"]) == vector["thumbprint"]


@pytest.mark.parametrize("key", [{}, {"kty": "oct", "k": "x"}, {"kty": "OKP", "x": "x"}])
def test_wrong_key_has_no_thumbprint(key: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="JSON Web Key"):
        thumbprint(key)


class TestSigned:
    """A request that we sign."""

    def test_fields_are_those_of_the_profile(self) -> None:
        fields = signed_fields(Message("get", "https://Example.com:443/a?b=c"), AGENT, KEY, NOW)
        assert fields is not None
        assert tuple(fields) == FIELDS
        assert fields["Signature-Agent"] == 'sig1="https://bot.example"'
        assert fields["Signature-Input"] == (
            'sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");created=1800000000;'
            'expires=1800000060;keyid="the-key";alg="ed25519";tag="web-bot-auth"'
        )
        signed = signatures_in(Message("GET", "https://example.com/a", lowered(fields)))["sig1"]
        PRIVATE.public_key().verify(signed.signature, signed.base)
        assert signed.base.startswith(b'"@authority": example.com\n"@method": GET\n"@path": /a\n')

    @pytest.mark.parametrize(
        ("method", "url"),
        [
            ("POST", "https://example.com/a"),
            ("GET", "https://example.com/b"),
            ("GET", "https://www.example.com/a"),
            ("GET", "https://example.com:444/a"),
        ],
    )
    def test_fields_do_not_fit_another_request(self, method: str, url: str) -> None:
        fields = signed_fields(Message("GET", "https://example.com/a"), AGENT, KEY, NOW)
        signed = signatures_in(Message(method, url, lowered(fields)))["sig1"]
        with pytest.raises(InvalidSignature):
            PRIVATE.public_key().verify(signed.signature, signed.base)

    @pytest.mark.parametrize("url", ["about:blank", "https://", "https://exa mple.com/", "data:,x"])
    def test_url_without_an_origin_is_not_signed(self, url: str) -> None:
        assert signed_fields(Message("GET", url), AGENT, KEY, NOW) is None

    @given(
        host=st.sampled_from(
            (
                "example.com",
                "EXAMPLE.com",
                "xn--bcher-kva.example",
                "bücher.example",
                "[::1]",
                "1.2.3.4",
            )
        ),
        port=st.sampled_from(("", ":443", ":8443", ":80")),
        path=st.from_regex(
            r"(/([A-Za-z0-9._~;=@!$&'()*+,:-]|%[0-9A-Fa-f]{2}){0,8}){0,4}", fullmatch=True
        ),
        query=st.from_regex(
            r"(\?([A-Za-z0-9._~;=@!$&'()*+,:/?-]|%[0-9A-Fa-f]{2}){0,20})?", fullmatch=True
        ),
        method=st.sampled_from(("GET", "HEAD", "POST", "PURGE")),
    )
    def test_another_implementation_verifies_it(
        self, host: str, port: str, path: str, query: str, method: str
    ) -> None:
        url = Request(f"https://{host}{port}{path}{query}").url  # as it is sent
        verified_by_another(Message(method, url))


def verified_by_another(message: Message, wish: SignatureWish | None = None) -> None:
    """Verify with a package of other authors, which reads the URL by itself."""
    package = pytest.importorskip("http_message_signatures")

    class Keys(package.HTTPSignatureKeyResolver):  # type: ignore[misc, name-defined]
        def resolve_public_key(self, _: str) -> Any:
            return PRIVATE.public_key()

        resolve_private_key = resolve_public_key

    now = time.time()
    fields = signed_fields(message, AGENT, KEY, now, wish)
    assert fields is not None
    request = SimpleNamespace(
        method=message.method,
        url=message.url,
        headers=CaseInsensitiveDict({**message.headers, **fields}),
    )
    verifier = package.HTTPMessageVerifier(
        signature_algorithm=package.algorithms.ED25519, key_resolver=Keys()
    )
    (result,) = verifier.verify(request, expect_tag=TAG)
    assert str(result.parameters["keyid"]) == KEY.keyid


class TestWishes:
    """`Accept-Signature` (RFC 9421, 5)."""

    def test_components_and_nonce_are_read(self) -> None:
        text = 'sig2=("@authority" "@target-uri" "user-agent");nonce="abc";tag="web-bot-auth"'
        wish = wish_of(text)
        assert wish == SignatureWish(("@authority", "@target-uri", "user-agent"), "abc", "sig2")
        message = Message("GET", "https://example.com/a?b", {"user-agent": "Bot/1"})
        fields = signed_fields(message, AGENT, KEY, NOW, wish)
        assert fields is not None
        assert 'nonce="abc"' in fields["Signature-Input"]
        sent = Message(message.method, message.url, {**message.headers, **lowered(fields)})
        signed = signatures_in(sent)["sig2"]
        assert b'"@target-uri": https://example.com/a?b\n' in signed.base
        PRIVATE.public_key().verify(signed.signature, signed.base)

    @pytest.mark.parametrize(
        ("url", "path", "target"),
        [
            ("https://example.com", "/", "https://example.com/"),
            ("https://example.com?x=1", "/", "https://example.com/?x=1"),
            ("https://example.com/a?", "/a", "https://example.com/a?"),
            ("https://u:p@EXAMPLE.com:443/a;#top", "/a;", "https://example.com/a;"),
            ("http://example.com:80//a?b?/c", "//a", "http://example.com//a?b?/c"),
            ("http://example.com:443#", "/", "http://example.com:443/"),
            ("https://[2001:DB8::1]:443", "/", "https://[2001:db8::1]/"),
        ],
    )
    def test_target_is_normalised(self, url: str, path: str, target: str) -> None:
        wish = SignatureWish(("@target-uri",))
        fields = signed_fields(Message("GET", url), AGENT, KEY, NOW, wish)
        signed = signatures_in(Message("GET", target, lowered(fields)))["sig1"]
        PRIVATE.public_key().verify(signed.signature, signed.base)
        assert f'"@path": {path}\n'.encode() in signed.base
        assert f'"@target-uri": {target}\n'.encode() in signed.base

    def test_missing_header_field_cannot_be_signed(self) -> None:
        wish = wish_of('sig1=("@authority" "cookie")')
        assert wish is not None
        assert signed_fields(Message("GET", "https://example.com/"), AGENT, KEY, NOW, wish) is None

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "sig1",
            'sig1="@authority"',
            'sig1=("@status")',
            'sig1=("@query-param";name="a")',
            'sig1=("@authority");tag="other"',
            'sig1=("@authority");nonce=5',
            'sig1=("@authority");nonce="' + "a" * 600 + '"',
            "sig1=(1 2)",
            "\xff",
        ],
    )
    def test_other_wishes_are_left(self, text: str) -> None:
        assert wish_of(text) is None

    def test_first_possible_wish_counts(self) -> None:
        wish = wish_of('a=("@status"), b=("@authority" "signature-agent";key="b")')
        assert wish is not None
        assert wish.label == "b"


@given(st.binary(max_size=200))
def test_any_octets_are_read(octets: bytes) -> None:
    text = octets.decode("latin-1")
    assert isinstance(agents_in(text), dict)
    headers = {"signature": text, "signature-input": text, "signature-agent": text}
    assert isinstance(signatures_in(Message("GET", "https://example.com/", headers)), dict)
    wish_of(text)
