"""Laws for every file, rule and URL, and agreement with the slow model."""

from __future__ import annotations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS, Kind, UserAgentLines, clean, records
from scrapy_rep.protocol.verdict import Reason, Verdict

from . import model
from .reading import (
    END,
    TOKEN,
    URI,
    allows,
    findings_of,
    matches,
    normal_path,
    normal_pattern,
    read,
)
from .strategies import (
    files,
    paths,
    patterns,
    rules,
    tame_lines,
    tokens,
    urls,
)

Rules = list[tuple[bool, bytes]]

_rule_lists = st.lists(rules, max_size=8)


def _body(found: Rules) -> bytes:
    lines = (b"%s: %s\n" % (b"Allow" if allow else b"Disallow", path) for allow, path in found)
    return b"User-agent: *\n" + b"".join(lines)


def _meaning(verdict: Verdict) -> tuple[bool, Reason, int, bytes]:
    """All of a verdict but where the rule stands."""
    rule = verdict.rule
    pattern, octets = (rule.path_pattern, rule.octets) if rule else (b"", 0)
    return verdict.allowed, verdict.reason, octets, pattern


class TestNothingRaises:
    """2.3.1.5: Every question about any octets, token and URL has an answer."""

    @given(body=files, token=tokens, url=st.one_of(urls, st.text()))
    def test_any_document_is_parsed_and_judged(self, body: bytes, token: str, url: str) -> None:
        robots_txt = parse(body, URI)
        verdict = robots_txt.verdict(url, token)
        assert robots_txt.verdict(url, token) == verdict
        assert str(verdict)
        group = robots_txt.group(token)
        if verdict.reason is not Reason.IMPLICITLY_ALLOWED:
            assert (group is None) is (verdict.reason is Reason.NO_GROUP)
        line_count = robots_txt.octets.count(b"\n") + 1
        assert all(0 < record.line <= line_count for record in robots_txt.other_records)
        assert all(0 <= finding.line <= line_count for finding in findings_of(robots_txt))
        assert len(set(robots_txt.sitemaps)) == len(robots_txt.sitemaps)
        delay = robots_txt.crawl_delay(token)
        assert delay is None or 0 <= delay < float("inf")
        robots_txt.request_rate(token)
        robots_txt.visit_time(token)

    @given(body=files)
    def test_reading_again_is_equal(self, body: bytes) -> None:
        assert parse(body, URI) == parse(body, URI)

    @given(header=st.text())
    def test_any_header_has_only_its_own_tokens(self, header: str) -> None:
        assert all(token in header for token in tokens_from_user_agent(header))

    @given(uri=st.text())
    def test_any_path_has_a_normal_form(self, uri: str) -> None:
        path = normal_path(uri)
        assert path.startswith(b"/")
        assert path.endswith(END)
        assert path.count(END) == 1
        assert b"*" not in path


class TestModel:
    """2.2: The fast code reads and decides as a slow reading of the text does."""

    @given(found=_rule_lists, path=paths)
    @example(found=[(True, b"/a/index.html"), (False, b"/")], path="/a/")
    @example(found=[(False, b"/*?a%2F")], path="/?a/")
    @example(found=[(False, b"/*a%2F")], path="/?a/")
    @example(found=[(False, b"/*a%2F*b%3Fc$")], path="/x%2Fa%2F/?b/b?c")
    @example(found=[(False, b"/b")], path="/a/%2E./b")
    @example(found=[(False, b"/a/"), (True, b"/a/%2e")], path="/a/.")
    def test_model_of_rules_agrees(self, found: Rules, path: str) -> None:
        assert allows(_body(found), f"http://h{path}") is model.allows(found, path.encode())

    @given(
        pattern=st.text("ab*$", max_size=9),
        url=st.text("ab", max_size=12),
    )
    def test_model_of_wildcards_agrees(self, pattern: str, url: str) -> None:
        """Few letters and many stars, where greedy matching could go wrong."""
        assert matches(f"/{pattern}", f"/{url}") is model.matches(
            f"/{pattern}".encode(), f"/{url}".encode()
        )

    @given(found=st.lists(tame_lines, max_size=16), token=tokens)
    def test_model_of_groups_agrees(self, found: list[str], token: str) -> None:
        body = "\n".join(found).encode()
        group = parse(body).group(token)
        own = None if group is None else [(r.allow, r.path_pattern) for r in group.rules]
        assert own == model.rules_for(body, token)

    @given(body=files, token=tokens, path=paths)
    @example(body=b"\xff\xfeUser-agent: *\nDisallow: /a", token="a", path="/a")
    def test_model_of_files_agrees(self, body: bytes, token: str, path: str) -> None:
        found = model.rules_for(body, token) or []
        assert allows(body, f"http://h{path}", token) is model.allows(found, path.encode())


class TestLines:
    """1: A file read in parts, or for some lines only, says the same."""

    @given(body=files)
    def test_lazy_reading_is_full_reading(self, body: bytes) -> None:
        octets, _, _ = clean(body)
        full = [(at, value) for at, kind, _, value in records(octets) if kind is Kind.USER_AGENT]
        assert [(start, value) for start, _, value in UserAgentLines(octets)] == full

    @given(body=files, split=st.integers(0, 20))
    def test_reading_in_parts(self, body: bytes, split: int) -> None:
        octets, _, _ = clean(body)
        starts = [0, *(at + 1 for at, octet in enumerate(octets) if octet == 0x0A)]
        middle = starts[split % len(starts)]
        parts = [*records(octets, 0, middle), *records(octets, middle)]
        assert parts == list(records(octets))


class TestVerdicts:
    """3: The rule that decides would decide alone; the number of others changes nothing."""

    @given(found=_rule_lists, url=urls)
    def test_deciding_rule_decides_alone(self, found: Rules, url: str) -> None:
        verdict = read(_body(found)).verdict(url, TOKEN)
        assume(verdict.rule is not None)
        assert verdict.rule is not None
        line = _body(found).split(b"\n")[verdict.line - 1]
        assert line.decode("utf-8", "backslashreplace") == str(verdict.rule)
        alone = read(b"User-agent: *\n" + line).verdict(url, TOKEN)
        assert _meaning(alone) == _meaning(verdict)

    @given(found=st.lists(rules, min_size=256, max_size=300), url=urls)
    @settings(max_examples=15)
    def test_many_rules_are_as_few(self, found: Rules, url: str) -> None:
        """Large sets are kept in another form: it changes nothing."""
        relevant = [rule for rule in found if read(_body([rule])).verdict(url, TOKEN).rule]
        assert allows(_body(found), url) is allows(_body(relevant), url)


class TestNormalForm:
    """3: One form, reached at once; equal octets are equal however written."""

    @given(path=st.one_of(paths, st.text().map(lambda text: f"/{text}")))
    def test_of_paths_is_its_own(self, path: str) -> None:
        normal = normal_path(f"http://h{path}")
        assert normal_path(f"http://h{normal.removesuffix(END).decode('ascii')}") == normal

    @given(pattern=st.one_of(patterns, st.binary().map(lambda octets: b"/" + octets)))
    def test_of_rules_is_its_own(self, pattern: bytes) -> None:
        normal = normal_pattern(pattern)
        assert normal_pattern(normal) == normal

    @given(octets=st.binary(max_size=20), lower=st.booleans(), query=st.booleans())
    def test_escaping_more_changes_nothing(
        self, octets: bytes, *, lower: bool, query: bool
    ) -> None:
        """All octets escaped, in either case, except delimiters and wildcards."""
        head = "/?" if query else "/"
        kept = b"%/?" if not query else b"%"
        text = octets.replace(b"%", b"")
        escaped = "".join(
            chr(octet) if octet in kept else f"%{octet:02{'x' if lower else 'X'}}" for octet in text
        )
        rule = text.replace(b"*", b"%2a").replace(b"$", b"%24")
        assert normal_pattern(head.encode() + rule) + END == normal_path(f"http://h{head}{escaped}")

    @given(path=paths)
    def test_url_as_its_own_rule(self, path: str) -> None:
        """A rule that spells a URL, with the wildcards escaped, matches it."""
        rule = path.replace("*", "%2A").replace("$", "%24").replace(" ", "%20")
        assert matches(rule, f"http://h{path}")
        assert matches(f"{rule}$", f"http://h{path}")
        assert not matches(f"{rule}$", f"http://h{path}x")

    @given(path=paths, host=st.sampled_from(["h", "h:80", "u:p@h", "[::1]:8", "h.", ""]))
    def test_authority_and_fragment(self, path: str, host: str) -> None:
        assert normal_path(f"http://{host}{path}#a?b") == normal_path(f"ftp://i{path}")


class TestParseLimit:
    """1: Octets past the limit change nothing, and a rule that it cuts is not obeyed by half."""

    @given(past=st.binary(max_size=100), cut=st.integers(1, 14), url=urls)
    def test_octets_past_it(self, past: bytes, cut: int, url: str) -> None:
        assume(past[:1] not in (b"\n", b"\r"))
        head = b"User-agent: *\nDisallow: /a\nAllow: /ab\n"
        last = b"Disallow: /b/a"[:cut]
        filler = b"#" * (PARSE_LIMIT_OCTETS - len(head) - len(last) - 1) + b"\n"
        robots_txt = parse(head + filler + last + (past or b"x"))
        assert robots_txt.is_cut
        assert robots_txt.octets == head + filler
        assert _meaning(robots_txt.verdict(url, TOKEN)) == _meaning(parse(head).verdict(url, TOKEN))


class TestOrigins:
    """5: An origin written out is that origin."""

    @given(
        scheme=st.sampled_from(["http", "https", "ftp", "HTTP"]),
        host=st.one_of(
            st.from_regex(r"[a-z0-9_-]{1,9}(\.[a-z0-9-]{1,9}){0,3}\.?", fullmatch=True),
            st.ip_addresses(v=4).map(str),
            st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
            st.text(min_size=1, max_size=12),
        ),
        port=st.one_of(st.none(), st.integers(0, 70_000)),
    )
    @example(scheme="http", host="a％b", port=None)
    def test_origin_survives_a_round_trip(self, scheme: str, host: str, port: int | None) -> None:
        uri = f"{scheme}://{host}" if port is None else f"{scheme}://{host}:{port}"
        try:
            origin = Origin.of(f"{uri}/x?y")
        except InvalidUri:
            return
        assert origin is not None
        assert Origin.of(str(origin)) == origin
        assert Origin.of(origin.robots_txt_uri) == origin

    @given(uri=st.text())
    def test_any_text_has_an_origin_or_an_error(self, uri: str) -> None:
        for text in (uri, f"http://{uri}"):
            try:
                origin = Origin.of(text)
            except InvalidUri:
                continue
            assert origin is None or 1 <= origin.port <= 65_535
