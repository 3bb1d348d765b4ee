"""Answer questions about a run over HTTP

chronolink serve RUN [--port 8000] [--host ADDRESS]

A page at /, the interface at /docs. Only this machine can ask unless --host is given; where the environment variable
CHRONOLINK_API_KEY is set, who asks must send that key. SIGTERM and Ctrl-C end it, with all that it observed kept.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser

from ..errors import ChronolinkError
from ..predictor import open_run
from ._arguments import command_parser, parse, tidy
from ._console import console, messages

if TYPE_CHECKING:
    import uvicorn

KEY = "CHRONOLINK_API_KEY"
PATIENCE = 30  # seconds that requests get to end after a signal


def main(arguments: Sequence[str]) -> None:
    settings = parse(_parser(), tidy(arguments, "run"))
    if settings.run is None:
        raise ChronolinkError("no run given; name the folder that train wrote")
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise ChronolinkError(f"{package} is not installed; pip install 'chronolink[serve]'")
    key = os.environ.get(KEY)
    if key is not None and not key.strip():
        raise ChronolinkError(f"{KEY} is empty; set it to a key, or unset it to ask for none")
    listener = _listener(settings.host, settings.port)
    if key is None and not ip_address(listener.getsockname()[0]).is_loopback:
        messages.print(f"anyone who reaches {settings.host} can read and append events; set {KEY} to ask for a key")
    _serve(settings.run, key, listener)


def _parser() -> ArgumentParser:
    parser = command_parser("serve", __doc__)
    parser.add_argument("--run", type=str | None, help="the run's folder; may stand alone, without --run")
    parser.add_argument("--port", type=int, default=8000, help="0 takes one that is free")
    parser.add_argument("--host", type=str, default="127.0.0.1", help="the address to listen at; 0.0.0.0 is every one")
    return parser


def _listener(host: str, port: int) -> socket.socket:
    """A bound socket: whether the address can be had is known before the run is opened."""
    if not 0 <= port < 2**16:
        raise ChronolinkError(f"port is {port}; it must be from 0 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise ChronolinkError(
            f"cannot listen at {host}, port {port} ({reason}); choose others by --host and --port"
        ) from error
    return listener


def _serve(run: str, key: str | None, listener: socket.socket) -> None:
    import uvicorn

    from ..service.app import create_app

    with open_run(run) as predictor:
        app = create_app(predictor, key)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=PATIENCE)
        server = uvicorn.Server(config)
        _end_on_signals(server)
        listener.listen()  # who asks from now on is answered when the server has begun
        console.print(f"{predictor.name} at {_address(listener)} (Ctrl-C ends it)", highlight=False, soft_wrap=True)
        try:
            server.run(sockets=[listener])
        finally:
            app.state.desk.close()
            predictor.save()
        console.print(f"saved with {predictor.size:,} events", highlight=False)


def _end_on_signals(server: uvicorn.Server) -> None:
    """Asks the server to end; uvicorn does so, too, and raises the signal again when it has ended."""

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
