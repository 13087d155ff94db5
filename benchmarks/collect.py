"""What `scrapy rep collect` costs: origins per second of CPU, and memory by the length of the list.

::

    python benchmarks/collect.py [--origins 1000 4000] [--warc]

A site on loopback answers for every address 127.x.y.z, so that each is an origin of its own, with
a robots.txt of 500 octets. The server runs in another process, whose time is not counted. CPU and
peak memory are those of the whole process of the command, its start included: compare two lengths.
With `--warc`, the command writes an archive too: compare with a run without.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.servers.handle import Answer, Site

_FILE = "User-agent: *\n" + "".join(f"Disallow: /private/{n}/\n" for n in range(20))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--origins", type=int, nargs="*", default=[1000, 4000])
    parser.add_argument("--warc", action="store_true", help="write archives too")
    options = parser.parse_args()
    found = []
    for count in options.origins:
        with Site({"/robots.txt": Answer(body=_FILE)}, address="0.0.0.0") as site:
            hosts = (f"127.{1 + n // 62500}.{n // 250 % 250}.{1 + n % 250}" for n in range(count))
            found.append((count, *_run([site.url(host=host) for host in hosts], options.warc)))
            assert len(site.paths()) == count
        _, seconds, cpu, peak = found[-1]
        print(
            f"{count:,} origins: {seconds:.1f} s, {cpu:.1f} s CPU, peak {peak:.0f} MB", flush=True
        )
    if len(found) > 1:
        (few, _, cpu_few, peak_few), (many, _, cpu_many, peak_many) = found[0], found[-1]
        rate = (many - few) / (cpu_many - cpu_few)
        print(f"{rate:.0f} origins a second of one core; {peak_many - peak_few:+.0f} MB")


def _run(urls: list[str], has_archive: bool) -> tuple[float, float, float]:
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
