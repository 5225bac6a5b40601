"""What stands between a browser and a server: it passes on, counts what browsers send, and can lie."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Lie = Callable[[bytes], bytes]
PASSED_BY = {"connection", "transfer-encoding", "content-length"}


@dataclass(frozen=True)
class SeenRequest:
    """One request of a browser as the server's side sees it."""

    method: str
    path: str
    bytes: int  # of its body


@dataclass
class CountingProxy:
    """A server's public address."""

    target: str  # host:port
    port: int
    seen: list[SeenRequest] = field(default_factory=list)
    lies: dict[str, Lie] = field(default_factory=dict)  # path -> what is said instead
    down: bool = False  # nobody answers
    gate: threading.Event = field(default_factory=threading.Event)  # closed: uploads wait for their answer
    held: int = 0  # uploads that wait so

    def __post_init__(self) -> None:
        self.gate.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bodies(self) -> int:
        """Bytes that browsers sent in bodies."""
        return sum(one.bytes for one in self.seen)


@contextmanager
def counting_proxy(target: str, port: int) -> Iterator[CountingProxy]:
    """A proxy at work until the block ends."""
    made = CountingProxy(target, port)
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(made))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def _handler(proxy: CountingProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if proxy.down:
                self.close_connection = True
                return
            if "sec-fetch-mode" in self.headers and self.command != "OPTIONS":
                proxy.seen.append(SeenRequest(self.command, self.path, len(body)))
            if self.command == "POST":
                proxy.held += not proxy.gate.is_set()
                proxy.gate.wait()
            connection = http.client.HTTPConnection(proxy.target, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in PASSED_BY}
            lie = proxy.lies.get(self.path.partition("?")[0])
            if lie is not None:
                headers = {
                    k: v for k, v in headers.items() if k.lower() not in ("accept-encoding", "if-none-match")
                }
            try:
                connection.request(self.command, self.path, body, headers)
                reply = connection.getresponse()
                content = reply.read() if lie is None else lie(reply.read())
            except OSError:  # the server has ended
                self.close_connection = True
                return
            finally:
                connection.close()
            self.send_response_only(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in PASSED_BY:
                    self.send_header(name, value)
            if reply.status not in (204, 304):
                self.send_header("content-length", str(len(content)))
            self.end_headers()
            try:
                self.wfile.write(content)
            except OSError:  # the tab was closed before its reply came
                self.close_connection = True

        do_GET = do_POST = do_DELETE = do_OPTIONS = pass_on  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    return Handler
