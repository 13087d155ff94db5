"""Properties of generated pages and files, and the agreement with the slow model."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep import parse, usage_of
from scrapy_rep.extras.pages import PageRules
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.page.page_elements import Meta
from scrapy_rep.extras.pages.page.rule_words import RULES, VALUED
from scrapy_rep.extras.pages.page.rules import page_rules_of
from scrapy_rep.extras.pages.usage.categories import CATEGORIES
from scrapy_rep.extras.pages.usage.usage_answers import usage_of_answer

from . import model
from .answers import response_of

TOKENS = ["FooBot", "foobot-news"]

_flags = st.sampled_from([*model.FLAGS, *model.PERMISSIVE, "none"])
_numbers = st.builds(
    "{}:{}".format, st.sampled_from(["max-snippet", "max-video-preview"]), st.integers(-1, 30)
)
_sizes = st.sampled_from(
    ["max-image-preview:none", "max-image-preview: standard", "max-image-preview : large"]
)
_rules = _flags | _numbers | _sizes
_names = st.sampled_from(
    ["robots", "*", "FooBot", "foobot-news", "otherbot", "x-robots-tag", "foo"]
)
_named = st.builds("{}: {}".format, _names, _rules)
_others = st.sampled_from(
    ["", "max-audio-preview: 3", "whatever", "noindexed", "otherbot:", "FooBot:"]
)
_segments = _rules | _named | _others
_lines = st.lists(st.lists(_segments, max_size=6).map(", ".join), max_size=4)
_parts = [
    *"nofidexml-_:;,|/+& =\"'019\u00e9\t",
    *("noindex", "none", "no", "bot", "index", "max-snippet", ": "),
]
_texts = st.lists(st.sampled_from(_parts), max_size=30).map("".join)


def rules(lines: list[str], tokens: Any = TOKENS) -> PageRules:
    return page_rules_of({"x-robots-tag": [line.encode() for line in lines]}, (), tokens)


def said(lines: list[str]) -> dict[str, Any]:
    return rules(lines).to_dict()


def restricts(more: dict[str, Any], less: dict[str, Any]) -> bool:
    """Whether one page is at least as strict as another."""
    return all(
        name in more
        and (name not in VALUED or VALUED[name].rank(more[name]) <= VALUED[name].rank(value))
        for name, value in less.items()
    )


class TestPageRules:
    @given(_lines)
    def test_model_of_page_rules_agrees(self, lines: list[str]) -> None:
        assert said(lines) == model.page(lines, TOKENS)

    @given(_lines)
    def test_fields_and_elements_say_the_same(self, lines: list[str]) -> None:
        metas = [Meta("robots", line) for line in lines]
        assert page_rules_of({}, metas, TOKENS).to_dict() == said(lines)

    @given(_texts)
    def test_any_text_does_not_raise(self, text: str) -> None:
        found = rules([text])
        assert {rule.name for rule in found.rules} <= {*RULES}
        assert all(rule.source.number == 1 for rule in found.rules)

    @given(_texts)
    def test_unreadable_text_hides_nothing(self, text: str) -> None:
        """Before a comma, unless it names others, or is a weekday that takes the next with it."""
        names_others = ":" in text
        assert names_others or restricts(
            said([f"{text}, noindex, max-snippet:1"]), said(["noindex, max-snippet:1"])
        )

    @given(st.binary(max_size=80))
    def test_any_octets_are_page_rules(self, octets: bytes) -> None:
        page_rules_of(
            {"x-robots-tag": [octets], "robots-tag": [octets]},
            [Meta("robots", octets.decode("latin-1"))],
            TOKENS,
        )


_said = st.dictionaries(st.sampled_from(["train-ai", "search"]), st.sampled_from("yn"), max_size=2)
_signals = st.dictionaries(
    st.sampled_from(["train-ai", "search", "ai-input"]), st.sampled_from("yn"), min_size=1
)
_paths = st.sampled_from(["", "/", "/a", "/a/", "/a/b", "/b"])
_records = st.lists(
    st.tuples(st.just("Content-Usage"), _paths, _said)
    | st.tuples(st.just("Content-Signal"), _paths, _signals),
    max_size=6,
)
_SIGNAL = {"train-ai": "ai-train", "search": "search", "ai-input": "ai-input"}
_WORD = {"y": "yes", "n": "no"}


def line(record: model.Record) -> str:
    key, path, said_by = record
    if key == "Content-Usage":
        value = ", ".join(f"{name}={value}" for name, value in said_by.items())
    else:
        value = ", ".join(f"{_SIGNAL[name]}={_WORD[value]}" for name, value in said_by.items())
    return f"{key}: {path} {value}\n"


def preferences(body: str, path: str) -> dict[str, str]:
    usage = file_usage(parse(body.encode(), "https://e.example/robots.txt"), path, "FooBot")
    return {name: value for name, value in usage.to_dict().items() if value != "unknown"}


class TestUsage:
    @given(_records, _paths.filter(bool))
    def test_model_of_usage_agrees(self, records: list[model.Record], path: str) -> None:
        body = "User-agent: FooBot\n" + "".join(map(line, records))
        assert preferences(body, path) == model.usage(records, path)

    @given(_texts, st.binary(max_size=60))
    def test_permissions_are_written(self, text: str, octets: bytes) -> None:
        """No y without a token y, a signal yes, or a reservation 0."""
        value = text.replace("y", "").encode()
        fields = {
            "content-usage": [value],
            "content-signal": [value, octets],
            "x-robots-tag": [octets],
        }
        fields["tdm-reservation"] = [value.replace(b"0", b"")]
        rules = page_rules_of(fields, (), TOKENS)
        body = b"User-agent: *\nContent-Usage: %s\nContent-Signal: %s\n" % (value, value)
        said = file_usage(parse(body.replace(b"\t", b"")), "/")
        usage = usage_of_answer("https://e.example/", fields, rules, said)
        assert "y" not in usage.to_dict().values()

    @given(st.binary(max_size=200))
    def test_any_octets_have_a_usage(self, octets: bytes) -> None:
        names = ["Content-Usage", "Content-Signal", "tdm-reservation", "tdm-policy", "Link"]
        clean = octets.replace(b"\n", b"").replace(b"\r", b"")
        response = response_of(octets, [(name, clean) for name in names])
        usage = usage_of(
            response, octets, tdmrep=octets, product_tokens=TOKENS, usage_tokens={"tdm": ["a"]}
        )
        assert {*usage.to_dict()} == {*CATEGORIES}
        assert len(usage.remarks) <= 100
