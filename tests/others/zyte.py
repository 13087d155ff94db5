"""A stand-in for Zyte API: fetches a URL, follows redirects, and returns the answer."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from typing_extensions import Self

_OPENER = build_opener(ProxyHandler({}))


class ZyteApi:
    """Serves on a loopback port; `asked` are the parameters of each request."""

    def __init__(self) -> None:
        asked: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                wanted = json.loads(self.rfile.read(length))
                asked.append(wanted)
                answer = json.dumps(_fetched(wanted)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def urls(self) -> list[str]:
        return [wanted["url"] for wanted in self.asked]


def _fetched(wanted: dict[str, Any]) -> dict[str, Any]:
    try:
        response = _OPENER.open(Request(wanted["url"]), timeout=10)
    except HTTPError as error:
        response = error
    with response:
        body = response.read()
        return {
            "url": response.url,
            "statusCode": response.status,
            "httpResponseBody": b64encode(body).decode(),
            "browserHtml": body.decode("latin-1"),
            "httpResponseHeaders": [
                {"name": name, "value": value} for name, value in response.headers.items()
            ],
        }
