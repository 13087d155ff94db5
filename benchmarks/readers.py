"""Whether rewritten and fixed files mean the same to three readers, and to Google's matcher itself.

::

    pip install jwm-robotstxt
    python benchmarks/readers.py ../shared/corpus/robots.jsonl.gz [--every 10] [--part 1/2]
        [--pairs 100000] [--generated 2000]

The corpus is a gzipped file of JSON lines with ``body_b64``. Each file, and generated ones full of
escapes, ``$`` and plain rules beside wildcard rules, is written in the three modes of `format`, and
fixed. The verdicts of the three readers on both files are compared for each name and for unnamed
crawlers, on at most `_PATHS` probe URLs, in both spellings of each escape; the readers are those of
the core, without the short cuts of `differences`. For a sample of (file, URL) pairs, Google's
matcher, which is the package above, must agree with our reading as Google, and must not change.
The script prints each change; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from jwm.robotstxt.googlebot import RobotsMatcher

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.extras.webmaster.effect.differences import UNNAMED, agents_of, probes_of
from scrapy_rep.extras.webmaster.effect.other_readers import GOOGLE, OURS, READERS, Judge, Reader
from scrapy_rep.extras.webmaster.linting.linter import fixed
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.lines import RULES

_HOST = "https://host"
_PATHS = 150  # for each file and agent
_AGENTS = 5  # for each file
_PIECES = ["/", "/a", "/b/", "a", "feed/", "*", "*/", "$", "%24", "%2A", "%3D", "=", "?x=", "%3d"]
_PIECES += [
    "%2B",
    "+",
    "%41",
    "A",
    "%7e",
    "~",
    "%2F",
    "é",
    "%C3%A9",
    "%c3%a9",
    " ",
    "%20",
    "%",
    "/*",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one file of so many")
    parser.add_argument("--part", default="1/1", help="take the first, say, of 20 parts: 1/20")
    parser.add_argument("--pairs", type=int, default=100_000, help="for Google's matcher")
    parser.add_argument("--generated", type=int, default=2000, help="files")
    parser.add_argument("--seed", type=int, default=60)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    part, parts = map(int, options.part.split("/"))
    with gzip.open(options.corpus, "rt") as rows:
        bodies = [base64.b64decode(json.loads(row)["body_b64"]) for row in rows]
    bodies = bodies[:: options.every][part - 1 :: parts]
    bodies += [_generated(draw) for _ in range(options.generated)]
    share = options.pairs / max(len(bodies), 1)
    counts: Counter[str] = Counter()
    for body in bodies:
        counts["files"] += 1
        for wrong in _of_file(body, draw, share, counts):
            counts["wrong"] += 1
            print(wrong, repr(body[:200]), flush=True)
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    return bool(counts["wrong"])


def _generated(draw: random.Random) -> bytes:
    lines = []
    for agent in ("*", "foo", "*")[: draw.randint(1, 3)]:
        lines.append(f"User-agent: {agent}")
        for _ in range(draw.randint(1, 6)):
            key = draw.choice(("Disallow", "Disallow", "Allow"))
            path = "".join(draw.choices(_PIECES, k=draw.randint(0, 4)))
            lines.append(f"{key}: {draw.choice(('/', '/', '*', ''))}{path}")
    return "\n".join(lines).encode()


def _of_file(body: bytes, draw: random.Random, share: float, counts: Counter[str]) -> Iterator[str]:
    old = parse(body)
    news = {mode.value: normalise(body, mode) for mode in Mode}
    news["fix"] = fixed(body)[0]
    files = {name: parse(new) for name, new in news.items() if new != body}
    counts["rewritten"] += len(files)
    agents = [*agents_of(outline(body))]
    agents = [*draw.sample(agents, min(len(agents), _AGENTS)), UNNAMED]
    lines = [line for one in (body, *news.values()) for line in outline(one).lines]
    own = [line for line in lines if line.kind in RULES]
    every = list(probes_of(own))
    wanted = share / len(agents)
    for agent in dict.fromkeys(agents):
        paths = draw.sample(every, min(len(every), _PATHS))
        google = set(
            draw.sample(paths, min(len(paths), int(wanted) + (draw.random() < wanted % 1)))
        )
        for reader in READERS:
            before = [_judge(reader, old, agent)(_HOST + path).allowed for path in paths]
            for name, file in files.items():
                judge = _judge(reader, file, agent)
                counts["verdicts"] += len(paths)
                for path, was in zip(paths, before, strict=True):
                    if judge(_HOST + path).allowed is not was:
                        yield f"{name} changes {path} for {agent} like {reader.name}"
        token = next(iter(GOOGLE.tokens(agent)), "") if agent != UNNAMED else ""
        judge = _judge(GOOGLE, old, agent)
        for path in google if not old.codings else ():
            counts["pairs"] += 1
            said = [_theirs(file, token, path) for file in (old, *files.values())]
            if said[0] is not judge(_HOST + path).allowed:
                yield f"Google's matcher says {said[0]} to {path} for {agent}"
            if len(set(said)) > 1:
                yield f"Google's matcher says {said} to {path} for {agent}"


def _judge(reader: Reader, file: RobotsTxt, agent: str) -> Judge:
    tokens = () if agent == UNNAMED else reader.tokens(agent)
    if reader is OURS:
        return lambda url: file.verdict(url, tokens)
    group = file.group(tokens)
    return reader.judge(() if group is None else group.rules)


def _theirs(file: RobotsTxt, token: str, path: str) -> bool:
    said: bool = RobotsMatcher().OneAgentAllowedByRobots(
        file.octets, token or "zyxwv", _HOST + path
    )
    return said


if __name__ == "__main__":
    raise SystemExit(main())
