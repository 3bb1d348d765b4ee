"""The service, put together"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from .. import __doc__ as about
from ..predictor import Predictor
from .desk import Desk
from .guard import Guard
from .metrics import Metrics
from .pages import read_page
from .refusals import add_refusals
from .routes import router

KEY = "Where the service has a key, send it as X-API-Key or as Authorization: Bearer"
REFUSAL = 'What is refused comes with a status of 400 or more and the reason as {"detail": "..."}'


def create_app(predictor: Predictor, key: str | None = None) -> FastAPI:
    """A service that answers from a predictor, which is its own until it ends; where there is a key, it asks for it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.desk.close()

    app = FastAPI(
        title="Chronolink",
        description=f"{about}. {KEY}. {REFUSAL}.",
        version=version("chronolink"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk, app.state.metrics = Desk(predictor), Metrics()
    routes = {"/", "/docs", "/openapi.json", *(route.path for route in router.routes if isinstance(route, APIRoute))}
    app.add_middleware(Guard, key=key, metrics=app.state.metrics, routes=routes)
    add_refusals(app)
    app.include_router(router)
    _add_page(app, "/", "page.html")
    _add_page(app, "/docs", "docs.html")
    return app


def _add_page(app: FastAPI, address: str, file: str) -> None:
    page, policy = read_page(file)

    @app.get(address, response_class=HTMLResponse, include_in_schema=False)
    async def show() -> HTMLResponse:
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})
