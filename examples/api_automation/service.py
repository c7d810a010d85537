"""A service that works through calls to other people's APIs: two tenants, one target at a time.

The worker runs inside the service, as a process beside it. Interrupted jobs are paused and resumed
from their checkpoint; a job that spends more tokens than it may ends in error; a service that shuts
down takes nothing new, waits, and pauses what is left.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

from tenure import Context, Job, Settings, Tenure, TenureError
from tenure.control.behalf import Behalf
from tenure.control.following import stop
from tenure.control.handle import Handle
from tenure.domain.lifecycle import Intent
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import Tenant
from tenure.web import create_app

TENANTS = ("acme", "umbrella")
TOKEN_LIMIT = int(os.environ.get("TOKEN_LIMIT", "1000"))
SETTINGS = {  # unless the environment says otherwise; SHUTDOWN_GRACE_PERIOD_SECONDS is read too
    "TENURE_BEAT": "2s",
    "TENURE_LEASE": "6s",
    "TENURE_RECOVER_EVERY": "2s",
    "TENURE_ON_DRAIN": "pause",
    "TENURE_ON_ORPHAN": "fail",
}
app = Tenure(settings=Settings.from_environment({**SETTINGS, **os.environ}))

WORDS = {"completed": "SUCCESS", "failed": "ERROR", "cancelled": "CANCELED"}


@app.task(
    name="call", target="{target}", retry=0, cancel_pauses=True, budget={"tokens": TOKEN_LIMIT}
)
async def call(ctx: Context, target: str, urls: Sequence[str]) -> list[str]:  # noqa: ARG001
    """Call one URL after the other, from the first that has not been answered."""
    answers: list[str] = ctx.checkpoint.get("answers", [])
    async with httpx.AsyncClient(timeout=30) as http:
        for url in urls[len(answers) :]:
            answer = await http.get(url)
            answers.append(answer.text)
            ctx.spend(tokens=len(answer.text.split()))
            ctx.save_checkpoint(answers=answers)
            ctx.progress(len(answers), len(urls))
            await ctx.aflush()  # what was too much is known before more is spent
    return answers


async def who(request: Request) -> Principal | None:
    """Everybody of a tenant is an operator; a real service asks its identity provider."""
    tenant, user = request.headers.get("X-Tenant"), request.headers.get("X-User")
    if tenant not in TENANTS or not user:
        return None
    return Principal(user, Role.OPERATOR, Tenant(tenant))


async def caller(request: Request) -> Principal:
    if (principal := await who(request)) is None:
        raise HTTPException(401, "X-Tenant and X-User say who asks")
    return principal


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    for tenant in TENANTS:
        app.migrate(tenant)
    async with app.worker(tenants=TENANTS):
        yield  # leaving the block drains
    await app.aclose()


service = FastAPI(lifespan=lifespan)


@service.exception_handler(TenureError)
async def refused(_: Request, error: TenureError) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, error.http_status)


@service.post("/targets/{target_id}/jobs/", status_code=201)
async def create(
    target_id: str,
    urls: list[str],
    user: Principal = Depends(caller),  # noqa: B008
) -> dict[str, Any]:
    job = await call.using(tenant=user.tenant.name, owner=user.name).aenqueue(target_id, urls)
    return _seen(await job.ajob())


@service.get("/targets/{target_id}/jobs/{job_id}/")
async def show(
    target_id: str,
    job_id: int,
    user: Principal = Depends(caller),  # noqa: B008
) -> dict[str, Any]:
    job = await Handle[Any](app, job_id, user.tenant).ajob()
    if job.target != target_id:
        raise HTTPException(404, f"there is no job {job_id} for {target_id}")
    return _seen(job)


@service.post("/jobs/{job_id}/interrupt/", status_code=202)
async def interrupt(job_id: int, user: Principal = Depends(caller)) -> dict[str, Any]:  # noqa: B008
    record = await Behalf(app, user).atake(stop(job_id, Intent.CANCEL, None))
    return {"cancellation_id": record.cancellation_id}


def _seen(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "target": job.target,
        "status": WORDS.get(job.status, job.status.upper()),
        "lease_owner": job.lease_owner,
        "lease_expires_at": job.lease_expires_at,
        "cancel_requested": job.cancel_requested,
        "message": job.error_message or job.cancellation_reason,
        "answers": (job.checkpoint or {}).get("answers", []),
    }


# The rest of the API, POST /targets/{target_id}/jobs/{job_id}/resume/ among it.
service.mount("/", create_app(app, authenticate=who))
