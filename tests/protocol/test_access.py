"""semantics.md, part 5: the table of access results, cell by cell, and the overrides.

The table is written out here by itself, not read from the code, so that a changed cell shows.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import pytest

from scrapy_rep.protocol.access.events import (
    CLASSES,
    PRESETS,
    AccessPolicy,
    AccessResult,
    Event,
    Failure,
    Meaning,
    access_result,
    seen_whole,
)
from scrapy_rep.protocol.errors import ConfigurationError

_RULES, _ALLOW, _DISALLOW = Meaning.RULES, Meaning.ALLOW, Meaning.DISALLOW


class _Row(NamedTuple):
    result: AccessResult
    rfc9309: Meaning
    google: Meaning
    strict: Meaning
    lenient: Meaning
    scrapy: Meaning


_FILE = _Row(AccessResult.SUCCESSFUL, _RULES, _RULES, _RULES, _RULES, _RULES)
_PAGE = _FILE._replace(strict=_DISALLOW)
_GONE = _Row(AccessResult.UNAVAILABLE, _ALLOW, _ALLOW, _ALLOW, _ALLOW, _ALLOW)
_GUARDED = _Row(AccessResult.UNAVAILABLE, _ALLOW, _ALLOW, _DISALLOW, _ALLOW, _ALLOW)
_DOWN = _Row(AccessResult.UNREACHABLE, _DISALLOW, _DISALLOW, _DISALLOW, _ALLOW, _ALLOW)

_TABLE: dict[Event, _Row] = {
    **dict.fromkeys(range(100, 200), _DOWN),
    **dict.fromkeys(range(200, 300), _FILE),
    **dict.fromkeys(range(300, 400), _GUARDED),
    304: _DOWN,  # neither a redirect nor an answer to our request: nonsense
    **dict.fromkeys(range(400, 500), _GONE),
    **dict.fromkeys((401, 403), _GUARDED),
    429: _DOWN,
    **dict.fromkeys(range(500, 1000), _DOWN),
    Failure.DNS: _DOWN,
    Failure.REFUSED: _DOWN,
    Failure.RESET: _DOWN,
    Failure.TLS: _DOWN,
    Failure.TIMEOUT: _DOWN,
    Failure.TRUNCATED: _DOWN,
    Failure.UNDECODABLE: _DOWN,
    Failure.GUARD: _DOWN,
    Failure.LOCAL: _DOWN,
    Failure.NETWORK: _DOWN,
    Failure.REDIRECT_LIMIT: _GUARDED,
    Failure.REDIRECT_LOOP: _GUARDED,
    Failure.REDIRECT_TARGET: _GUARDED,
    Failure.HTML: _PAGE,
    Failure.CHALLENGE: _DOWN,
}


def _means(overrides: dict[str, str], event: Event, preset: str = "rfc9309") -> Meaning:
    return AccessPolicy(preset, overrides).meaning(event)


class TestTable:
    """5: Each event's access result, and what it means under each preset."""

    def test_no_event_is_left_out(self) -> None:
        assert set(_TABLE) == {*range(100, 1000), *Failure}

    def test_every_event_has_its_access_result(self) -> None:
        assert {event: access_result(event) for event in _TABLE} == {
            event: row.result for event, row in _TABLE.items()
        }

    @pytest.mark.parametrize("preset", ["rfc9309", "google", "strict", "lenient", "scrapy"])
    def test_every_preset_means_what_the_table_says(self, preset: str) -> None:
        policy = AccessPolicy(preset)
        assert {event: policy.meaning(event) for event in _TABLE} == {
            event: getattr(row, preset) for event, row in _TABLE.items()
        }

    def test_rfc9309_is_the_default_preset(self) -> None:
        assert set(PRESETS) == set(_Row._fields) - {"result"}
        assert AccessPolicy() == AccessPolicy("rfc9309")

    @pytest.mark.parametrize("status", [-404, -1, 0, 20, 99, 1000, 2000, 4040, 40_000])
    def test_numbers_that_are_no_status(self, status: int) -> None:
        assert access_result(status) is AccessResult.UNREACHABLE
        assert AccessPolicy().meaning(status) is _DISALLOW


class TestNames:
    """5: Events and classes as users name them."""

    @pytest.mark.parametrize("name", sorted(CLASSES))
    def test_every_class_can_be_named(self, name: str) -> None:
        assert AccessPolicy(overrides={name: "disallow"}).overrides == {name: "disallow"}

    @pytest.mark.parametrize("name", sorted(CLASSES - {"0xx"}))
    def test_every_class_holds_some_event(self, name: str) -> None:
        """An override that could never apply would be a promise not kept."""
        usual, other = AccessPolicy("lenient"), AccessPolicy("lenient", {name: "disallow"})
        assert any(usual.meaning(event) is not other.meaning(event) for event in _TABLE)


class TestOverrides:
    """5: Per-class overrides; a more specific key wins."""

    @pytest.mark.parametrize(
        ("event", "narrow_to_wide"),
        [
            (404, ("404", "4xx", "unavailable")),
            (429, ("429", "4xx", "unreachable")),
            (503, ("503", "5xx", "unreachable")),
            (302, ("302", "3xx", "redirect", "unavailable")),
            (304, ("304", "3xx", "nonsense", "unreachable")),
            (150, ("150", "1xx", "nonsense", "unreachable")),
            (777, ("777", "7xx", "nonsense", "unreachable")),
            (Failure.DNS, ("dns", "network", "unreachable")),
            (Failure.GUARD, ("guard", "network", "unreachable")),
            (Failure.HTML, ("html", "2xx")),
            (Failure.REDIRECT_LOOP, ("redirect-loop", "redirect", "unavailable")),
        ],
    )
    def test_narrower_class_of_events_wins(
        self, event: Event, narrow_to_wide: tuple[str, ...]
    ) -> None:
        for narrow_meaning, wide_meaning in (("allow", "disallow"), ("disallow", "allow")):
            for index, narrow in enumerate(narrow_to_wide):
                overrides = dict.fromkeys(narrow_to_wide[index + 1 :], wide_meaning)
                overrides[narrow] = narrow_meaning
                assert _means(overrides, event) is Meaning(narrow_meaning)
                if len(overrides) > 1:
                    del overrides[narrow]
                    assert _means(overrides, event) is Meaning(wide_meaning)

    @pytest.mark.parametrize("preset", sorted(PRESETS))
    def test_overrides_change_any_preset(self, preset: str) -> None:
        assert _means({"5xx": "allow", "dns": "disallow"}, 500, preset) is _ALLOW
        assert _means({"5xx": "allow", "dns": "disallow"}, Failure.DNS, preset) is _DISALLOW

    def test_other_events_keep_their_meaning(self) -> None:
        usual, other = AccessPolicy(), AccessPolicy(overrides={"404": "disallow"})
        changed = {e for e in _TABLE if usual.meaning(e) is not other.meaning(e)}
        assert changed == {404}

    def test_nonsense_is_what_no_other_row_names(self) -> None:
        usual, other = AccessPolicy(), AccessPolicy(overrides={"nonsense": "allow"})
        changed = {e for e in _TABLE if usual.meaning(e) is not other.meaning(e)}
        assert changed == {*range(100, 200), 304, *range(600, 1000)}
        closing = AccessPolicy("lenient", {"nonsense": "disallow"})
        assert closing.meaning(200) is _RULES
        assert closing.meaning(404) is _ALLOW

    def test_a_success_can_mean_anything(self) -> None:
        assert _means({"204": "allow"}, 204) is _ALLOW
        assert _means({"206": "disallow"}, 206) is _DISALLOW
        assert _means({"2xx": "disallow", "200": "rules"}, 200) is _RULES
        assert _means({"html": "rules"}, Failure.HTML, "strict") is _RULES

    def test_a_page_of_html_goes_by_its_status_too(self) -> None:
        overrides = {"html": "rules", "202": "allow", "2xx": "disallow"}
        for meaning, name in ((_RULES, "html"), (_ALLOW, "202"), (_DISALLOW, "2xx")):
            assert AccessPolicy("strict", overrides).meaning(Failure.HTML, 202) is meaning
            del overrides[name]
        assert AccessPolicy("strict", {"203": "rules"}).meaning(Failure.HTML, 202) is _DISALLOW

    def test_no_override_makes_up_rules(self) -> None:
        """A body without an access that succeeded is no robots.txt."""
        for name in ("404", "4xx", "dns", "unavailable", "unreachable", "nonsense", "redirect"):
            with pytest.raises(ConfigurationError, match=f"'{name}' can't mean 'rules'"):
                AccessPolicy(overrides={name: "rules"})


class TestErrors:
    """5: A wrong policy, class or meaning is refused at once, with a way to fix it."""

    def test_unknown_preset_is_an_error(self) -> None:
        with pytest.raises(
            ConfigurationError, match="'polite' is not a policy: choose one of rfc9309"
        ):
            AccessPolicy("polite")

    @pytest.mark.parametrize(
        "name",
        [
            *["", "40", "4040", "099", "4XX", "0xx", "10xx", "xx", "DNS", "ok", "successful"],
            "٤٠٤",
        ],
    )
    def test_unknown_class_of_events_is_an_error(self, name: str) -> None:
        with pytest.raises(ConfigurationError, match="is not a class of events: use a status"):
            AccessPolicy(overrides={name: "allow"})

    @pytest.mark.parametrize("meaning", ["", "Allow", "deny", "RULES"])
    def test_unknown_meaning_is_an_error(self, meaning: str) -> None:
        with pytest.raises(ConfigurationError, match="choose one of allow, disallow"):
            AccessPolicy(overrides={"404": meaning})


_DOCTYPE = b"<!doctype html>"


class TestChallenges:
    """5 (4): An edge answers instead of the site; only documented markers count."""

    MARKED: ClassVar[list[tuple[int, str, str]]] = [
        (403, "cf-mitigated", "challenge"),
        (503, "cf-mitigated", "challenge"),
        (200, "cf-mitigated", "Challenge "),
        (302, "cf-mitigated", "challenge"),
        (403, "cf-mitigated", "challenge, challenge"),
        (403, "cf-mitigated", "challenge;x=1"),
        (202, "x-amzn-waf-action", "challenge"),
        (405, "x-amzn-waf-action", "captcha"),
        (429, "x-vercel-mitigated", "challenge"),
        (401, "x-dd-b", "1"),
        (403, "x-dd-b", ""),
        (403, "accept-signature", 'sig1=("@authority");tag="web-bot-auth"'),
        (429, "accept-signature", "sig1=()"),
    ]

    @pytest.mark.parametrize(("status", "field", "value"), MARKED)
    @pytest.mark.parametrize("body", [b"", b"User-agent: *\nAllow: /", b"<html>"])
    def test_marked_answer_is_a_challenge(
        self, status: int, field: str, value: str, body: bytes
    ) -> None:
        assert seen_whole(status, {field: value}, body) is Failure.CHALLENGE

    @pytest.mark.parametrize(
        ("status", "field", "value"),
        [
            (200, "cf-mitigated", ""),
            (403, "cf-mitigated", "block"),
            (403, "cf-ray", "challenge"),
            (403, "server", "cloudflare"),
            (200, "x-amzn-waf-action", "count"),
            (200, "x-dd-b", "1"),
            (200, "accept-signature", "sig1=()"),
            (200, "content-security-policy", "script-src https://challenges.cloudflare.com"),
            (200, "set-cookie", "cf-mitigated=challenge"),
        ],
    )
    def test_other_fields_mark_no_challenge(self, status: int, field: str, value: str) -> None:
        for body in (b"User-agent: *\n# Just a moment... captcha challenge", b""):
            assert seen_whole(status, {field: value}, body) == status

    @pytest.mark.parametrize(
        ("status", "meaning"),
        [(200, _DISALLOW), (202, _DISALLOW), (403, _ALLOW), (405, _ALLOW), (503, _DISALLOW)],
    )
    def test_google_reads_the_status_but_no_success(self, status: int, meaning: Meaning) -> None:
        assert AccessPolicy("google").meaning(Failure.CHALLENGE, status) is meaning
        for preset in ("rfc9309", "strict"):
            assert AccessPolicy(preset).meaning(Failure.CHALLENGE, status) is _DISALLOW

    def test_overrides_name_it(self) -> None:
        assert _means({"challenge": "allow"}, Failure.CHALLENGE) is _ALLOW
        assert _means({"unreachable": "allow"}, Failure.CHALLENGE) is _ALLOW
        assert _means({"network": "allow", "403": "allow"}, Failure.CHALLENGE) is _DISALLOW
        for name in ("403", "4xx", "unavailable"):
            policy = AccessPolicy("lenient", {name: "disallow"})
            assert policy.meaning(Failure.CHALLENGE, 403) is _DISALLOW
        google = AccessPolicy("google", {"challenge": "disallow"})
        assert google.meaning(Failure.CHALLENGE, 403) is _DISALLOW


class TestHtml:
    """5: A 2xx with an HTML page as its body is an event of its own."""

    @pytest.mark.parametrize(
        "body",
        [
            b"<!DOCTYPE html><title>x</title>",
            b"<!doctype html",
            b" \t\r\n\v\f<HTML lang=en>",
            b"\xef\xbb\xbf\n<html>",
            "<!doctype html>".encode("utf-16"),
            b"<html>\nUser-agent: *\nDisallow: /",
            b"<!doctype html>" + b"x" * 600_000,
        ],
    )
    @pytest.mark.parametrize("content_type", ["", "text/plain", "text/html"])
    def test_by_its_first_octets(self, body: bytes, content_type: str) -> None:
        assert seen_whole(200, {"content-type": content_type}, body) is Failure.HTML
        assert seen_whole(203, {"content-type": content_type}, body) is Failure.HTML

    @pytest.mark.parametrize(("text", "is_page"), [(b"Not found", True), (b"Disallow: /", False)])
    def test_page_source_of_a_file_is_no_page(self, text: bytes, *, is_page: bool) -> None:
        body = b"<html><head></head><body><pre>" + text + b"</pre></body></html>"
        for kind in ("", "text/plain", "text/html"):
            found = seen_whole(200, {"content-type": kind}, body)
            assert found == (Failure.HTML if is_page else 200)

    @pytest.mark.parametrize(
        ("body", "is_page"),
        [
            (b"Not found", True),
            (b"<meta name=viewport>\n<p>See: the index", True),
            (b"# nothing", True),
            (b"User-agent: *\nDisallow: /x", False),
            (b"<p>\ndisallow /x", False),
            (b"crawl-delay: 2", False),
            (b"Sitemap: /s.xml", False),
            (b"", False),
            (b"\xef\xbb\xbf\r\n \n", False),
        ],
    )
    def test_content_type_decides_on_other_bodies(self, body: bytes, *, is_page: bool) -> None:
        for kind in ("text/html", "Text/HTML ; charset=utf-8", "text/html, text/html"):
            assert seen_whole(200, {"content-type": kind}, body) == (
                Failure.HTML if is_page else 200
            )
        for kind in ("", "text/plain", "text/htmlx", "application/json; x=text/html"):
            assert seen_whole(200, {"content-type": kind}, body) == 200

    @pytest.mark.parametrize(
        "event", [404, 503, 302, 304, 100, Failure.REDIRECT_LOOP, Failure.LOCAL, Failure.TRUNCATED]
    )
    def test_only_of_a_success(self, event: Event) -> None:
        assert seen_whole(event, {"content-type": "text/html"}, _DOCTYPE) == event
