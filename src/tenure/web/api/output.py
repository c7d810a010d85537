"""What a job has left behind: partial results, log lines, artifacts."""

from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from tenure.errors import NotFound
from tenure.store.calls import queries
from tenure.web import examples
from tenure.web.artifacts import Download, open_artifact
from tenure.web.context import Above, JobId, Limit, caller_and_job
from tenure.web.models import ArtifactInfo, LogEntry, Partial
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse

routes = router("what jobs leave behind", "/api/jobs/{job_id}")


@routes.get("/partials", **says(tuple[Partial, ...], example=[examples.PARTIAL]))
async def partials(
    request: Request, job_id: JobId, above: Above = 0, limit: Limit = 1000
) -> JsonResponse:
    """Its partial results, oldest first; they outlive every kind of end."""
    return await _kept(request, job_id, "partials", above, limit)


@routes.get("/log", **says(tuple[LogEntry, ...], example=[examples.LOG_LINE]))
async def log(
    request: Request, job_id: JobId, above: Above = 0, limit: Limit = 1000
) -> JsonResponse:
    """What its code printed and logged, oldest first."""
    return await _kept(request, job_id, "logs", above, limit)


@routes.get("/artifacts", **says(tuple[ArtifactInfo, ...], example=[examples.ARTIFACT]))
async def artifacts(request: Request, job_id: JobId) -> JsonResponse:
    """The files it kept."""
    caller, job = await caller_and_job(request, job_id)
    return JsonResponse((await caller.asend(queries.show(job))).artifacts)


@routes.get(
    "/artifacts/{name:path}",
    response_class=Response,
    **says(media="application/octet-stream"),
)
async def download(request: Request, job_id: JobId, name: str) -> Response:
    """One of the files it kept, to be saved."""
    caller, job = await caller_and_job(request, job_id)
    seen = await caller.asend(queries.show(job))
    if name not in [each["name"] for each in seen.artifacts]:
        raise NotFound(f"job {job} has no artifact {name!r}")
    client, tenant = caller.client, caller.principal.tenant
    return Download(name, await open_artifact(client.settings, tenant, job, name))


async def _kept(
    request: Request, job_id: str, kind: Literal["partials", "logs"], above: int, limit: int
) -> JsonResponse:
    caller, job = await caller_and_job(request, job_id)
    found = await caller.asend(queries.job_output(job, kind, above=above, n=limit))
    if not found:
        await caller.asend(queries.show(job))
    return JsonResponse(found)
