"""A robots.txt over FTP, without a server: what replies mean, and whose handler is replaced."""

from __future__ import annotations

import pytest
from scrapy.core.downloader.handlers.ftp import FTPDownloadHandler

from scrapy_rep.engine import ftp


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("['550 No such file']", 404),
        ("['530 Not logged in']", 503),
        ("['450 550 in a moment']", 503),
        ("no number", 503),
    ],
)
def test_only_a_missing_file_is_unavailable(reply: str, status: int) -> None:
    response = ftp._refusal("ftp://example.com/robots.txt", reply)
    assert (response.status, response.body) == (status, reply.encode())


def test_only_scrapy_s_own_handler_is_replaced() -> None:
    class Another(FTPDownloadHandler):
        pass

    handlers = {kind: kind.__new__(kind) for kind in (FTPDownloadHandler, Another)}
    assert ftp.is_built_in(handlers[FTPDownloadHandler])
    assert not ftp.is_built_in(handlers[Another])
    assert not ftp.is_built_in(None)
