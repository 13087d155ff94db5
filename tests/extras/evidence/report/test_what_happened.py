"""What reports, replays and explanations say is what the servers saw."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import Done, rep
from tests.crawling import LOOPS, Loop
from tests.crawls.settings import ADDON
from tests.crawls.test_challenges import challenge
from tests.crawls.test_user_agents import agents_of, rotated
from tests.extras.evidence.audit.crawled import audited, of_kind
from tests.extras.evidence.audit.making import judged
from tests.extras.evidence.report.making import BEGAN, Made
from tests.extras.evidence.report.test_first_lines import forged
from tests.servers.handle import Answer, Site
from tests.spiders import UrlsSpider

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"
FILE = """\
User-agent: GoodBot
Disallow: /good

User-agent: *
Disallow: /all
"""
A, B = "https://a.example", "https://b.example"
CAPPED = {"REP_CRAWL_DELAY_MAX_SECONDS": 0.2}
NOTHING = "nothing is known of what their robots.txt says"


class ExemptSpider(UrlsSpider):
    """Exempts its requests with paths that end in "-free"."""

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            request.meta["dont_obey_robotstxt"] = request.url.endswith("-free")
            yield request


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
        assert ("/good" in crawl.paths) is (order == 50), (
            "if a later middleware sets it, GoodBot is judged too"
        )

    @pytest.mark.parametrize("loop", LOOPS)
    def test_report_counts_the_agents_that_the_server_saw(self, loop: Loop, tmp_path: Path) -> None:
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

    def test_user_agents_of_a_crawl_that_does_not_obey(self, tmp_path: Path) -> None:
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
        star = "(* is the group for all: a User-Agent had no name)"
        assert f"Robots.txt was obeyed as * {star}; requests were sent as {CHROME}." in text

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
        assert "proves nothing" not in rep("report", run.path).out
        replayed = rep("audit", "replay", run.path)
        assert replayed.status == 1
        assert "although every digest in the trail is right" in replayed.out

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


class TestExemptions:
    """The file of an origin judges afterwards what it did not decide."""

    SIX = (*(f"/all/{number}-free" for number in range(5)), "/open-free")

    @pytest.mark.parametrize("is_first", [True, False])
    def test_trail_has_the_file(self, is_first: bool, tmp_path: Path) -> None:
        """Also if it comes after the requests that the spider exempts."""
        with Site({"/robots.txt": Answer(body=FILE)}) as site, Site() as other:
            origin, others = site.url(""), other.url("/1-free")
            free, obeying = [*map(site.url, self.SIX)], [site.url("/2")]
            urls = [*free, *obeying] if is_first else [*obeying, *free]
            spider = "tests.extras.evidence.report.test_what_happened:ExemptSpider"
            settings = {"CONCURRENT_REQUESTS": 1}
            _, run = audited([*urls, others], tmp_path, spider=spider, settings=settings)
            assert {*self.SIX, "/2"} < set(site.paths())
            assert other.paths() == ["/1-free"]
        done = rep("report", run.path)
        assert done.status == 0
        (told,) = (one for one in done.out.splitlines() if "no robots.txt decided" in one)
        assert told.startswith("note: 7 requests were sent that no robots.txt decided: 7 by ")
        assert told.endswith(
            f": 5 of 6 would have been disallowed, for instance by line 5 of the robots.txt of "
            f"{origin}: Disallow: /all, and nothing is known of 1."
        )
        assert "note: 1 request was judged by robots.txt and allowed." in done.out, "not OK"
        rows = json.loads(rep("report", run.path, "--json").out)["exemptions"]["rows"]
        assert [(row["count"], row["known"], row["disallowed"]) for row in rows] == [
            (6, 6, 5),
            (1, 0, 0),
        ]

    def test_redacted_urls_are_not_judged(self, tmp_path: Path) -> None:
        """Their queries may decide."""
        crawl = judged(tmp_path, [f"{A}/1"], REP_AUDIT_QUERY="drop")
        crawl.judge([f"{A}/private/x?a=1"], dont_obey_robotstxt=True)
        assert f": {NOTHING}." in rep("report", crawl.end().path).out

    def test_request_before_the_grant_ended(self, tmp_path: Path) -> None:
        """The file that was fetched after the end of a grant judges what the grant allowed."""
        made = Made(tmp_path, REP_OVERRIDES={"a.example": "ignore"})
        own = made.policy(A, source="override", event="override", meaning="allow", hops=None)
        made.decide(f"{A}/x", own, reason="OVERRIDDEN")
        body = b"User-agent: *\nDisallow: /x\n"
        digest = sha256(body).hexdigest()
        made.put("body", sha256=digest, octets=len(body), text=body.decode())
        made.policy(A, body=f"sha256:{digest}")
        made.end()
        told = (
            f"1 of 1 would have been disallowed, by line 2 of the robots.txt of {A}: Disallow: /x."
        )
        assert told in rep("report", tmp_path).out


class TestSent:
    """What was sent, against a robots.txt or without its decision, by the log of the server."""

    def test_exempt_requests_count_as_sent_though_disallowed(self, tmp_path: Path) -> None:
        """They were counted in dry runs only."""
        with Site({"/robots.txt": Answer(body=FILE)}) as site:
            urls = [site.url(path) for path in ("/all/1-free", "/2-free", "/all/3", "/4")]
            spider = "tests.extras.evidence.report.test_what_happened:ExemptSpider"
            _, run = audited(urls, tmp_path, spider=spider)
            assert {"/all/1-free", "/2-free", "/4"} == set(site.paths()) - {"/robots.txt"}
        found = json.loads(rep("report", run.path, "--json").out)
        (origin,) = found["origins"]["rows"]
        for counts in (found["totals"], origin):
            assert (counts["against"], counts["unknown"]) == (1, 0)
        assert sum(one["against"] for one in found["times"]["moments"]) == 1
        assert origin["sent"] == {run.name: 3}
        text, status = paged(run.path, tmp_path)
        assert status == 0, "the exemption is in the code"
        assert ", but 2 requests went out without it or against it" in text
        assert "<dt>sent though disallowed</dt><dd>1</dd>" in text
        assert "1 request that it would have disallowed. Allowed by: dont_obey_robotstxt" in text
        assert "2 requests were not checked" in text
        assert "Each request is judged" not in text

    def test_dry_run_does_not_obey(self, tmp_path: Path) -> None:
        with Site({"/robots.txt": Answer(body=FILE)}) as site:
            settings = {"REP_DRY_RUN": True}
            _, run = audited([site.url("/all")], tmp_path, settings=settings)
        text, _ = paged(run.path, tmp_path)
        assert "A dry run: requests were judged as " in text
        assert "was obeyed" not in text

    def test_nothing_is_known_of_a_crawl_that_does_not_obey(self, tmp_path: Path) -> None:
        with Site({"/robots.txt": Answer(body=FILE)}) as site:
            settings = {"ROBOTSTXT_OBEY": False}
            _, run = audited([site.url("/all")], tmp_path, settings=settings)
            url = site.url("/all")
        text, _ = paged(run.path, tmp_path)
        for words in (
            f"1 by ROBOTSTXT_OBEY, which was off (such as {url}): {NOTHING}.",
            "No request was checked before it was sent.",
            "No origin is known to have set a delay between requests. Of 1 origin, no robots.txt",
            "<dt>sent though disallowed, as far as is known</dt><dd>0</dd>",
            "<dt>sent, rules unknown</dt><dd>1</dd>",
            "unknown, because its rules are not known for 1 request",
        ):
            assert words in text, words

    @pytest.mark.parametrize(
        ("status", "is_known", "words"),
        [
            (404, True, "1 request: its answer means that there are no rules"),
            (
                503,
                False,
                "everything was allowed by the policy for errors (REP_POLICY_OVERRIDES)",
            ),
        ],
    )
    def test_answers_without_rules(
        self, status: int, is_known: bool, words: str, tmp_path: Path
    ) -> None:
        with Site({"/robots.txt": Answer(status=status)}) as site:
            settings = {"REP_POLICY_OVERRIDES": {"503": "allow"}}
            _, run = audited([site.url("/1")], tmp_path, settings=settings)
        text, _ = paged(run.path, tmp_path)
        assert "1 request was checked (0 by the rules of a robots.txt, 1 by a policy" in text
        assert "judged by robots.txt" not in text
        assert words in text
        assert ("No origin set a delay between requests." in text) is is_known

    def test_requests_that_came_back_count_as_often_as_the_server_saw_them(
        self, tmp_path: Path
    ) -> None:
        limited = Answer(status=429, headers=[("Retry-After", "1")])
        routes: dict[str, Any] = {
            "/robots.txt": Answer(body=FILE),
            "/*": [limited, Answer(body="page")],
        }
        with Site(routes) as site:
            _, run = audited([site.url("/1"), site.url("/2")], tmp_path)
            seen = [path for path in site.paths() if path != "/robots.txt"]
        found = json.loads(rep("report", run.path, "--json").out)
        (origin,) = found["origins"]["rows"]
        assert origin["sent"] == {run.name: len(seen)}
        text, _ = paged(run.path, tmp_path)
        shares = re.findall(r"<td[^>]*>([0-9.]+)%</td>", text)
        assert sum(map(float, shares)) == pytest.approx(100.0, abs=0.2)
        assert "decisions on 2 requests: some were decided a second time" in text

    def test_requests_that_were_given_up_do_not_count(self, tmp_path: Path) -> None:
        """Those after challenges counted as sent, although they waited until they were dropped."""
        routes = {"/robots.txt": Answer(body=FILE), "/*": challenge()}
        with Site(routes) as site:
            urls = [site.url(f"/{number}") for number in range(5)]
            _, run = audited(urls, tmp_path, settings={"CONCURRENT_REQUESTS": 1})
            seen = [path for path in site.paths() if path != "/robots.txt"]
        found = json.loads(rep("report", run.path, "--json").out)
        assert found["totals"]["challenged"] == 5
        assert found["origins"]["rows"][0]["sent"] == {run.name: len(seen)}
        assert [*found["agents"].values()] == [len(seen)]

    def test_delay_has_a_source(self, tmp_path: Path) -> None:
        """Sites of one host share its slot in Scrapy, so also a delay of one of them."""
        slow = Answer(body="User-agent: *\nCrawl-delay: 0.1\n")
        with Site({"/robots.txt": slow}) as site, Site({"/robots.txt": Answer(body="")}) as other:
            urls = [one.url(f"/{number}") for number in range(3) for one in (site, other)]
            _, run = audited(urls, tmp_path, settings={"CONCURRENT_REQUESTS": 1})
        paces = json.loads(rep("report", run.path, "--json").out)["paces"]["rows"]
        told = {row["origin"]: row["source"] for row in paces}
        assert told[site.url("")] == "its Crawl-delay"
        shared = f"the Crawl-delay of {site.url('')}, which has the same host"
        assert told[other.url("")] == shared
        assert "2 origins had a delay between requests, which 1 of them set, and no request" in (
            rep("report", run.path).out
        )

    def test_killed_crawl_tells_up_to_where(self, tmp_path: Path) -> None:
        made = Made(tmp_path)
        p = made.policy(A, crawl_delay=2.0)
        made.forbid(f"{A}/x", p)
        for at in (0.0, 3.0):
            made.now = BEGAN + at
            made.send(A, at, at, 2.0)
        text, status = paged(tmp_path, tmp_path)
        told = "as far as is recorded (until 2027-01-15 08:00:03 UTC)"
        assert f"None of these was sent, {told}" in text
        assert f"no request came too soon, {told}" in text
        assert "<strong>OK:</strong>" not in text
        assert "after the last mark have no digest" in text
        assert status == 4

    def test_page_of_several_runs_has_no_id_twice(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            made = Made(tmp_path, name)
            made.decide(f"{A}/1", made.policy(A))
            made.end()
        text, _ = paged(tmp_path, tmp_path)
        ids = re.findall(r' id="([^"]*)"', text)
        assert len(ids) == len(set(ids))
        assert ">Decisions by reason</h3>" in text, "also if all were made in one second"
        assert "Each of the 2 trails is complete: every digest, number and total in it" in text
        assert "2 requests (1 in one, 1 in two)" in text
        assert "No origin rested." in text

    def test_site_has_the_names_and_the_status_of_a_challenge(self, tmp_path: Path) -> None:
        made = Made(tmp_path, REP_POLICY="lenient")
        hop = {"uri": f"{A}/robots.txt", "at": made.now, "status": 403, "source": "network"}
        facts = {"access_result": "unreachable", "meaning": "allow", "hops": [hop]}
        p = made.policy(A, event="challenge", **facts)
        names: tuple[dict[str, Any], ...] = ({}, {"tokens": []}, {"tokens": ["BarBot"]})
        for tokens in names:
            made.decide(f"{A}/1", p, reason="UNREACHABLE", **tokens)
        made.end()
        text, _ = paged(tmp_path, tmp_path)
        assert "robots.txt: challenge, status 403 (unreachable)" in text
        assert "3 requests; 0 dropped; 1 as *; 1 as BarBot; 1 by the name of the crawl" in text
        assert "Here: 429, 5xx and failures allow everything, unless there is an older copy" in text


def paged(runs: Path, root: Path) -> tuple[str, int]:
    """The page of some runs, and the exit status."""
    pytest.importorskip("jinja2", reason="needs Jinja")
    path = root / "page.html"
    status = rep("report", runs, "-o", path).status
    return path.read_text(encoding="utf-8"), status


class TestRests:
    """The cause is named, in the log and in the report."""

    def test_challenge_is_no_429(self, tmp_path: Path) -> None:
        with Site({"/robots.txt": Answer(body=FILE), "/*": challenge()}) as site:
            urls = [site.url(f"/{number}") for number in range(6)]
            result, run = audited(urls, tmp_path)
        assert "Origins: 1 rested after a challenge, 1 given up after a challenge" in result.log
        done = rep("report", run.path)
        assert "1 origin rested (1 after a challenge). No crawl sent" in done.out
        assert "note: 1 origin was given up (1 after a challenge)." in done.out
        told = "note: 6 requests were dropped, because an edge answered with challenges."
        assert told in done.out
        assert not re.search("(after|answered) 429|429 or 503", result.log + done.out)

    def test_each_cause_has_a_count(self, tmp_path: Path) -> None:
        unavailable = Answer(status=503, headers=[("Retry-After", "1")], lasts_seconds=0.5)
        limited = replace(unavailable, status=429)
        robots = {"/robots.txt": Answer(body=FILE)}
        page = Answer(body="page")
        with (
            Site({**robots, "/*": [limited, page]}) as first,
            Site({**robots, "/*": [unavailable, page]}) as second,
        ):
            urls = [site.url(f"/{number}") for site in (first, second) for number in range(3)]
            result, run = audited(urls, tmp_path)
        (told,) = re.findall("Origins: (.*)", result.log)
        assert sorted(told.split(", ")) == ["1 rested after 429", "1 rested after 503"]
        (told,) = re.findall(r"2 origins rested \((.*)\)\.", rep("report", run.path).out)
        assert sorted(told.split(", ")) == ["1 after 429", "1 after 503"]


class TestDelays:
    """Delays above the limit are told, whatever the crawl does with them."""

    @pytest.mark.parametrize(
        ("excess", "status", "words"),
        [
            (
                "ignore",
                5,
                "wrong: 3 requests (such as {}/0) were sent to 1 origin without the delay",
            ),
            (
                "skip",
                0,
                "note: 3 requests (such as {}/0) were dropped, because 1 origin set a delay",
            ),
            (
                "cap",
                5,
                "1 of them got requests before it was over (such as {}, by REP_CRAWL_DELAY_MAX",
            ),
        ],
    )
    def test_delay_above_the_limit(
        self, excess: str, status: int, words: str, tmp_path: Path
    ) -> None:
        done, origin, paths = self.slowed(excess, 3, tmp_path)
        assert len(paths) == (1 if excess == "skip" else 4)
        assert words.format(origin) in done.out
        assert done.status == status

    def slowed(self, excess: str, count: int, root: Path) -> tuple[Done, str, list[str]]:
        """The report of a crawl of a site with a long delay, the site, and its requests."""
        with Site({"/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 900\n")}) as site:
            urls = [site.url(f"/{number}") for number in range(count)]
            settings = {**CAPPED, "REP_CRAWL_DELAY_EXCESS": excess}
            _, run = audited(urls, root, settings=settings)
            return rep("report", run.path), site.url(""), site.paths()

    def test_one_request_under_a_capped_delay(self, tmp_path: Path) -> None:
        """No request came too soon, and none would have waited for the delay."""
        done, origin, _ = self.slowed("cap", 1, tmp_path)
        told = f"such as {origin}: 15.0 min; the crawl meant to keep 0.2 s)."
        assert f"note: 1 origin set a delay above REP_CRAWL_DELAY_MAX_SECONDS ({told}" in done.out
        assert done.status == 0

    def test_origin_that_an_operator_dropped(self, tmp_path: Path) -> None:
        """No robots.txt decided."""
        made = Made(tmp_path)
        made.decide(f"{B}/1", made.policy(B))
        more: dict[str, Any] = {"allowed": False, "reason": "DROPPED", "why": "a mail"}
        made.decide(f"{B}/1", None, by="user-agent", **more)
        for number in range(3):
            made.decide(f"{A}/{number}", None, **more)
        made.end()
        done = rep("report", tmp_path)
        assert "No request was judged by robots.txt." in done.out
        told = "were dropped because an operator dropped 2 origins, not by a robots.txt."
        assert f"note: 4 requests (such as {A}/0) {told}" in done.out
        assert done.status == 0
        assert "(a mail)" in rep("audit", "explain", tmp_path / "run-1", f"{A}/1").out
