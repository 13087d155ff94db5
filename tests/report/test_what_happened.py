"""What reports, replays and explanations say is what the servers saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.proof.trail_reading import Run
from tests.audit.crawled import audited, of_kind
from tests.audit.making import judged
from tests.commands.calling import rep
from tests.crawling import LOOPS, Loop
from tests.crawls.settings import ADDON
from tests.crawls.test_challenges import challenge
from tests.crawls.test_user_agents import agents_of, rotated
from tests.report.making import BEGAN, Made
from tests.report.test_first_lines import forged
from tests.servers.handle import Answer, Site

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"
FILE = """\
User-agent: GoodBot
Disallow: /good

User-agent: *
Disallow: /all
"""
A, B = "https://a.example", "https://b.example"


class Rotated:
    """A crawl by GoodBot with a middleware that sets some User-Agents in turn.

    Attributes:
        seen: the requests for pages by User-Agent, as the server saw them.
        paths: the paths of these requests.
    """

    def __init__(
        self, agents: list[str], root: Path, *, loop: Loop = "asyncio", order: int = 50, **more: Any
    ) -> None:
        routes = {"/robots.txt": Answer(body=FILE), **more.pop("routes", {})}
        with Site(routes) as site:
            self.url = site.url
            urls = [site.url(path) for path in more.pop("paths", ("/1", "/good", "/all", "/2"))]
            settings = {**rotated(ADDON, agents, order=order), "CONCURRENT_REQUESTS": 1, **more}
            _, self.run = audited(urls, root, loop=loop, settings=settings)
            self.seen, self.paths = dict(agents_of(site)), site.paths()

    @property
    def reported(self) -> Any:
        """The report as JSON."""
        return json.loads(rep("report", self.run.path, "--json").out)


class TestUserAgents:
    @pytest.mark.parametrize("order", [50, 400], ids=["before ours", "after ours"])
    def test_crawl_as_a_browser_is_confirmed(self, order: int, tmp_path: Path) -> None:
        """No product token can be made of its User-Agent, so the group of all decides."""
        crawl = Rotated([CHROME], tmp_path, order=order)
        replayed = rep("audit", "replay", crawl.run.path)
        assert replayed.status == 0, replayed.out
        done = rep("report", crawl.run.path)
        assert "changed or damaged" not in done.out
        assert "The trail is complete" in done.out
        assert done.status == 0
        assert ("/good" in crawl.paths) is (order == 50), "if a later middleware sets it, GoodBot is judged too"

    @pytest.mark.parametrize("loop", LOOPS)
    def test_report_counts_the_agents_that_the_server_saw(
        self, loop: Loop, tmp_path: Path
    ) -> None:
        crawl = Rotated(["GoodBot/1.0", CHROME], tmp_path, loop=loop)
        assert crawl.reported["agents"] == crawl.seen
        assert len(crawl.seen) == 2
        assert crawl.reported["obeyed_as"] == {"GoodBot": 2, "*": 2}
        told = ", ".join(f"{count} as {agent}" for agent, count in crawl.reported["agents"].items())
        words = f"note: Requests were judged 2 as GoodBot, 2 as *, and sent {told}.\n"
        assert words in rep("report", crawl.run.path).out

    def test_requests_put_back_count_as_often_as_they_were_sent(self, tmp_path: Path) -> None:
        refusals = [Answer(status=429), Answer(status=429), Answer(body="page")]
        more: dict[str, Any] = {"routes": {"/*": refusals}, "paths": ("/1", "/2")}
        crawl = Rotated([CHROME], tmp_path, order=400, **more)
        assert crawl.seen[CHROME] == len(of_kind(crawl.run, "agent")) > 2
        assert crawl.reported["agents"] == crawl.seen

    def test_crawl_that_does_not_obey(self, tmp_path: Path) -> None:
        crawl = Rotated([CHROME], tmp_path, ROBOTSTXT_OBEY=False)
        assert crawl.reported["agents"] == crawl.seen == {CHROME: 4}

    def test_ordinary_crawl_has_no_records_of_agents(self, tmp_path: Path) -> None:
        crawl = Rotated(["GoodBot/1.0"], tmp_path)
        assert of_kind(crawl.run, "agent") == []
        assert "Requests were judged" not in rep("report", crawl.run.path).out
        assert crawl.reported["agents"] == crawl.seen == {"GoodBot/1.0": 3}

    def test_page_names_both(self, tmp_path: Path) -> None:
        pytest.importorskip("jinja2", reason="needs Jinja")
        crawl = Rotated([CHROME], tmp_path)
        page = tmp_path / "report.html"
        assert rep("report", crawl.run.path, "-o", page).status == 0
        text = page.read_text(encoding="utf-8")
        assert f"Robots.txt was obeyed as *; requests were sent as {CHROME}." in text

    def test_trail_without_agents_says_nothing_of_them(self, tmp_path: Path) -> None:
        """An older version did not record them."""
        made = Made(tmp_path)
        made.decide(f"{A}/1", made.policy(A))
        made.end()
        assert json.loads(rep("report", tmp_path, "--json").out)["agents"] == {"unknown": 1}

    def test_explanation_names_the_agent(self, tmp_path: Path) -> None:
        crawl = Rotated([CHROME, "GoodBot/1.0"], tmp_path)
        run, url = crawl.run, crawl.url
        for path, obeyed, sent in (("/1", "*", CHROME), ("/2", "GoodBot", "GoodBot/1.0")):
            told = rep("audit", "explain", run.path, url(path)).out
            assert f"  obeyed as {obeyed}; sent as {sent}\n" in told
        dropped = rep("audit", "explain", run.path, url("/all")).out
        assert "  obeyed as *\n" in dropped
        (row,) = rep("audit", "explain", run.path, url("/1"), "--json").rows
        assert (row["tokens"], row["user_agent"]) == ([], CHROME)

    def test_group_of_all_can_be_asked_for(self, tmp_path: Path) -> None:
        """`--agent '*'` was read as the agent of the crawl."""
        run = judged(tmp_path, [f"{A}/private/x"]).end()
        crawl = judged(tmp_path, USER_AGENT="OtherBot/1.0")
        crawl.know("b.example", b"User-agent: OtherBot\nDisallow: /\n")
        crawl.judge([f"{B}/1"])
        other = crawl.end()
        assert rep("audit", "replay", run.path, "--agent", "*").status == 0
        assert rep("audit", "replay", other.path, "--agent", "*").status == 1


class TestDifferences:
    def test_difference_is_not_called_forgery(self, tmp_path: Path) -> None:
        """All digests are right: so the mistake is ours, or another version decides otherwise."""
        run = judged(tmp_path, [f"{A}/1", f"{A}/2"]).end()
        forged(run, {"t": "policy"}, {"meaning": "allow"})
        assert rep("audit", "verify", run.path).status == 0
        done = rep("report", run.path)
        assert done.status == 1
        assert "proves nothing" not in done.out
        first = done.out.splitlines()[0]
        assert first.startswith("wrong: 2 decisions differ when made again, ")
        replayed = rep("audit", "replay", run.path)
        assert replayed.status == 1
        for out in (first, replayed.out):
            assert "although every digest in the trail is right" in out
            assert "https://github.com/scrapy-rep/scrapy-rep/issues" in out

    def test_difference_in_lines_without_a_digest(self, tmp_path: Path) -> None:
        """A killed trail: either may be so."""
        (path,) = judged(tmp_path, [f"{A}/private/1"]).folder.glob("*.jsonl")
        octets = path.read_bytes()
        path.write_bytes(octets.replace(b'"line":3', b'"line":4'))
        for action in (["audit", "replay"], ["report"]):
            done = rep(*action, path.parent)
            assert done.status == 1
            assert "no digest covers" in done.out
            assert "although every digest" not in done.out

    def test_difference_of_another_agent_is_no_mistake(self, tmp_path: Path) -> None:
        run = judged(tmp_path, [f"{A}/private/1"]).end()
        done = rep("audit", "replay", run.path, "--policy", "lenient", "--agent", "X")
        assert "issues" not in done.out
