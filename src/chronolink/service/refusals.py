"""What went wrong, as one sentence in JSON"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ..errors import ChronolinkError

LONGEST = 600  # characters of a sentence, which may repeat a value of any length
SENTENCES = {
    400: "the body cannot be read as JSON; send whole JSON in UTF-8",
    404: "there is nothing at this address; /docs lists what there is",
    405: "this address takes another method; /docs lists which",
}


class UnknownNodeError(ChronolinkError):
    """No node of that name."""


class BusyError(Exception):
    """Too many wait already."""


def refused(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """`{"detail": sentence}`, on one line, of bounded length and without what UTF-8 cannot hold."""
    line = " ".join(sentence.encode(errors="replace").decode().split())
    half = LONGEST // 2
    shortened = line if len(line) <= LONGEST else f"{line[:half]} ... {line[-half:]}"
    return JSONResponse({"detail": shortened}, status, headers)


def add_refusals(app: FastAPI) -> None:
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ChronolinkError, _mendable)
    app.add_exception_handler(BusyError, _busy)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return refused(422, sentence(error.errors()[0]))


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status = 422 if error.status_code == 400 else error.status_code
    return refused(status, SENTENCES.get(error.status_code, str(error.detail)), error.headers)


async def _mendable(_: Request, error: Exception) -> JSONResponse:
    """By who asked, except where the disk is at fault."""
    if isinstance(error, UnknownNodeError):
        return refused(404, str(error))
    return refused(503 if isinstance(error.__cause__, OSError) else 422, str(error))


async def _busy(_: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    return refused(503, "too many requests are waiting; ask again in a second", {"Retry-After": "1"})


def sentence(error: Mapping[str, Any]) -> str:
    """What pydantic found first: where, what is wrong, what to do."""
    place, kind, context = _place(error["loc"]), error["type"], error.get("ctx", {})
    match kind:
        case "refused":
            return f"{place} {error['msg']}".strip()
        case "json_invalid":
            return f"the body is not JSON ({context.get('error', 'it cannot be read')}); send whole JSON"
        case "missing":
            return f"{place or 'the body'} is missing; give it"
        case "extra_forbidden":
            return f"{place} is not known here; leave it out"
        case "too_long":
            return f"{place} has more than {context['max_length']} items; send fewer at a time"
        case "too_short":
            return f"{place} is empty; give at least {context['min_length']}"
        case "list_type":
            return f"{place} is no list; give a list"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{place or 'the body'} is no object; give one as /docs shows it"
    said = error["msg"][:1].lower() + error["msg"][1:]
    return f"{place or 'the body'}: {said}"


def _place(steps: Sequence[str | int]) -> str:
    """`pairs, row 4: source` of ("body", "pairs", 3, "source")."""
    place = ""
    for step in steps[1:]:
        place += f", row {step + 1}:" if isinstance(step, int) else f" {step}"
    return place.strip(" :")
