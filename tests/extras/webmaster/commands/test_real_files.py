"""Commands that rewrite real files: no error disappears that the text still means.

CI takes a fixed sample; `pytest -m at_length` of this file takes all files.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS
from scrapy_rep.extras.webmaster.audience.bindings import name_in_file
from scrapy_rep.extras.webmaster.effect.differences import probes_of
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.tokens import token_of
from tests.commands.calling import rep
from tests.extras.webmaster.commands.meant import errors_of, has_same_meaning
from tests.extras.webmaster.linting.corpus import RECENT, files, sample
from tests.shared import needs_shared

pytestmark = [pytest.mark.slow, needs_shared]

_PARTS = 24
_URLS = 60
_REWRITES = {
    "format": ("format", "--write"),
    "compact": ("format", "--mode", "compact", "--write"),
    "compatible": ("format", "--mode", "compatible", "--write"),
    "fix": ("lint", "--fix"),
    "agents": ("agents", "--disallow", "training", "--write"),
}
_TRAINING = {name_in_file(one) for one in CRAWLERS if one.purpose == "ai-training"}
_SHUT_OUT = _TRAINING | {token_of(name) for name in _TRAINING}


def _verdicts(body: bytes, urls: list[str], agents: list[str]) -> list[bool]:
    """The verdicts by us and, where it is installed, by Google's matcher."""
    file = parse(body)
    found = [file.verdict(url, agent).allowed for url in urls for agent in agents]
    try:
        from jwm.robotstxt.googlebot import RobotsMatcher
    except ImportError:
        return found
    asks = RobotsMatcher().OneAgentAllowedByRobots
    return found + [asks(file.octets, agent, url) for url in urls for agent in agents]


def _check(body: bytes, uri: str, rewrite: str, path: Path) -> None:
    spared: set[str] = _SHUT_OUT if rewrite == "agents" else set()
    command, *options = _REWRITES[rewrite]
    uris = ["--uri", uri] if command != "agents" else []
    path.write_bytes(body)
    rep(command, path, *options, *uris)
    new = path.read_bytes()
    if new == body:
        return
    assert not errors_of(body, uri) - errors_of(new, uri)
    assert has_same_meaning(body, new, uri, spared)
    probes = probes_of([line for line in outline(body, uri).lines if line.pattern])
    urls = [f"https://host{probe}" for probe in ["/", *probes[:: len(probes) // _URLS + 1]]]
    agents = [agent for agent in ("Googlebot", "zyxwv", "GPTBot") if agent.lower() not in spared]
    assert _verdicts(body, urls, agents) == _verdicts(new, urls, agents)


def test_commands_keep_a_sample_of_real_files(tmp_path: Path) -> None:
    names = [*_REWRITES]
    for number, (uri, body) in enumerate(sample()):
        _check(body, uri, names[number % len(names)], tmp_path / "robots.txt")


@pytest.mark.at_length
@pytest.mark.parametrize("rewrite", _REWRITES)
@pytest.mark.parametrize("part", range(_PARTS))
def test_commands_keep_all_real_files(rewrite: str, part: int, tmp_path: Path) -> None:
    for uri, body in [*files(), *files(RECENT)][part::_PARTS]:
        _check(body, uri, rewrite, tmp_path / "robots.txt")
