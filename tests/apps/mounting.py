"""A service of somebody's own, with its jobs' API under a path of it and a worker inside."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from tenure import Context, Tenure
from tenure.domain.principal import Role
from tenure.web import create_app

jobs = Tenure()


@jobs.task
async def double(n: int) -> int:
    return 2 * n


@jobs.task
async def sleeps(ctx: Context) -> None:
    ctx.progress(1, message="asleep")
    await asyncio.sleep(3600)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with jobs.worker(), jobs:
        yield


service = FastAPI(lifespan=lifespan)
service.mount("/jobs", create_app(jobs, open_to=Role.OPERATOR))


@service.get("/hello")
async def hello() -> dict[str, int]:
    return {"pid": os.getpid()}
