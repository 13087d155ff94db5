"""The cost of `scrapy rep collect`: origins per CPU second, and memory by list length.

::

    python benchmarks/collect.py [--origins 1000 4000 8000] [--warc]
    python benchmarks/collect.py --faults 125 [--crawl]

A site on loopback answers for every address 127.x.y.z, so each address is an origin, with a
robots.txt of 500 octets. The server runs in another process, and its time is not counted. CPU and
peak memory are those of the whole process, including its start, so compare two lengths. With
``--warc``, the command also writes an archive: compare with a run without it.

With ``--faults 125``, each of the 80 faults of the tests' table has 125 addresses in one list. The
command is stopped and called again twice. The stored answers are compared with the table, and with
``--crawl`` also with the answers that a crawl stores.
"""

from __future__ import annotations

import argparse
import os
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
    parser.add_argument("--origins", type=int, nargs="*", default=[1000, 4000, 8000])
    parser.add_argument("--warc", action="store_true", help="write archives too")
    parser.add_argument("--faults", type=int, default=0, metavar="ADDRESSES")
    parser.add_argument("--crawl", action="store_true")
    options = parser.parse_args()
    if options.faults:
        _faults(options.faults, with_crawl=options.crawl)
    else:
        _good_files(options.origins, has_archive=options.warc)


def _good_files(counts: list[int], *, has_archive: bool) -> None:
    print("| origins | time | CPU | memory at most |")
    print("| ---: | ---: | ---: | ---: |")
    for count in counts:
        with Site({"/robots.txt": Answer(body=_FILE)}, address="0.0.0.0") as site:
            hosts = (f"127.{1 + n // 62500}.{n // 250 % 250}.{1 + n % 250}" for n in range(count))
            urls = [site.url(host=host) for host in hosts]
            seconds, cpu, peak = _run(urls, has_archive=has_archive)
            assert len(site.paths()) == count
        print(f"| {count:,} | {seconds:.0f} s | {cpu:.0f} s | {peak:.0f} MB |", flush=True)


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


def _run(urls: list[str], *, has_archive: bool) -> tuple[float, float, float]:
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
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        seconds = time.monotonic() - began_at
        return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
