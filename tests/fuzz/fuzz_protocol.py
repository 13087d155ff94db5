"""For any octets, name and URL, reading and asking raise nothing, the deciding rule decides alone.

In full: `parse` and every property of `RobotsTxt` return; the verdict is that of the most specific
of the group's rules, each asked while it stands alone in a file, and the same in each form in which
rules are kept; and octets cost linear time.

An input is three things one after the other: a line with a product token, a line with a URL, and
the body. Run it with ``python -m tests.fuzz.fuzz_protocol -max_total_time=1800 CORPUS SEEDS``, with
``-dict=tests/fuzz/robots.dict``, from the root of the repository (needs atheris); the
last line that libFuzzer prints is the number of runs. `test_fuzz_smoke` runs the same function
without atheris.
"""

from __future__ import annotations

import importlib
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from scrapy_rep.protocol import packed, ruleset
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.errors import InvalidProductToken
from scrapy_rep.protocol.paths import uri_without_dots
from scrapy_rep.protocol.verdict import Reason, Verdict
from tests.protocol.reading import findings_of

_RULES_ASKED_ALONE = 24
_OTHER_FORMS = ((1 << 30, 1 << 30), (0, 1 << 30), (0, 0))
"""From how many rules on they are packed, and behind one head in windows."""
_TIMED_EVERY = 256  # inputs; timing costs as much as hundreds of small ones
_TIMED_OCTETS = 1 << 16
_TIMED_SECONDS = 2.0  # a hundred times what linear code takes: only a blow-up comes near


def check(data: bytes) -> None:
    """One input: an AssertionError, or any other exception, is a finding."""
    token, url, body = split(data)
    robots_txt = parse(body, "https://example.com/robots.txt")
    if not ask_for_everything(robots_txt, token):
        token = "ExampleBot"
    verdict = robots_txt.verdict(url, token)
    assert robots_txt.verdict(url, token) == verdict
    assert str(verdict)
    check_rules_alone(robots_txt, token, url, verdict)
    check_other_forms(body, token, url, verdict)
    if zlib.crc32(data) % _TIMED_EVERY == 0:
        check_time(token, url, body)


def split(data: bytes) -> tuple[str, str, bytes]:
    """The product token, the URL and the body of an input."""
    token, _, rest = data.partition(b"\n")
    url, _, body = rest.partition(b"\n")
    return token.decode("utf-8", "surrogateescape"), url.decode("utf-8", "surrogateescape"), body


def ask_for_everything(robots_txt: RobotsTxt, token: str) -> bool:
    """Every property returns. Whether the token is one; where it is not, every method says so."""
    assert all("//" in uri for uri in robots_txt.sitemaps)
    assert all(record.line > 0 for record in robots_txt.other_records)
    lines = [finding.line for finding in findings_of(robots_txt)]
    assert all(line >= 0 for line in lines)
    asks = (
        robots_txt.group,
        robots_txt.crawl_delay,
        robots_txt.request_rate,
        robots_txt.visit_time,
    )
    refusals = sum(is_refused(ask, token) for ask in asks)
    assert refusals in (0, len(asks))
    return refusals == 0


def is_refused(ask: Callable[[str], object], token: str) -> bool:
    """Whether a method refuses the token."""
    try:
        ask(token)
    except (InvalidProductToken, TypeError):  # the latter: it is a URL
        return True
    return False


def check_rules_alone(robots_txt: RobotsTxt, token: str, url: str, verdict: Verdict) -> None:
    """The verdict is that of the most specific rule, and that rule decides alone as well."""
    if verdict.reason is Reason.IMPLICITLY_ALLOWED:
        assert verdict.allowed
        return
    bare = uri_without_dots(url)
    if bare != url:  # two readings, each with a most specific rule of its own
        assert not verdict.allowed or robots_txt.verdict(bare, token).allowed
        return
    group = robots_txt.group(token)
    assert (group is None) == (verdict.reason is Reason.NO_GROUP)
    rules = group.rules if group else ()
    if verdict.rule is not None:
        deciding = [rule for rule in rules if rule.line == verdict.line]
        assert [rule.path_pattern for rule in deciding] == [verdict.rule.path_pattern]
        assert_same(alone(verdict.rule.allow, verdict.rule.path_pattern, url), verdict)
    if len(rules) > _RULES_ASKED_ALONE:
        return
    best = max(
        (
            (answer.rule.octets, answer.rule.allow, -rule.line)
            for rule in rules
            if (answer := alone(rule.allow, rule.path_pattern, url)).rule is not None
        ),
        default=None,
    )
    found = verdict.rule and (verdict.rule.octets, verdict.rule.allow, -verdict.line)
    assert found == best, (found, best)


def check_other_forms(body: bytes, token: str, url: str, verdict: Verdict) -> None:
    """The same verdict as if there were thousands of rules, and hundreds that match anywhere."""
    for packed_from, by_gram_from in _OTHER_FORMS:
        with (
            patch.object(ruleset, "PACKED_FROM", packed_from),
            patch.object(packed, "_CROWD", by_gram_from),
        ):
            other = parse(body, "https://example.com/robots.txt").verdict(url, token)
        assert other == verdict, (packed_from, by_gram_from, other, verdict)


def alone(allow: bool, path_pattern: bytes, url: str) -> Verdict:
    """The verdict of a rule that stands alone in a file."""
    key = b"Allow:" if allow else b"Disallow:"
    return parse(b"User-agent:*\n" + key + path_pattern + b"\n").verdict(url, "ExampleBot")


def assert_same(one: Verdict, other: Verdict) -> None:
    """Two verdicts say the same but for the place of the rule."""
    assert one.allowed == other.allowed
    assert one.reason is other.reason
    assert one.rule is not None
    assert other.rule is not None
    assert one.rule.octets == other.rule.octets
    assert one.rule.path_pattern == other.rule.path_pattern


def check_time(token: str, url: str, body: bytes) -> None:
    """Many times the octets, in the body or in the URL, take no more than many times the time."""
    long_body = (body + b"\n") * (_TIMED_OCTETS // (len(body) + 1))
    started = time.process_time()
    parse(long_body).verdict(url, token)
    parse(body).verdict("/" + url * (_TIMED_OCTETS // (len(url) + 1)), token)
    assert time.process_time() - started < _TIMED_SECONDS


def main() -> None:
    """Let libFuzzer choose the inputs; the arguments are its own."""
    atheris: Any = importlib.import_module("atheris")  # not in every environment

    atheris.instrument_all()
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
