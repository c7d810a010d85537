"""The server: ``uvicorn examples.api_automation.server.server:server``."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.requests import Request

from examples.api_automation.server.routes import jobs
from examples.api_automation.server.utils.job_execution import (
    SHUTDOWN_GRACE_PERIOD_SECONDS,
    TENANTS,
    app,
    initiate_graceful_shutdown,
    worker,
)
from tenure import TenureError


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    for tenant in TENANTS:
        await asyncio.to_thread(app.migrate, tenant)
    await worker.start()
    yield
    await initiate_graceful_shutdown(timeout_seconds=SHUTDOWN_GRACE_PERIOD_SECONDS)
    await app.aclose()


server = FastAPI(lifespan=lifespan)
server.include_router(jobs.router)


# Every refusal has one shape too: {"detail": a sentence}.


@server.exception_handler(TenureError)
async def refused(_: Request, error: TenureError) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, error.http_status)


@server.exception_handler(RequestValidationError)
async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return JSONResponse({"detail": f"{place}: {first['msg']}"}, 422)


@server.get("/demo/{words}")
async def demo(words: int, seconds: float = 0) -> PlainTextResponse:
    """Answer with so many words after so many seconds: an API to try the service on."""
    await asyncio.sleep(seconds)
    return PlainTextResponse(" ".join(["word"] * words))
