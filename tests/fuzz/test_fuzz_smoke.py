"""The fuzz target's one-input function over its seeds and a few hundred mutations of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .fuzz_protocol import check

SEEDS = sorted((Path(__file__).parent / "seeds").iterdir())
PIECES = [
    b"*",
    b"$",
    b"%",
    b"%2F",
    b"%2a",
    b"?",
    b"#",
    b"/",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\xc3\xa9",
    b"\nUser-agent: *\n",
    b"\nAllow: /a*b$\n",
    b"\nDisallow: /\n",
    b"/index.htm",
    b"",
]


def mutated(octets: bytes, choice: random.Random) -> bytes:
    for _ in range(choice.randint(1, 6)):
        start = choice.randint(0, len(octets))
        stop = min(len(octets), start + choice.choice((0, 0, 1, 4, 16)))
        octets = octets[:start] + choice.choice(PIECES) + octets[stop:]
    return octets


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_seeds_and_their_mutations(seed: Path) -> None:
    octets = seed.read_bytes()
    check(octets)
    choice = random.Random(seed.stem)
    for _ in range(50):
        check(mutated(octets, choice))


def test_there_are_seeds() -> None:
    assert SEEDS
