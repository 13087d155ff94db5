"""``scrapy rep identity``: the key, the published files, and the checks of both."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from scrapy_rep.extras.identity.card import Profile, card_problems, key_set, key_set_problems
from scrapy_rep.extras.identity.keys import KeyPair
from scrapy_rep.extras.identity.signatures import (
    DIRECTORY_TYPE,
    Message,
    SigningKey,
    directory_fields,
    signed_fields,
    thumbprint,
)
from scrapy_rep.protocol.access.origin import DIRECTORY_PATH
from tests.commands.calling import Done, rep, rep_process
from tests.extras import needs
from tests.extras.identity.test_signatures import vectors
from tests.processes import REPOSITORY
from tests.servers.handle import Answer, Site, certificate
from tests.shared import needs_shared

TEMPLATES = REPOSITORY / "scrapy_rep" / "extras" / "evidence" / "templates"
AGENT = "https://bot.example"
MEMBER = '"signature-agent";key="sig1"'
BOT: dict[str, Any] = {
    "REP_SIGN_KEY": "bot.pem",  # cards and pages do not read it
    "REP_SIGN_AGENT": AGENT,
    "USER_AGENT": "Mozilla/5.0 (compatible; ExampleBot/1.0)",
    "ROBOTSTXT_USER_AGENT": "ExampleBot",
    "ROBOTSTXT_OBEY": True,
    "REP_REPORT_CONTACT": "Example Ltd <bot@example.com>, https://example.com/bot",
    "REP_USES": ["search"],
}


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    path = tmp_path / "bot.pem"
    KeyPair.create(path)
    return path


def test_new_key_is_a_file_of_its_owner_and_never_replaces_another(here: Path) -> None:
    done = rep("identity", "keygen", "bot.pem")
    path = here / "bot.pem"
    assert done.status == 0
    assert done.out == KeyPair.read(path).signing.keyid + "\n"
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    again = rep("identity", "keygen", "bot.pem")
    assert (again.status, again.out) == (1, "")
    assert "not overwritten" in again.err
    assert path.read_bytes() == before
    assert rep("identity", "keygen", "no/such/folder.pem").status == 2


class TestDirectory:
    """The keys as a file to serve."""

    def test_two_keys_are_published_during_a_rotation(self, pem: Path, tmp_path: Path) -> None:
        new = KeyPair.create(tmp_path / "new.pem")
        done = rep("identity", "directory", pem, tmp_path / "new.pem")
        keys = json.loads(done.out)
        assert done.status == 0
        assert [key["kid"] for key in keys["keys"]] == [
            KeyPair.read(pem).signing.keyid,
            new.signing.keyid,
        ]
        assert key_set_problems(keys) == []
        assert "PRIVATE" not in done.out + done.err
        assert not any("d" in key for key in keys["keys"])
        assert f"Content-Type: {DIRECTORY_TYPE}\n" in done.err
        assert "Signature" not in done.err

    def test_each_key_signs_the_octets_that_are_written(self, pem: Path, tmp_path: Path) -> None:
        KeyPair.create(tmp_path / "new.pem")
        done = rep("identity", "directory", pem, tmp_path / "new.pem", "--sign", "bot.example")
        assert done.err.count("-----") == 0
        fields = dict(line.split(": ", 1) for line in done.err.splitlines()[1:])
        assert fields["Signature"].count("binding") == 2
        pair = KeyPair.read(pem)
        now = float(fields["Signature-Input"].split("created=")[1].split(";")[0])
        one = directory_fields(done.out.encode(), "bot.example", [pair.signing], now, 7 * 86400)
        assert fields["Content-Digest"] == one["Content-Digest"]
        assert fields["Signature"].startswith(one["Signature"] + ", binding1=:")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--sign", "no host"), "names no origin"),
            (("--sign", "bot.example", "--days", "0"), "give 1 or more"),
        ],
    )
    def test_wrong_option_is_explained(
        self, pem: Path, options: tuple[str, ...], words: str
    ) -> None:
        done = rep("identity", "directory", pem, *options)
        assert done.status == 2
        assert words in done.err


@needs_shared
@pytest.mark.parametrize("vector", vectors("card"), ids=lambda one: one["name"])
def test_card_is_judged_as_the_draft_does(vector: dict[str, Any]) -> None:
    problems = card_problems(vector["card"], vector["url"])
    assert problems == ([] if vector["valid"] else [vector["error"]])


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([], "JWK Set"),
        ({"keys": [1]}, "not a JSON Web Key"),
        ({"keys": [1] * 101}, "more than 100 keys"),
        ({"keys": [{"kty": []}]}, "not a JSON Web Key"),
        ({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}]}, "must be the thumbprint"),
        ({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA", "d": "BB"}]}, "is private"),
    ],
)
def test_key_set_of_any_shape_is_judged(keys: object, words: str) -> None:
    assert words in "\n".join(key_set_problems(keys))


@needs("evidence")
@needs("pages")
def test_card_has_the_facts_of_the_settings() -> None:
    done = rep("identity", "card", settings=BOT)
    card = json.loads(done.out)
    assert card_problems(card, f"{AGENT}/bot.json") == []
    assert card["contacts"] == ["https://example.com/bot", "mailto:bot@example.com"]
    assert card["web_bot_auth"] == {
        "expected-user-agent": BOT["USER_AGENT"],
        "rfc9309-product-token": "ExampleBot",
        "rfc9309-compliance": True,
        "trigger": "crawler",
        "purpose": "search",
    }
    assert "the card is a draft" in done.err


@needs("evidence")
@needs("pages")
def test_page_has_the_same_facts() -> None:
    html = rep("identity", "page", settings=BOT | {"USER_AGENT": "Bot/1 (<b>)"}).out
    policies = [
        re.findall('<meta http-equiv="Content-Security-Policy" [^>]*>', text)
        for text in (html, (TEMPLATES / "base.html").read_text(encoding="utf-8"))
    ]
    assert policies[0] == policies[1] != [], "as the report has it"
    assert "User-agent: ExampleBot\nDisallow: /" in html
    for fact in ("mailto:bot@example.com", "Bot/1 (&lt;b&gt;)", AGENT + DIRECTORY_PATH, "search"):
        assert fact in html
    lawless = rep("identity", "page", settings=BOT | {"ROBOTSTXT_OBEY": False}).out
    assert "does not obey robots.txt" in lawless
    assert "Disallow" not in lawless


class TestVerify:
    """A request that a file describes."""

    @pytest.fixture
    def request_of(self, pem: Path) -> Callable[..., bytes]:
        def made(url: str = "https://example.com/a?b", first: str = "") -> bytes:
            key = KeyPair.read(pem).signing
            fields = signed_fields(Message("GET", url), AGENT, key, time.time())
            assert fields is not None
            lines = [first or f"GET {url}", *(f"{name}: {one}" for name, one in fields.items())]
            return "\r\n".join(lines).encode()

        return made

    def test_signed_request_verifies_in_either_form(
        self, pem: Path, request_of: Callable[..., bytes]
    ) -> None:
        settings = {"REP_SIGN_KEY": str(pem), "REP_SIGN_AGENT": AGENT}
        for first in ("", "GET /a?b HTTP/1.1\nHost: example.com"):
            done = rep("identity", "verify", stdin=request_of(first=first), settings=settings)
            assert (done.status, done.err) == (0, "")
            assert done.out.startswith("sig1: verifies (key ")
            assert AGENT in done.out

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            ("/a?b", "/other", "the message has changed"),
            ("GET", "POST", "the message has changed"),
            ("Signature:", "X:", "lacks its Signature"),
            ("Signature-Agent: sig1=", "Signature-Agent: ", "must be a Dictionary"),
            ("Signature-Input", "X", "no signature"),
            ("sig1=(", "sig1=((", "no signature"),
            (
                'keyid="',
                'keyid="x',
                "its key is unknown; the keys are at https://bot.example/.well",
            ),
        ],
    )
    def test_reason_is_named_otherwise(
        self,
        pem: Path,
        request_of: Callable[..., bytes],
        before: str,
        after: str,
        words: str,
    ) -> None:
        settings = {"REP_SIGN_KEY": str(pem), "REP_SIGN_AGENT": AGENT}
        changed = request_of().replace(before.encode(), after.encode(), 1)
        done = rep("identity", "verify", stdin=changed, settings=settings)
        assert done.status == 1
        assert words in done.out

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({}, ""),
            ({"covered": ['"@target-uri"', MEMBER]}, ""),
            ({"expires": 1000 + 86400}, ""),
            ({"created": 1060, "expires": 1061}, ""),
            ({"key": {"nbf": 1000, "exp": 1001.5}}, ""),
            ({"covered": ['"@method"', MEMBER]}, "it does not cover @authority or @target-uri"),
            ({"covered": ['"@authority"']}, "it does not cover signature-agent"),
            ({"covered": ['"@authority"', '"signature-agent"']}, "Signature-Agent by its key"),
            ({"covered": ['"@authority"', '"@authority"', MEMBER]}, "covers a component twice"),
            ({"covered": ['"@authority";req', MEMBER]}, 'the message has no "@authority";req'),
            ({"covered": ['"@authority"', MEMBER, '"@status"']}, 'the message has no "@status"'),
            ({"covered": ['"@authority"', MEMBER, "host"]}, "the message has no host"),
            ({"more": ';alg="hmac-sha256"'}, "its alg is 'hmac-sha256', not 'ed25519'"),
            ({"more": ";alg=ed25519"}, "alg is not a String"),
            ({"more": ";nonce=5"}, "nonce is not a String"),
            ({"more": ";keyid=:AAAA:"}, "keyid is not a String"),
            ({"more": ";tag=web-bot-auth"}, "tag is not a String"),
            ({"more": ';tag="other"'}, "its tag is 'other', not 'web-bot-auth'"),
            ({"drops": ';tag="web-bot-auth"'}, "tag is missing"),
            ({"drops": ";expires=1060"}, "expires is missing"),
            ({"drops": ";created=1000"}, "created is missing"),
            ({"created": "?1"}, "created is not an Integer"),
            ({"created": "1000.5"}, "created is not an Integer"),
            ({"created": '"1000"'}, "created is not an Integer"),
            ({"expires": "@1060"}, "expires is not an Integer"),
            ({"created": 1005, "expires": 1003}, "expires is before created"),
            ({"expires": 1000 + 86401}, "it is valid for more than 24 hours"),
            ({"created": 900, "expires": 1001}, "it expired 0 s ago"),
            ({"created": 1062, "expires": 1063}, "created is in the future"),
            ({"key": {"nbf": 1002}}, "its key is not valid before nbf = 1002"),
            ({"key": {"exp": 1000}}, "its key is not valid after exp = 1000"),
            ({"key": {"exp": "never"}}, "its key is not valid after exp = never"),
            ({"key": {"nbf": float("nan")}}, "its key is not valid before nbf = nan"),
        ],
    )
    def test_each_rule_for_a_request_is_tested(
        self, tmp_path: Path, changes: dict[str, Any], words: str
    ) -> None:
        """Each request has a valid signature by the same key, over what it says."""
        private = Ed25519PrivateKey.generate()
        public = urlsafe_b64encode(private.public_key().public_bytes_raw()).decode().rstrip("=")
        jwk = {"kty": "OKP", "crv": "Ed25519", "x": public}
        (tmp_path / "keys.json").write_text(
            json.dumps({"keys": [{**jwk, **changes.get("key", {})}]})
        )
        values = {
            '"@authority"': "example.com",
            '"@authority";req': "example.com",
            '"@method"': "GET",
            '"@status"': "200",
            '"@target-uri"': "https://example.com/",
            "host": "example.com",
            MEMBER: f'"{AGENT}"',
            '"signature-agent"': f'sig1="{AGENT}"',
        }
        covered = changes.get("covered", ['"@authority"', MEMBER])
        parameters = (
            f"({' '.join(covered)});created={changes.get('created', 1000)};"
            f'expires={changes.get("expires", 1060)};keyid="{thumbprint(jwk)}";tag="web-bot-auth"'
        ).replace(changes.get("drops", "\n"), "") + changes.get("more", "")
        lines = [
            *(f"{one}: {values[one]}" for one in covered),
            f'"@signature-params": {parameters}',
        ]
        signature = b64encode(private.sign("\n".join(lines).encode())).decode()
        request = (
            f"GET https://example.com/ HTTP/1.1\nHost: example.com\n"
            f'Signature-Agent: sig1="{AGENT}"\n'
            f"Signature-Input: sig1={parameters}\nSignature: sig1=:{signature}:\n"
        )
        options = ("--keys", tmp_path / "keys.json", "--at", 1001)
        done = rep("identity", "verify", *options, stdin=request.encode())
        first = done.out.partition("\n")[0]
        if words:
            assert first.startswith("sig1: does not verify: ")
            assert words in first
        else:
            assert first.startswith("sig1: verifies (key ")
        assert done.status == (1 if words else 0)

    def test_time_of_an_old_request_can_be_given(
        self, pem: Path, request_of: Callable[..., bytes], tmp_path: Path
    ) -> None:
        keys = tmp_path / "keys.json"
        keys.write_bytes(rep("identity", "directory", pem).out.encode())
        text, now = request_of(), time.time()
        late = rep("identity", "verify", "--keys", keys, stdin=text, at=now + 3600)
        assert late.status == 1
        assert "it expired 35" in late.out
        assert '"@authority": example.com' in late.out, "the base helps to find the error"
        done = rep("identity", "verify", "--keys", keys, "--at", now, stdin=text, at=now + 3600)
        assert done.status == 0

    @pytest.mark.parametrize("text", [b"", b"nothing", b"GET /a HTTP/1.1\nX: y", b"\xff\x00"])
    def test_file_without_a_request_is_refused(self, pem: Path, text: bytes) -> None:
        settings = {"REP_SIGN_KEY": str(pem), "REP_SIGN_AGENT": AGENT}
        done = rep("identity", "verify", stdin=text, settings=settings)
        assert done.status == 2
        assert "begin with 'GET https://example.com/ HTTP/1.1'" in done.err


class TestCheck:
    """The files of a real server."""

    @pytest.fixture
    def site(self) -> Any:
        with Site(tls=True, default=Answer(status=404)) as made:
            yield made

    @pytest.fixture(autouse=True)
    def _trusting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate()))

    def origin(self, site: Site) -> str:
        return site.url("", "localhost")

    def publish(self, site: Site, pem: Path, **changes: Answer) -> None:
        """Serve files without an error; a name in `changes` serves another answer."""
        pair, origin = KeyPair.read(pem), self.origin(site)
        body = json.dumps(key_set([pair.jwk]))
        authority = origin.partition("://")[2]
        signed = directory_fields(body.encode(), authority, [pair.signing], time.time(), 600)
        fields = {"Content-Type": DIRECTORY_TYPE, "Cache-Control": "max-age=60", **signed}
        card = Profile(origin, "Example", "ExampleBot", BOT["USER_AGENT"]).card(
            f"{origin}/bot.json"
        )
        site.change(
            {
                "/robots.txt": changes.get("robots", Answer(body="User-agent: *\nDisallow: /x")),
                DIRECTORY_PATH: changes.get(
                    "directory", Answer(body=body, headers=list(fields.items()))
                ),
                "/bot.json": changes.get("card", of_json(card)),
            }
        )

    def check(self, site: Site, pem: Path, *options: object, path: str = "") -> Done:
        settings = BOT | {"REP_SIGN_KEY": pem, "REP_SIGN_AGENT": self.origin(site) + path}
        settings |= {"REP_STORE": "memory", "RETRY_ENABLED": False, "REP_USES": "search"}
        given = [word for name, one in settings.items() for word in ("-s", f"{name}={one}")]
        return rep_process("rep", "identity", "check", *options, *given)

    @pytest.mark.parametrize("path", ["", DIRECTORY_PATH])
    def test_files_of_the_commands_are_right(self, site: Site, pem: Path, path: str) -> None:
        self.publish(site, pem)
        done = self.check(site, pem, path=path)
        assert (done.status, done.err) == (0, "")
        assert done.out.count("right  ") == len(done.out.splitlines()) == 4

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            (
                {
                    "directory": Answer(status=301, headers=[("Location", "/keys")]),
                    "card": Answer(status=500),
                    "robots": Answer(status=503),
                },
                (
                    "the status is 301, a redirect to /keys",
                    "the status is 500; serve it with 200",
                    "it is unreachable (503)",
                ),
            ),
            (
                {"directory": Answer(body="<p>"), "card": Answer(body='{"client_id": "x"}')},
                (
                    f"Content-Type: {DIRECTORY_TYPE}",
                    "the body is not JSON",
                    "client_id must match the card URL",
                ),
            ),
            (
                {
                    "directory": Answer(body='{"keys":[{"kty":"x","kid":"y"}]}'),
                    "card": Answer(body='{"web_bot_auth": {"rfc9309-product-token": "Other"}}'),
                    "robots": Answer(body="User-agent: *\nDisallow: /"),
                },
                (
                    "'y' is not a JSON Web Key",
                    "of REP_SIGN_KEY is missing",
                    "rfc9309-product-token is 'Other', and this project has 'ExampleBot'",
                    "add 'Allow: /.well-known/",
                ),
            ),
        ],
        ids=["answers", "bodies", "values"],
    )
    def test_each_error_is_named(
        self, site: Site, pem: Path, changes: dict[str, Answer], words: tuple[str, ...]
    ) -> None:
        self.publish(site, pem, **changes)
        done = self.check(site, pem)
        assert done.status == 1
        assert [one for one in words if one not in done.out] == []
        wrong = [line.split()[1] for line in done.out.splitlines() if line.startswith("wrong  ")]
        assert wrong[:2] == ["directory", "card"]

    def test_signatures_of_the_directory_are_verified(self, site: Site, pem: Path) -> None:
        """By a key that it does not contain, for other octets, in the past, and for a request."""
        pair, origin, now = KeyPair.read(pem), self.origin(site), time.time()
        other = KeyPair.create(pem.with_name("other.pem")).signing
        body, authority = json.dumps(key_set([pair.jwk])), origin.partition("://")[2]

        def signed(
            key: SigningKey = pair.signing,
            octets: str = body,
            at: float = now,
            host: str = authority,
        ) -> dict[str, str]:
            return directory_fields(octets.encode(), host, [key], at, 600)

        as_request = signed_fields(
            Message("GET", origin + DIRECTORY_PATH), AGENT, pair.signing, now
        )
        assert as_request is not None
        verify = "its signature binding does not verify: "
        wrong = [
            (signed(other), verify + "its key is unknown"),
            (signed(octets="another"), "its Content-Digest is not that of its octets"),
            (signed(at=now - 700), verify + "it expired"),
            (signed(host="other.example"), verify + "another key made it, or the message has"),
            (as_request, "its signature sig1 does not verify: it does not cover content-digest"),
            ({"Signature": signed()["Signature"]}, "no Signature-Input with components"),
        ]
        for fields, words in wrong:
            headers = [("Content-Type", DIRECTORY_TYPE), ("Cache-Control", "max-age=9")]
            answer = Answer(body=body, headers=[*headers, *fields.items()])
            self.publish(site, pem, directory=answer)
            done = self.check(site, pem)
            assert words in done.out
            assert done.status == 1
            assert done.out.startswith("wrong  directory")

    def test_card_is_optional_unless_it_is_named(self, site: Site, pem: Path) -> None:
        self.publish(site, pem, card=Answer(status=404))
        done = self.check(site, pem)
        assert (done.status, done.err) == (0, "")
        assert "note: there is no card" in done.out
        assert self.check(site, pem, "--url", self.origin(site) + "/bot.json").status == 1

    def test_certificate_that_no_verifier_accepts_is_unreachable(
        self, site: Site, pem: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("SSL_CERT_FILE")
        self.publish(site, pem)
        done = self.check(site, pem)
        assert done.status == 3
        assert "certificate" in done.out


def of_json(value: object) -> Answer:
    return Answer(body=json.dumps(value), headers=[("Content-Type", "application/json")])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("keygen",), "keygen needs the name of a new file"),
        (("keygen", "a", "b"), "takes 1 names: a b"),
        (("card", "a"), "takes no names: a"),
        (("card",), "set REP_SIGN_AGENT"),
        (("check", "http://bot.example"), "must be an https origin"),
        (("directory",), "give the PEM file of the key, or set REP_SIGN_KEY"),
        (("directory", "none.pem"), "none.pem: no key can be read"),
        (("verify",), "give --keys FILE"),
        (("verify", "--keys", "pyproject.toml"), "pyproject.toml: not a JWK Set"),
    ],
)
def test_wrong_usage_of_identity_is_explained(arguments: tuple[str, ...], words: str) -> None:
    done = rep("identity", *arguments, stdin=b"GET https://a.example/")
    assert done.status == 2
    assert words in done.err
