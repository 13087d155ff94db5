"""The README's reference says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import scrapy_rep
from scrapy_rep import stats
from scrapy_rep.protocol.access import PRESETS
from scrapy_rep.settings import SETTINGS

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_settings_table_is_the_code_s() -> None:
    rows = re.findall(r"^\| `(REP_\w+)` \| `(.*)` \| (.*) \|$", README, re.MULTILINE)
    assert rows == [(s.name, repr(s.default), s.meaning) for s in SETTINGS.values()]


def test_the_stats_table_is_the_code_s() -> None:
    rows = re.findall(r"^\| `((?:rep|robotstxt)/\S+)` \| (.*) \|$", README, re.MULTILINE)
    assert rows == [(n.replace("{}", "…"), meaning) for n, meaning in stats.MEANINGS.items()]


def test_every_stat_has_a_meaning() -> None:
    names = {value for name, value in vars(stats).items() if name.isupper() and name != "MEANINGS"}
    assert names == set(stats.MEANINGS)


def test_the_policy_table_names_every_preset() -> None:
    header = next(line for line in README.splitlines() if line.startswith("| event |"))
    assert re.findall(r"`(\w+)`", header) == list(PRESETS)


def test_the_names_that_the_readme_uses_are_public() -> None:
    used = set(re.findall(r"scrapy_rep\.([A-Za-z_]+)", README))
    assert used <= {*scrapy_rep.__all__, "signals"}
