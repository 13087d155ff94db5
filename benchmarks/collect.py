"""The cost of `scrapy rep collect`: origins per CPU second, and memory by list length.

::

    python benchmarks/collect.py [--origins 1000 4000] [--warc]
    python benchmarks/collect.py --origins 100000 --marks 10000 50000 100000
    python benchmarks/collect.py --faults 125 [--crawl]

A site on loopback answers for every address 127.x.y.z, so each address is an origin, with a
robots.txt of 500 octets. The server runs in another process, and its time is not counted. CPU and
peak memory are those of the whole process, including its start: compare two lengths, or use
``--marks`` to see the memory (RSS) after these numbers of origins. With ``--warc``, the command
also writes an archive: compare with a run without it.

With ``--faults 125``, each of the 80 faults of the tests' table has 125 addresses in one list. The
command is stopped and called again twice. The stored answers are compared with the table, and with
``--crawl`` also with the answers that a crawl stores.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from collected import STOPS, collect, crawled, differences, fault_sites

from tests.servers.handle import Answer, Site

_FILE = "User-agent: *\n" + "".join(f"Disallow: /private/{n}/\n" for n in range(20))
_AT_ONCE = 64
_TIMEOUT_SECONDS = 6
_SHOWN = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--origins", type=int, nargs="*", default=[1000, 4000])
    parser.add_argument("--warc", action="store_true", help="write archives too")
    parser.add_argument("--marks", type=int, nargs="*", default=[])
    parser.add_argument("--faults", type=int, default=0, metavar="ADDRESSES")
    parser.add_argument("--crawl", action="store_true")
    options = parser.parse_args()
    if options.faults:
        _faults(options.faults, with_crawl=options.crawl)
    else:
        _good_files(options.origins, options.marks, has_archive=options.warc)


def _good_files(counts: list[int], marks: list[int], *, has_archive: bool) -> None:
    found = []
    for count in counts:
        with Site({"/robots.txt": Answer(body=_FILE)}, address="0.0.0.0") as site:
            hosts = (f"127.{1 + n // 62500}.{n // 250 % 250}.{1 + n % 250}" for n in range(count))
            urls = [site.url(host=host) for host in hosts]
            found.append((count, *_run(urls, marks, has_archive=has_archive)))
            assert len(site.paths()) == count
        _, seconds, cpu, peak = found[-1]
        print(
            f"{count:,} origins: {seconds:.1f} s, {cpu:.1f} s CPU, peak {peak:.0f} MB", flush=True
        )
    if len(found) > 1:
        (few, _, cpu_few, peak_few), (many, _, cpu_many, peak_many) = found[0], found[-1]
        rate = (many - few) / (cpu_many - cpu_few)
        print(f"{rate:.0f} origins a second of one core; {peak_many - peak_few:+.0f} MB")


def _faults(count: int, *, with_crawl: bool) -> None:
    with fault_sites() as sites, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = collect(sites, count, folder, at_once=_AT_ONCE, timeout_seconds=_TIMEOUT_SECONDS)
        print(
            f"{len(found.known):,} origins in {STOPS + 1} calls: {found.seconds:.0f} s, "
            f"{found.cpu_seconds:.0f} s CPU, peak {found.peak_mb:.0f} MB; {len(found.wrong):,} are "
            f"wrong, {found.again_count} requests were sent twice",
            flush=True,
        )
        print(*found.wrong[:_SHOWN], sep="\n", flush=True)
        if with_crawl:
            of_a_crawl = crawled(sites, count, folder, timeout_seconds=_TIMEOUT_SECONDS)
            differing = differences(found.known, of_a_crawl)
            print(f"{len(differing):,} differ from what a crawl stores")
            print(*differing[:_SHOWN], sep="\n")


def _run(urls: list[str], marks: list[int], *, has_archive: bool) -> tuple[float, float, float]:
    """Seconds, seconds of CPU, and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list.txt"
        path.write_text("\n".join(urls))
        more = ["-s", f"REP_STORE_PATH={folder}/store.sqlite"]
        more += ["--warc", f"{folder}/warc"] if has_archive else []
        began_at = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "rep", "collect", str(path), *more],
            stdout=subprocess.DEVNULL,
        )
        _watch(process.pid, path.with_name("list.txt.collect"), sorted(marks))
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        seconds = time.monotonic() - began_at
        return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _watch(pid: int, progress: Path, marks: list[int]) -> None:
    """Print the memory of a process at each mark of its progress file."""
    last = 0.0
    while marks:
        time.sleep(0.5)
        resident = _rss_mb(pid)
        if not resident:
            print(f"at the end: RSS {last:.0f} MB", flush=True)
            return
        last = resident
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            found = json.loads(progress.read_text())
            count = found["done"] + len(found["beyond"])
            while marks and count >= marks[0]:
                print(f"{count:,} origins: RSS {resident:.0f} MB", flush=True)
                del marks[0]


def _rss_mb(pid: int) -> float:
    """The resident memory of a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


if __name__ == "__main__":
    main()
