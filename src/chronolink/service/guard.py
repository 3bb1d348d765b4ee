"""Keys, sizes and the last resort"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .metrics import Metrics
from .refusals import refused

log = logging.getLogger("chronolink")

OPEN = ("/", "/docs", "/health")  # without a key: two pages that hold nothing of the run, and a sign of life
MOST_BYTES = 4 * 2**20  # of a body
READ_ON = 16 * MOST_BYTES  # a client that is still sending does not listen: up to here it is heard out, then refused
HEADERS = {
    b"cache-control": b"no-store",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}


class Guard:
    """Refuses what has no key, is too large or is no JSON; whatever fails behind it becomes a sentence, too."""

    def __init__(self, app: ASGIApp, key: str | None, metrics: Metrics, routes: Collection[str]) -> None:
        self.app, self.key = app, None if key is None else key.strip().encode()
        self.metrics, self.routes = metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, watched = time.perf_counter(), _Watched(send)
        try:
            await self._answer(scope, receive, watched)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if watched.status is not None:
                raise
            await refused(500, "something is wrong with the service; its log says what")(scope, receive, watched)
        finally:
            self.metrics.count(self._route(scope["path"]), watched.status or 499, time.perf_counter() - begun)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if self.key is None and _misled(scope, headers):
            await refused(403, "asked under a name that is not this machine's; ask localhost, or set a key")(
                scope, receive, send
            )
        elif not self._admits(scope["path"], headers):
            advice = "send the service's key as X-API-Key or as Authorization: Bearer"
            await refused(401, f"the key is missing or wrong; {advice}", {"WWW-Authenticate": "Bearer"})(
                scope, receive, send
            )
        elif scope["method"] == "POST" and not _json(headers):
            await refused(415, "the body is not said to be JSON; send Content-Type: application/json")(
                scope, receive, send
            )
        else:
            await self.app(scope, _Bounded(receive), send)

    def _route(self, path: str) -> str:
        """The first part of the path, where it is one of ours: names of nodes are no labels."""
        first = "/" + path.split("/")[1]
        return first if first in self.routes else "other"

    def _admits(self, path: str, headers: Headers) -> bool:
        if self.key is None or path in OPEN:
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        shown = token if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        return hmac.compare_digest(shown.strip().encode("latin-1"), self.key)


def _misled(scope: Scope, headers: Headers) -> bool:
    """A page of another site whose name leads to this machine, so that a browser lets it read the answers."""
    server = scope.get("server")
    return server is not None and _here(server[0]) and not _here(headers.get("host", ""))


def _here(host: str) -> bool:
    """Whether a name or an address, with or without a port, is this machine as seen from itself."""
    try:
        name = host if host.count(":") > 1 and host[0] != "[" else urlsplit(f"//{host}").hostname
        return name == "localhost" or ip_address(name or "").is_loopback
    except ValueError:
        return False


def _json(headers: Headers) -> bool:
    """A page of another site can send a form or plain text unasked, but no JSON."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


@dataclass(slots=True)
class _Watched:
    """Sends on, remembers the status, adds the headers that every answer has."""

    send: Send
    status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name for name, _ in message["headers"]}
            added = [(name, value) for name, value in HEADERS.items() if name not in given]
            message = {**message, "headers": [*message["headers"], *added]}
        await self.send(message)


@dataclass(slots=True)
class _Bounded:
    """Receives a body up to the bound; what is over it is read and dropped, and then refused."""

    receive: Receive
    size: int = 0

    async def __call__(self) -> Message:
        message = await self.receive()
        self.size += len(message.get("body", b""))
        if self.size <= MOST_BYTES:
            return message
        while message.get("more_body") and self.size <= READ_ON:
            message = await self.receive()
            self.size += len(message.get("body", b""))
        raise HTTPException(413, f"the body is larger than {MOST_BYTES} bytes; send it in parts")
