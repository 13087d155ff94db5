"""Writes scrapy_rep/extras/webmaster/agents/crawlers.txt from a list of known crawlers.

::

    python docs/make_agents.py AGENTS.JSONL [FILE]

Each line of the list is an object with the fields of `Crawler`. Its ``note`` may name fields
without a source after ``mem:``. `_MORE` has names that real files often contain and the list lacks.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

_HERE = (
    Path(__file__).resolve().parents[1]
    / "scrapy_rep"
    / "extras"
    / "webmaster"
    / "agents"
    / "crawlers.txt"
)
_MEMORY = re.compile(r"mem: ([a-z_, ]+)")
_FLAGS = {"user_triggered": "user-triggered", "policy_token": "policy", "obsolete": "obsolete"}

_HEAD = """\
# Known crawlers, by a list of {date}. Made by `python docs/make_agents.py`.
# Columns: token; operator; purpose; whether it obeys; whether it obeys Crawl-delay; whether it
# reads wildcards; the source of these statements and its date; flags; the token of the group that
# it takes before *; the fields that are from memory; other spellings.
"""

# Token, operator, purpose, source, flags, other spellings; nothing else is known about these.
_MORE = """\
CloudflareBrowserRenderingCrawler | Cloudflare | other | memory | - | -
peer39_crawler | Peer39 | ads | memory | - | -
R6_CommentReader | Salesforce (Radian6) | other | memory | obsolete | -
Spinn3r | Spinn3r | other | memory | obsolete | -
NerdByNature.Bot | Nerd by Nature | other | memory | - | -
netEstate NE Crawler | netEstate | other | memory | - | netEstate Imprint Crawler, Datenbank Crawler
panscient.com | Panscient | other | memory | - | Panscient
quillbot.com | QuillBot | other | memory | - | -
5emeRue | 5ème Rue | other | memory | - | 5erue
Sidetrade indexer bot | Sidetrade | ai-training | memory | - | -
Poseidon Research Crawler | Poseidon Research | ai-training | memory | - | -
TaraGroup Intelligent Bot | Tara Group | other | memory | - | TaraGroup Intelligence Bot
sitecheck.internetseer.com | InternetSeer | monitoring | memory | obsolete | -
crawler4j | anyone (open source) | other | memory | - | -
k2spider | anyone (Verity) | other | memory | obsolete | -
Hatena Antenna | Hatena | feed | memory | - | -
Offline Explorer | anyone (MetaProducts) | other | memory | - | Offline.Explorer
Teleport Pro | anyone (Tennyson Maxwell) | other | memory | - | TeleportPro, Teleport
WebCopier | anyone (MaximumSoft) | other | memory | - | -
Website Quester | anyone (unknown) | other | memory | obsolete | Website.Quester
Web Image Collector | anyone (unknown) | other | memory | obsolete | Web.Image.Collector
Webster Pro | anyone (unknown) | other | memory | obsolete | Webster.Pro
Download Ninja | anyone (Ifour) | other | memory | obsolete | Internet Ninja
Kenjin Spider | anyone (Autonomy) | other | memory | obsolete | Kenjin.Spider
Mister PiX | anyone (unknown) | other | memory | obsolete | Mister.PiX
Mata Hari | anyone (unknown) | other | memory | obsolete | Mata.Hari
URLy Warning | anyone (unknown) | other | memory | obsolete | URLy.Warning
asknread.com | Ask'n'Read | other | memory | - | Ask n read
Qwam content intelligence | Qwam | other | memory | - | -
The Knowledge AI | The Knowledge AI | other | memory | - | -
Clickagy Intelligence Bot | ZoomInfo (Clickagy) | other | memory | - | -
Yahoo Ad Monitoring | Yahoo | ads | memory | - | -
DTS Agent | anyone (unknown) | other | memory | obsolete | -
NetSeer crawler | NetSeer | ads | memory | obsolete | -
Sogou Orion spider | Sogou | search | memory | - | Sogou blog, Sogou spider2, Sogou wap spider
Snap URL Preview Service | Snap | preview | memory | - | -
Echobot Bot | Echobot | other | memory | - | -
Openfind data gatherer | Openfind | search | memory | obsolete | Openfind data gathere
Radiation Retriever | anyone (unknown) | other | memory | obsolete | -
LinkScan | anyone (Elsop) | other | memory | obsolete | LinkScan Unix
The Intraformant | anyone (unknown) | other | memory | obsolete | The.Intraformant
QueryN Metasearch | anyone (unknown) | other | memory | obsolete | QueryN.Metasearch
Keyword Density | anyone (unknown) | other | memory | obsolete | Keyword.Density
Black Hole | anyone (unknown) | other | memory | obsolete | Black.Hole
Microsoft URL Control | anyone (library) | other | memory | obsolete | Microsoft.URL.Control
Crescent Internet ToolPak HTTP OLE Control | anyone (library) | other | memory | obsolete | -
Xenu Link Sleuth | anyone (Tilman Hausherr) | other | memory | obsolete | Xenu, Xenu's Link Sleuth
Zeus | anyone (unknown) | other | memory | obsolete | Zeus Link Scout, Zeus Webster Pro Win32
Oracle Ultra Search | anyone (Oracle) | other | memory | obsolete | -
RepoMonkey | anyone (unknown) | other | memory | obsolete | RepoMonkey Bait & Tackle
Bookmark search tool | anyone (unknown) | other | memory | obsolete | -
FairAd Client | anyone (unknown) | other | memory | obsolete | -
Flaming AttackBot | anyone (unknown) | other | memory | obsolete | -
VCI WebViewer | anyone (unknown) | other | memory | obsolete | VCI WebViewer VCI WebViewer Win32
Anomura | Direqt | ai-search | list 2026-08-22 | - | -
atlassian-bot | Atlassian | ai-search | list 2026-08-22 | - | -
Awario | Awario | monitoring | list 2026-08-22 | - | -
bigsur.ai | Big Sur AI | ai-user-fetch | list 2026-08-22 | - | -
BuddyBot | BuddyBotLearning | other | list 2026-08-22 | - | -
CragCrawler | CragSoftware | other | list 2026-08-22 | - | -
Devin | Devin AI | ai-user-fetch | list 2026-08-22 | user-triggered | -
EchoboxBot | Echobox | other | list 2026-08-22 | - | -
Factset_spyderbot | FactSet | ai-training | list 2026-08-22 | - | -
GeistHaus-PageFetcher | GeistHaus | ai-user-fetch | list 2026-08-22 | - | -
Google-Gemini-CLI | Google | ai-user-fetch | list 2026-08-22 | user-triggered | -
Claude-Code | Anthropic | ai-user-fetch | list 2026-08-22 | user-triggered | -
KlaviyoAIBot | Klaviyo | ai-user-fetch | list 2026-08-22 | - | -
Lightpanda | anyone (open source) | other | list 2026-08-22 | - | -
Mozilla-Tabstack | Mozilla | ai-user-fetch | list 2026-08-22 | - | -
NagetBot | Naget | other | list 2026-08-22 | - | -
Poggio-Citations | Poggio | ai-user-fetch | list 2026-08-22 | - | -
QualifiedBot | Qualified | ai-user-fetch | list 2026-08-22 | - | -
QueritBot | Querit | ai-search | list 2026-08-22 | - | -
Querit-SearchBot | Querit | ai-search | list 2026-08-22 | - | -
Reflectionbot | Reflection AI | other | list 2026-08-22 | - | -
AIWebIndex | Lyrenth | other | list 2026-08-22 | - | -
AgentTimes | The Agent Times | feed | list 2026-08-22 | - | -
Thinkbot | Thinkbot | other | list 2026-08-22 | - | -
TwinAgent | Twin | ai-user-fetch | list 2026-08-22 | user-triggered | -
WARDBot | WEBSPARK | other | list 2026-08-22 | - | -
wpbot | QuantumCloud | other | list 2026-08-22 | - | -
YaK | Meltwater | other | list 2026-08-22 | - | -
MeltwaterNews | Meltwater | monitoring | memory | - | Meltwater
FlipboardRSS | Flipboard | feed | memory | - | -
AwarioBot | Awario | monitoring | memory | - | -
AwarioSmartBot | Awario | monitoring | memory | - | -
AwarioRssBot | Awario | monitoring | memory | - | -
magpie-crawler | Brandwatch | monitoring | memory | - | -
NewsNow | NewsNow | feed | memory | - | -
news-please | anyone (open source) | other | memory | - | -
PiplBot | Pipl | other | memory | - | -
AmazonAdBot | Amazon | ads | memory | - | -
trendictionbot | Talkwalker | monitoring | memory | - | -
sentibot | SentiOne | monitoring | memory | - | -
SeekrBot | Seekr | search | memory | - | -
Scoop.it | Scoop.it | other | memory | - | -
KBCrawl | KB Crawl | monitoring | memory | - | -
Cision | Cision | monitoring | memory | - | -
Sindup | Sindup | monitoring | memory | - | -
LinerBot | LINER | ai-search | memory | - | -
GensparkBot | Genspark | ai-search | memory | - | -
Quora-Bot | Quora | preview | memory | - | -
ias_crawler | Integral Ad Science | ads | memory | - | ias-au, ias-ir, ias-jp, ias-or, ias-va
linkfluence | Linkfluence | monitoring | memory | - | -
Synthesio | Synthesio | monitoring | memory | - | -
Digimind | Digimind | monitoring | memory | - | -
Livelapbot | Livelap | feed | memory | - | -
trovitBot | Trovit | search | memory | - | -
SearchmetricsBot | Searchmetrics | seo | memory | - | -
ClarityBot | seoClarity | seo | memory | - | -
spbot | OpenLinkProfiler | seo | memory | obsolete | -
Moreover | LexisNexis (Moreover) | monitoring | memory | - | moreoverbot
IstellaBot | Istella | search | memory | - | -
Pixray-Seeker | Pixray | other | memory | - | -
AudigentAdBot | Audigent | ads | memory | - | -
Botify | Botify | seo | memory | - | -
OnCrawl | OnCrawl | seo | memory | - | -
Outbrain | Outbrain | ads | memory | - | -
TaboolaBot | Taboola | ads | memory | - | -
cXensebot | Cxense | ads | memory | - | -
GumGum-Bot | GumGum | ads | memory | - | GumGum Bot
Shodan | Shodan | research | memory | - | -
special_archiver | Internet Archive (Archive-It) | archive | memory | - | -
bl.uk_lddc_bot | British Library | archive | memory | - | -
bne.es_bot | Biblioteca Nacional de España | archive | memory | - | -
netarkivet.dk | Royal Danish Library | archive | memory | - | -
OrangeBot | Orange | search | memory | - | OrangeBot-Collector
BLP_bbot | Bloomberg | monitoring | memory | - | -
Chrome-Lighthouse | Google | other | memory | user-triggered | -
Flamingo_SearchEngine | Flamingo Search | search | memory | obsolete | -
UbiCrawler | anyone (University of Milan) | research | memory | obsolete | -
ConveraCrawler | Convera | search | memory | obsolete | -
Sosospider | Tencent | search | memory | obsolete | -
JikeSpider | Jike | search | memory | obsolete | -
cliqzbot | Cliqz | search | memory | obsolete | -
discobot | Discovery Engine | search | memory | obsolete | -
Jetbot | Jetslide | search | memory | obsolete | -
wotbox | Wotbox | search | memory | obsolete | -
Genieo | Genieo | other | memory | obsolete | -
Jyxobot | Jyxo | search | memory | obsolete | -
Ezooms | Moz | seo | memory | obsolete | -
ZyBorg | LookSmart | search | memory | obsolete | -
NPBot | NameProtect | monitoring | memory | obsolete | -
grub-client | Grub | search | memory | obsolete | -
larbin | anyone (open source) | other | memory | obsolete | -
WebStripper | anyone (unknown) | other | memory | obsolete | -
SiteSnagger | anyone (unknown) | other | memory | obsolete | -
WebZIP | anyone (unknown) | other | memory | obsolete | -
WebReaper | anyone (unknown) | other | memory | obsolete | -
MSIECrawler | anyone (Microsoft) | other | memory | obsolete | -
"""

# Names of groups that these crawlers also take.
_MORE_SPELLINGS = {
    "yacybot": ["yacy", "yacyproxy"],
    "MojeekBot": ["Mojeek"],
    "FlipboardProxy": ["Flipboard"],
}


def table(lines: list[str], date: str) -> str:
    """The text of the file."""
    rows = [_row(json.loads(line)) for line in lines if line.strip()]
    for line in _MORE.splitlines():
        token, operator, purpose, source, flags, spellings = line.split(" | ")
        cells = [token, operator, purpose, *["unknown"] * 3, source, flags, "-", "-", spellings]
        rows.append(" | ".join(cells))
    return _HEAD.format(date=date) + "\n".join(rows) + "\n"


def _row(crawler: dict[str, Any]) -> str:
    remembered = _MEMORY.search(crawler["note"])
    fields = re.findall(r"[a-z_]+", remembered[1]) if remembered else []
    cells = [
        crawler["token"],
        crawler["operator"],
        crawler["purpose"],
        crawler["obeys"],
        crawler["crawl_delay"],
        crawler["wildcards"],
        f"{crawler['source_kind']} {crawler['seen']}".strip(),
        " ".join(word for name, word in _FLAGS.items() if crawler[name]),
        crawler["fallback"] or "",
        " ".join(field for field in fields if field in crawler),
        ", ".join([*crawler["other_spellings"], *_MORE_SPELLINGS.get(crawler["token"], [])]),
    ]
    if any("|" in cell for cell in cells):
        raise ValueError(crawler)
    return " | ".join(cell or "-" for cell in cells)


def main() -> None:
    """Write the file."""
    source = Path(sys.argv[1])
    date = re.search(r"compiled (\d{4}-\d\d-\d\d)", source.with_suffix(".md").read_text())
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else _HERE  # noqa: PLR2004
    lines = source.read_text(encoding="utf-8").splitlines()
    target.write_text(table(lines, date[1] if date else "an unknown date"), encoding="utf-8")


if __name__ == "__main__":
    main()
