"""Writes scrapy_rep/analysis/agents/crawler_table.py from a list of known crawlers.

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
    Path(__file__).resolve().parents[1] / "scrapy_rep" / "analysis" / "agents" / "crawler_table.py"
)
_MEMORY = re.compile(r"mem: ([a-z_, ]+)")
_FLAGS = {"user_triggered": "asked", "policy_token": "policy", "obsolete": "obsolete"}

_HEAD = '''\
# ruff: noqa: E501 - a crawler a line
"""Known crawlers, by a list of {date}. Made by `python docs/make_agents.py`.

Columns: token; operator; purpose; whether it obeys; whether it obeys Crawl-delay; whether it reads
wildcards; the source of these statements and its date; flags; the token of the group that it takes
before ``*``; the fields that are from memory; other spellings.
"""

DATED = "{date}"

ROWS = """\\
'''

# Token, operator, purpose, flags, other spellings; nothing else is known about these crawlers.
_MORE = """\
CloudflareBrowserRenderingCrawler | Cloudflare | other | - | -
peer39_crawler | Peer39 | ads | - | -
R6_CommentReader | Salesforce (Radian6) | other | obsolete | -
Spinn3r | Spinn3r | other | obsolete | -
NerdByNature.Bot | Nerd by Nature | other | - | -
netEstate NE Crawler | netEstate | other | - | netEstate Imprint Crawler, Datenbank Crawler
panscient.com | Panscient | other | - | Panscient
quillbot.com | QuillBot | other | - | -
5emeRue | 5ème Rue | other | - | 5erue
Sidetrade indexer bot | Sidetrade | ai-training | - | -
Poseidon Research Crawler | Poseidon Research | ai-training | - | -
TaraGroup Intelligent Bot | Tara Group | other | - | TaraGroup Intelligence Bot
sitecheck.internetseer.com | InternetSeer | monitoring | obsolete | -
crawler4j | anyone (open source) | other | - | -
k2spider | anyone (Verity) | other | obsolete | -
Hatena Antenna | Hatena | feed | - | -
Offline Explorer | anyone (MetaProducts) | other | - | Offline.Explorer
Teleport Pro | anyone (Tennyson Maxwell) | other | - | -
WebCopier | anyone (MaximumSoft) | other | - | -
Website Quester | anyone (unknown) | other | obsolete | Website.Quester
Web Image Collector | anyone (unknown) | other | obsolete | Web.Image.Collector
Webster Pro | anyone (unknown) | other | obsolete | Webster.Pro
Download Ninja | anyone (Ifour) | other | obsolete | Internet Ninja
Kenjin Spider | anyone (Autonomy) | other | obsolete | Kenjin.Spider
Mister PiX | anyone (unknown) | other | obsolete | Mister.PiX
Mata Hari | anyone (unknown) | other | obsolete | Mata.Hari
URLy Warning | anyone (unknown) | other | obsolete | URLy.Warning
asknread.com | Ask'n'Read | other | - | Ask n read
Qwam content intelligence | Qwam | other | - | -
The Knowledge AI | The Knowledge AI | other | - | -
Clickagy Intelligence Bot | ZoomInfo (Clickagy) | other | - | -
Yahoo Ad Monitoring | Yahoo | ads | - | -
DTS Agent | anyone (unknown) | other | obsolete | -
NetSeer crawler | NetSeer | ads | obsolete | -
Sogou Orion spider | Sogou | search | - | Sogou blog, Sogou spider2, Sogou wap spider
Snap URL Preview Service | Snap | preview | - | -
Echobot Bot | Echobot | other | - | -
Openfind data gatherer | Openfind | search | obsolete | Openfind data gathere
Radiation Retriever | anyone (unknown) | other | obsolete | -
LinkScan | anyone (Elsop) | other | obsolete | LinkScan Unix
The Intraformant | anyone (unknown) | other | obsolete | The.Intraformant
QueryN Metasearch | anyone (unknown) | other | obsolete | QueryN.Metasearch
Keyword Density | anyone (unknown) | other | obsolete | Keyword.Density
Black Hole | anyone (unknown) | other | obsolete | Black.Hole
Microsoft URL Control | anyone (library) | other | obsolete | Microsoft.URL.Control, URL Control
Crescent Internet ToolPak HTTP OLE Control | anyone (library) | other | obsolete | -
Xenu Link Sleuth | anyone (Tilman Hausherr) | other | obsolete | Xenu's, Xenu's Link Sleuth
Zeus | anyone (unknown) | other | obsolete | Zeus Link Scout, Zeus Webster Pro Win32
Oracle Ultra Search | anyone (Oracle) | other | obsolete | -
RepoMonkey | anyone (unknown) | other | obsolete | RepoMonkey Bait & Tackle
Bookmark search tool | anyone (unknown) | other | obsolete | -
FairAd Client | anyone (unknown) | other | obsolete | -
Flaming AttackBot | anyone (unknown) | other | obsolete | -
VCI WebViewer | anyone (unknown) | other | obsolete | VCI WebViewer VCI WebViewer Win32
"""


def table(lines: list[str], date: str) -> str:
    """The module."""
    rows = [_row(json.loads(line)) for line in lines if line.strip()]
    for line in _MORE.splitlines():
        token, operator, purpose, *rest = line.split(" | ")
        flags, spellings = rest
        cells = [token, operator, purpose, *["unknown"] * 3, "memory", flags, "-", "-", spellings]
        rows.append(" | ".join(cells))
    return _HEAD.format(date=date) + "\n".join(rows) + '\n"""\n'


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
        ", ".join(crawler["other_spellings"]),
    ]
    if any("|" in cell for cell in cells):
        raise ValueError(crawler)
    return " | ".join(cell or "-" for cell in cells).replace("\\", "\\\\")


def main() -> None:
    """Write the module."""
    source = Path(sys.argv[1])
    date = re.search(r"compiled (\d{4}-\d\d-\d\d)", source.with_suffix(".md").read_text())
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else _HERE  # noqa: PLR2004
    lines = source.read_text(encoding="utf-8").splitlines()
    target.write_text(table(lines, date[1] if date else "an unknown date"), encoding="utf-8")


if __name__ == "__main__":
    main()
