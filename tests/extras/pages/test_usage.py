"""docs/pages.md, part C: preferences about the use of content.

One class per clause; its docstring is the clause in short.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from scrapy_rep import parse, usage_of
from scrapy_rep.extras.pages import Preference, UsagePreferences
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.usage.tdmrep import TdmFile
from scrapy_rep.protocol.fields.remarks import Problem
from tests.tables import rows_of

from .answers import URL, meta, page, response_of

ROWS = rows_of(__file__)

ROBOTS = "https://example.com/robots.txt"
_TRAIN = {"train-ai": "n"}
_MINED = {"train-ai": "n", "tdm": "n"}
_NONE: dict[str, str] = {}


def known(usage: UsagePreferences) -> dict[str, str]:
    return {name: value for name, value in usage.to_dict().items() if value != "unknown"}


def of_file(
    lines: str, url: str = "/page", tokens: Any = "FooBot", **values: Any
) -> dict[str, str]:
    """The preferences in the * group; `|` divides lines."""
    return known(usage_in(lines, url, tokens, **values))


def usage_in(
    lines: str, url: str = "/page", tokens: Any = "FooBot", **values: Any
) -> UsagePreferences:
    text = lines if "ser-agent" in lines else f"User-agent: *|{lines}"
    return file_usage(parse(text.replace("|", "\n").encode(), ROBOTS), url, tokens, **values)


def of_answer(
    fields: Any = (), html: str = "", robots_txt: str = "", **values: Any
) -> UsagePreferences:
    response = response_of(html, fields, url=values.pop("url", URL))
    file = parse(f"User-agent: *\n{robots_txt}\n".encode(), ROBOTS)
    return usage_of(response, file, product_tokens="FooBot", now=1e9, **values)


def problems(usage: UsagePreferences) -> list[Problem]:
    return [remark.problem for remark in usage.remarks]


class TestContentUsage:
    """C1: paths are like those of rules; the longest decides; a shorter n holds if it is silent."""

    @pytest.mark.parametrize(("lines", "url", "said"), ROWS["ContentUsage.reads"])
    def test_content_usage_lines_are_read(self, lines: str, url: str, said: dict[str, str]) -> None:
        assert of_file(lines, url) == said

    @pytest.mark.parametrize(
        ("record", "both"),
        [
            ("Content-Usage: %s", "Content-Usage: %s train-ai=y, search=n"),
            ("Content-Signal: %s use=full", "Content-Signal: %s ai-train=yes, search=no"),
        ],
    )
    def test_slow_patterns_make_it_incomplete(self, record: str, both: str) -> None:
        """Untried patterns may be longer than the tried ones, so the answer is incomplete."""
        hostile = [record % f"/{'*a' * 400}{number}" for number in range(300)]
        lines = [both % "/", *hostile, both % "/aa"]
        usage = usage_in("|".join(lines), "/" + "a" * 3000)
        assert known(usage) == {"search": "n"}
        assert Problem.TOO_MUCH_WORK in problems(usage)

    def test_content_usage_before_any_group_is_ignored(self) -> None:
        usage = usage_in("Content-Usage: train-ai=n|User-agent: *|Allow: /")
        assert known(usage) == {}
        assert problems(usage) == [Problem.BEFORE_GROUPS]

    def test_dot_segments_are_judged_twice(self) -> None:
        lines = "Content-Usage: /a/ train-ai=y|Content-Usage: /b train-ai=n"
        assert of_file(lines, "/a/../b") == _TRAIN
        assert of_file("Content-Usage: /a/ train-ai=y", "/a/../b") == {}
        assert of_file("Content-Usage: /a/ train-ai=y", "/a/./b") == {"train-ai": "y"}

    def test_statement_has_its_place(self) -> None:
        usage = usage_in("|Content-Usage: train-ai=n")
        (statement,) = usage.decided_by("train-ai")
        assert str(statement.source) == f"Content-Usage, line 3 of {ROBOTS}"
        assert statement.text == "train-ai=n"
        assert usage.decided_by("search") == ()
        with pytest.raises(ValueError, match="'ai' is not a category"):
            usage.decided_by("ai")


class TestDictionary:
    """C2: labels are case-sensitive; values are the Tokens y and n; only a Dictionary counts."""

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            ("train-ai=n, search=y", {**_TRAIN, "search": "y"}),
            ("train-ai=n;x=y", _TRAIN),
            ("train-ai=y, train-ai=n", _TRAIN),
            ("train-ai=n, train-ai=y", {"train-ai": "y"}),
            ("other=n, train-ai=n", _TRAIN),
            *[(f"train-ai={value}", {}) for value in ("no", "N", '"n"', "?0", "0", "(n)")],
            *[
                (text, {})
                for text in ("train-ai", "Train-AI=n", "ai-train=n", "train-ai=n,", "x y")
            ],
        ],
    )
    def test_dictionary_of_content_usage_is_read(self, value: str, said: dict[str, str]) -> None:
        assert of_file(f"Content-Usage: {value}") == said
        assert known(of_answer([("Content-Usage", value)])) == said

    @pytest.mark.parametrize(
        ("value", "problem"),
        [
            ("ai-train=n", Problem.UNKNOWN_LABEL),
            ("train-ai=no", Problem.UNKNOWN_PREFERENCE),
            ("Train-AI=n", Problem.NO_DICTIONARY),
        ],
    )
    def test_mistakes_are_remarked(self, value: str, problem: Problem) -> None:
        (remark,) = usage_in(f"Content-Usage: {value}").remarks
        assert remark.problem is problem
        assert remark.source.line == 2


class TestContentUsageField:
    """C3: all lines are one Dictionary, whatever robots.txt allows."""

    def test_lines_of_a_content_usage_field_are_joined(self) -> None:
        fields = [("Content-Usage", "train-ai=y"), ("content-usage", "search=n, train-ai=n")]
        assert known(of_answer(fields)) == {**_TRAIN, "search": "n"}
        fields = [("Content-Usage", "train-ai=n"), ("Content-Usage", "what?")]
        usage = of_answer(fields)
        assert known(usage) == {}
        assert problems(usage) == [Problem.NO_DICTIONARY]


class TestContentSignal:
    """C4: slips that forbid are understood; yes alone permits; in the response only no counts."""

    @pytest.mark.parametrize("no", ["no", "n", "false", "0", "disallow", "deny", "NO", "Deny"])
    def test_every_no_of_a_content_signal_counts(self, no: str) -> None:
        assert of_file(f"Content-Signal: ai-train={no}") == _TRAIN
        assert of_file(f"Content-Signals: ai-train: {no}") == _TRAIN

    @pytest.mark.parametrize("yes", ["y", "true", "1", "allow", "maybe", ""])
    def test_unclear_yes_of_a_content_signal_says_nothing(self, yes: str) -> None:
        usage = usage_in(f"Content-Signal: ai-train={yes}")
        assert known(usage) == {}
        assert problems(usage) == [Problem.UNREADABLE_SIGNAL]

    @pytest.mark.parametrize(("value", "said"), ROWS["ContentSignal.reads"])
    def test_content_signal_lines_are_read(self, value: str, said: dict[str, str]) -> None:
        assert of_file(f"Content-Signal: {value}") == said

    def test_content_signal_before_any_group_counts_if_no(self) -> None:
        """It counts for all crawlers, but only its no."""
        usage = usage_in("Content-Signal: ai-train=no, search=yes|User-agent: FooBot|Allow: /")
        assert known(usage) == _TRAIN
        assert problems(usage) == [Problem.BEFORE_GROUPS]

    @pytest.mark.parametrize(
        ("lines", "use"),
        [
            ("Content-Signal: use=full, use=reference", "reference"),
            ("Content-Signal: use=full|Content-Signal: use=immediate", "immediate"),
            ("Content-Signal: use=immediate|Content-Signal: /page use=full", "full"),
            ("Content-Signal: use=whatever", ""),
        ],
    )
    def test_strictest_use_of_content_signals_counts(self, lines: str, use: str) -> None:
        assert usage_in(lines).use == use

    def test_use_of_the_field(self) -> None:
        """It restricts, but `full` permits nothing, as `yes` does."""
        fields = [("Content-Signal", "search=yes, use=reference"), ("Content-Signal", "use=full")]
        usage = of_answer(fields)
        assert str(usage.use_level) == (
            "use=reference by Content-Signal 1: search=yes, use=reference"
        )
        assert of_answer([("Content-Signal", "use=full")]).use == ""
        robots_txt = "User-agent: *\nContent-Signal: use=immediate\n"
        assert of_answer(fields, robots_txt=robots_txt).use == "immediate"

    def test_content_signal_field_cannot_permit(self) -> None:
        usage = of_answer([("Content-Signal", "ai-train=no, search=yes")])
        assert known(usage) == _TRAIN
        assert problems(usage) == [Problem.UNHEARD_PERMISSION]
        assert "search=yes" in str(usage.statements[1]), "it is kept as text"


class TestTdmRep:
    """C5: file, field, meta, each superseding; 1 forbids mining and training, 0 permits mining."""

    @pytest.mark.parametrize(("values", "said"), ROWS["TdmRep.field"])
    def test_tdm_reservation_field_is_read(self, values: list[str], said: dict[str, str]) -> None:
        assert known(of_answer([("TDM-Reservation", value) for value in values])) == said

    @pytest.mark.parametrize(
        ("head", "body", "said"),
        [
            ("1", None, _MINED),
            ("0", None, {"tdm": "y"}),
            (None, "1", _MINED),
            (None, "0", {}),
            ("0", "1", _MINED),
            ("1", "0", _MINED),
            ("", None, {}),
            ("true", None, _MINED),
            ("0", "TRUE", _MINED),
            ("false", None, {}),
        ],
    )
    def test_tdm_reservation_meta_is_read(
        self, head: str | None, body: str | None, said: dict[str, str]
    ) -> None:
        elements = ["" if one is None else meta(one, "TDM-reservation") for one in (head, body)]
        assert known(of_answer(html=page(elements[0], body=elements[1]))) == said

    @pytest.mark.parametrize(
        ("file", "said"),
        [
            ('[{"location": "/dir", "tdm-reservation": 1}]', _MINED),
            ('[{"location": "/dir/*e$", "tdm-reservation": "1"}]', _MINED),
            ('[{"location": "*", "tdm-reservation": 0}]', {"tdm": "y"}),
            ('[{"location": "/x", "tdm-reservation": 1}]', {}),
            (
                '[{"location": "/", "tdm-reservation": 0},{"location": "/", "tdm-reservation": 1}]',
                {"tdm": "y"},
            ),
            ('[{"location": "dir", "tdm-reservation": 1}]', {}),
            ('[{"location": "/", "tdm-reservation": true}]', _MINED),
            ('[{"location": "/", "tdm-reservation": "True"}]', _MINED),
            ('[{"location": "/", "tdm-reservation": true, "tdm-reservation": 0}]', _MINED),
            ('[{"location": "/", "tdm-reservation": [true]}]', {}),
            ('[{"location": "/", "tdm-reservation": null}]', {}),
            ('[{"location": "/", "tdm-reservation": 1.5}]', {}),
            ('[{"location": "/", "tdm-reservation": 1.0}]', _MINED),
            ('[{"location": "/", "tdm-reservation": 0.0}]', {}),
            ('[{"location": "/", "tdm-reservation": "0"}]', {}),
            ('[{"location": "/", "tdm-reservation": false}]', {}),
            ('[{"location": "/", "tdm-reservation": 0, "x": NaN}]', {}),
            ('[{"location": "/", "tdm-reservation": 0}, -Infinity]', {}),
            ('[{"location": "/", "tdm-reservation": 1, "tdm-reservation": 0}]', _MINED),
            ('[{"location": "/", "tdm-reservation": 0, "tdm-reservation": 2}]', {}),
            ('[{"location": "/", "location": "/a", "tdm-reservation": 1}]', _MINED),
            ('[{"location": "/a", "location": "/", "tdm-reservation": 0}]', {}),
            ('[{"location": "/", "location": 1, "tdm-reservation": 0}]', {}),
            ('[{"location": "/\\ud800"}, {"location": "/", "tdm-reservation": 1}]', _MINED),
            ('[1, null, [], {"tdm-reservation": 1}]', {}),
            ('{"location": "/", "tdm-reservation": 1}', {}),
            ('\ufeff[{"location": "/", "tdm-reservation": 1}]', _MINED),
            ("", {}),
            ("[" * 100_000, {}),
            ("[" + "9" * 100_000 + "]", {}),
        ],
    )
    def test_tdm_reservation_file_is_read(self, file: str, said: dict[str, str]) -> None:
        assert known(of_answer(tdmrep=file.encode())) == said

    def test_file_of_one_rule_for_many_locations(self) -> None:
        """Shared parts are counted once: a policy that seems huge would evict all others."""
        locations = ",".join(['"location": "/a"'] * 1000)
        policy = f'"tdm-policy": "/{"x" * 10_000}"'
        file = TdmFile.of(f'[{{{policy}, {locations}, "tdm-reservation": 1}}]'.encode(), URL)
        assert len(file.rules) == 1000
        assert 10_000 < file.kept_octets < 1_000_000

    def test_file_and_dot_segments(self) -> None:
        """Both readings of a URL must permit, and either one reserves."""
        for value, said in ((0, _NONE), (1, _MINED)):
            file = b'[{"location": "/a/", "tdm-reservation": %d}]' % value
            assert known(of_answer(tdmrep=file, url="https://example.com/a/../b")) == said
            assert known(of_answer(tdmrep=file, url="https://example.com/b/../a/")) == said
        file = b'[{"location": "/", "tdm-reservation": 0}]'
        assert known(of_answer(tdmrep=file, url="https://example.com/a/../b")) == {"tdm": "y"}

    @pytest.mark.parametrize(("last", "said"), [(0, {}), (1, _MINED)])
    def test_file_with_slow_patterns_is_incomplete(self, last: int, said: dict[str, str]) -> None:
        hostile = [
            {"location": f"/{'*a' * 400}{number}", "tdm-reservation": 0} for number in range(300)
        ]
        rules = [*hostile, {"location": "/", "tdm-reservation": last}]
        usage = of_answer(
            tdmrep=json.dumps(rules).encode(), url=f"https://example.com/{'a' * 3000}"
        )
        assert known(usage) == said
        assert Problem.TOO_MUCH_WORK in problems(usage)

    def test_file_in_another_encoding_permits_nothing(self) -> None:
        """It hides no reservation, and permits nothing."""
        damaged = b'[{"location": "/dir/p", "tdm-reservation": %d}, {"location": "/\xe9"}]'
        assert known(of_answer(tdmrep=damaged % 1)) == _MINED
        assert known(of_answer(tdmrep=damaged % 0)) == {}

    @pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
    def test_file_in_utf_16(self, coding: str) -> None:
        """The file forbids what it reserves, and permits nothing, since JSON is UTF-8."""
        file = '[{"location": "/dir/p", "tdm-reservation": %d, "tdm-policy": "/\u00e9"}]'
        usage = of_answer(tdmrep=(file % 1).encode(coding))
        assert known(usage) == _MINED
        assert usage.tdm_policy == "https://example.com/\u00e9"
        assert known(of_answer(tdmrep=(file % 0).encode(coding))) == {}

    def test_file_with_lone_surrogates(self) -> None:
        """URLs have no such characters, and they cannot be printed."""
        odd = rb'{"location": "/dir/page\ud800", "tdm-reservation": %d}'
        rule = b'{"location": "/", "tdm-reservation": 1, "tdm-policy": "/p\\ud800"}'
        assert known(of_answer(tdmrep=b"[%s]" % (odd % 0), url=f"{URL}?")) == {}
        usage = of_answer(tdmrep=b"[%s, %s]" % (odd % 1, rule))
        assert known(usage) == _MINED
        assert usage.tdm_policy.encode() == rb"https://example.com/p\ud800"

    def test_long_file_is_incomplete(self) -> None:
        usage = of_answer(tdmrep=b'[{"location": "/", "tdm-reservation": 1}]' + b" " * 512_001)
        assert known(usage) == {}
        assert not usage.is_complete

    def test_tdm_policy_is_that_of_the_reservation(self) -> None:
        fields = [("tdm-reservation", "1"), ("tdm-policy", "/p.json")]
        assert of_answer(fields).tdm_policy == "https://example.com/p.json"
        fields = [("tdm-reservation", "0"), ("tdm-policy", "/p.json")]
        assert of_answer(fields).tdm_policy == ""
        one = page(meta("1", "tdm-reservation"))
        assert of_answer(fields, one).tdm_policy == "", "that of what reserves nothing"
        one = page('<base href="/b/">', meta("1", "tdm-reservation"), meta("p", "tdm-policy"))
        assert of_answer(html=one).tdm_policy == "https://example.com/b/p"


def test_use_before_any_group() -> None:
    """Only what a signal forbids counts there."""
    usage = usage_in("Content-Signal: ai-train=no, use=immediate|User-agent: *|Allow: /")
    assert known(usage) == _TRAIN
    assert usage.use == ""


class TestUnreadablePages:
    """Their elements are unknown, so the answer is incomplete."""

    @pytest.mark.parametrize("base", ["http://[", "http://a:99999999/"])
    def test_invalid_base_is_skipped(self, base: str) -> None:
        html = page(f"<base href='{base}'>", meta("1", "tdm-reservation"))
        usage = of_answer([("tdm-reservation", "0")], html)
        assert not usage.is_complete
        assert of_answer(html=page(meta("1", "tdm-reservation"))).is_complete

    def test_deeply_nested_elements_are_incomplete(self) -> None:
        usage = of_answer(html=page(meta("noai"), body="<div>" * 2_100))
        assert known(usage) == _TRAIN
        assert not usage.is_complete


class TestPageRules:
    """C6: words about models forbid training; noindex and a passed date forbid search."""

    @pytest.mark.parametrize("word", ["noai", "noml", "notrain", "DisallowAITraining"])
    def test_page_rules_against_training_reserve_it(self, word: str) -> None:
        usage = of_answer(html=page(meta(word)))
        assert known(usage) == _TRAIN
        assert str(usage.decided_by("train-ai")[0]) == f"train-ai=n by meta 1, line 1: {word}"

    @pytest.mark.parametrize("line", ["noindex", "none", "unavailable_after: 1999-01-01"])
    def test_page_rules_against_indexing_reserve_search(self, line: str) -> None:
        usage = of_answer([("X-Robots-Tag", line)])
        assert known(usage) == {"search": "n"}
        assert len(usage.statements) == 1


class TestTokens:
    """C7: a listed token says n if its own group disallows the URL, and nothing otherwise."""

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            ("User-agent: GPTBot|Disallow: /", _TRAIN),
            ("User-agent: a|User-agent: gptbot/1|Disallow: /p", _TRAIN),
            ("User-agent: GPTBot|Disallow: /x", {}),
            ("User-agent: GPTBot|Allow: /", {}),
            ("User-agent: *|Disallow: /", {}),
            ("User-agent: CCBot|Disallow: /|User-agent: GPTBot|Allow: /", _TRAIN),
        ],
    )
    def test_rules_for_a_usage_token_reserve_its_use(
        self, lines: str, said: dict[str, str]
    ) -> None:
        tokens = {"train-ai": ["GPTBot", "CCBot"]}
        assert of_file(lines, usage_tokens=tokens) == said

    def test_usage_token_says_the_line_of_its_rule(self) -> None:
        usage = usage_in("User-agent: GPTBot|Disallow: /", usage_tokens={"train-ai": ["GPTBot"]})
        (statement,) = usage.decided_by("train-ai")
        assert str(statement.source) == f"Disallow, line 2 of {ROBOTS}"
        assert statement.text == "User-agent: gptbot, Disallow: /"

    def test_usage_token_without_a_category_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="'ai' is not a category"):
            usage_in("Allow: /", usage_tokens={"ai": ["GPTBot"]})


class TestPolicyTokens:
    """A group for ``__usage_ai-training`` says n for training, to every crawler."""

    TOKEN = "__usage_ai-training"

    @pytest.mark.parametrize(("lines", "said"), ROWS["PolicyTokens.reads"])
    def test_policy_tokens_are_read(self, lines: str, said: dict[str, str]) -> None:
        assert of_file(lines) == said

    def test_policy_token_joins_usage_tokens(self) -> None:
        lines = f"User-agent: GPTBot|Disallow: /|User-agent: {self.TOKEN}|Disallow: /"
        usage = usage_in(lines, usage_tokens={"train-ai": ["GPTBot", self.TOKEN]})
        assert [one.source.line for one in usage.statements] == [2, 4]

    def test_policy_token_is_not_a_crawler(self) -> None:
        robots_txt = parse(f"User-agent: {self.TOKEN}\nDisallow: /\n".encode())
        for name in ("ai-training", "usage", "__usage_", "_", "training"):
            assert robots_txt.verdict("/", name).allowed


class TestCombining:
    """C8: any n is n; else any y is y; else unknown. No source outranks another."""

    def test_last_of_many_statements_counts(self) -> None:
        """A hundred are kept, with each statement that changes the outcome."""
        many = "|".join(["Content-Signal: search=yes"] * 150)
        assert of_file(f"{many}|Content-Signal: search=no, ai-train=no") == {
            "search": "n",
            "train-ai": "n",
        }
        answer = of_answer([("Content-Usage", "search=n")], robots_txt=many.replace("|", "\n"))
        assert known(answer) == {"search": "n"}
        assert len(answer.statements) == 101

    def test_no_wins_over_yes_and_unknown(self) -> None:
        usage = of_answer([("Content-Usage", "search=y")], robots_txt="Content-Signal: search=no")
        assert usage.search is Preference.DISALLOWED
        assert [str(one.source) for one in usage.decided_by("search")] == [
            f"Content-Signal, line 2 of {ROBOTS}"
        ]
        assert len(usage.statements) == 2
        usage = of_answer([("Content-Usage", "search=y")])
        assert usage.search is Preference.ALLOWED
        assert usage.train_ai is usage.ai_input is usage.tdm is Preference.UNKNOWN


class TestLicences:
    """C9: License records of the whole file, Link fields, link elements; each once."""

    @pytest.mark.parametrize(
        ("value", "uri", "problem"),
        [
            ("https://example.com/l.xml", "https://example.com/l.xml", None),
            ("/l.xml", "https://example.com/l.xml", Problem.RELATIVE_LICENCE),
            ("l.xml", "https://example.com/l.xml", Problem.RELATIVE_LICENCE),
            ("none (public domain)", None, Problem.NO_LICENCE),
            ("CC-BY-4.0", None, Problem.NO_LICENCE),
            ("none", None, Problem.NO_LICENCE),
            ("mailto:a@example.com", None, Problem.NO_LICENCE),
            ("https://[", None, Problem.NO_LICENCE),
        ],
    )
    def test_licence_records_are_read(
        self, value: str, uri: str | None, problem: Problem | None
    ) -> None:
        usage = usage_in(f"User-agent: x|Disallow: /|License: {value}|license: {value}")
        assert [one.uri for one in usage.licences] == ([uri] if uri else [])
        assert problems(usage) == ([problem] * 2 if problem else [])
        assert known(usage) == {}

    def test_of_the_page(self) -> None:
        html = page('<base href="/b/">', '<link rel="nofollow License" type="Text/X" href="l">')
        fields = [("Link", '</m>; rel=license; type="a/b", </n>; rel=next')]
        found = of_answer(fields, html, robots_txt="License: https://example.com/m").licences
        assert [(one.uri, one.media_type, str(one.source)) for one in found] == [
            ("https://example.com/m", "", f"License, line 2 of {ROBOTS}"),
            ("https://example.com/b/l", "text/x", "link 1, line 1"),
        ]


class TestWhen:
    """C10: the robots.txt with its digest; without one, the answer is incomplete."""

    def test_usage_of_a_known_file_is_complete(self) -> None:
        usage = usage_in("Allow: /")
        assert usage.is_complete
        assert usage.robots_txt == ROBOTS
        assert usage.digest == hashlib.sha256(b"User-agent: *\nAllow: /").hexdigest()

    def test_usage_without_a_file_is_incomplete(self) -> None:
        usage = usage_of(response_of(fields=[("Content-Usage", "train-ai=y")]), product_tokens=())
        assert not usage.is_complete
        assert known(usage) == {"train-ai": "y"}

    def test_usage_can_be_read_from_octets(self) -> None:
        body = b"User-agent: *\nContent-Usage: train-ai=n"
        usage = usage_of(response_of(), body, product_tokens=())
        assert known(usage) == _TRAIN
        assert usage.robots_txt == ROBOTS
