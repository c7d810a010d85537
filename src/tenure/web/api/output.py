"""The output of a job: partial results, log lines, artifacts."""

from typing import Any, Literal

from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.errors import NotFound
from tenure.store.calls import queries
from tenure.web.artifacts import MEDIA, artifact_response
from tenure.web.context import Above, Limit
from tenure.web.models import ArtifactInfo, LogEntry, Partial
from tenure.web.routes import JobNumber, Routes

routes = Routes("job output", "/api/jobs/{job_id}")


@routes.get("/partials", returns=tuple[Partial, ...])
async def partials(
    caller: AuthorizedClient, job_id: JobNumber, above: Above = 0, limit: Limit = 1000
) -> Any:
    """List partial results, oldest first. They are kept however the job ends."""
    return await _output(caller, job_id, "partials", above, limit)


@routes.get("/log", returns=tuple[LogEntry, ...])
async def log(
    caller: AuthorizedClient, job_id: JobNumber, above: Above = 0, limit: Limit = 1000
) -> Any:
    """List the lines that the job printed or logged, oldest first."""
    return await _output(caller, job_id, "logs", above, limit)


@routes.get("/artifacts", returns=tuple[ArtifactInfo, ...])
async def artifacts(caller: AuthorizedClient, job_id: JobNumber) -> Any:
    """List the artifacts of a job."""
    return (await caller.asend(queries.show(job_id))).artifacts


@routes.get("/artifacts/{name:path}", also={307: None}, media=MEDIA)
async def download(caller: AuthorizedClient, job_id: JobNumber, name: str) -> Response:
    """Download an artifact; with the setting `artifact_links` by a redirect to its store."""
    return await download_artifact(caller, job_id, name)


async def download_artifact(caller: AuthorizedClient, job: int, name: str) -> Response:
    artifacts = (await caller.asend(queries.show(job))).artifacts
    if name not in [artifact["name"] for artifact in artifacts]:
        raise NotFound(f"job {job} has no artifact {name!r}")
    return await artifact_response(caller.client.settings, caller.principal.tenant, job, name)


async def _output(
    caller: AuthorizedClient, job: int, kind: Literal["partials", "logs"], above: int, limit: int
) -> Any:
    rows = await caller.asend(queries.job_output(job, kind, above=above, n=limit))
    if not rows:
        await caller.asend(queries.show(job))
    return rows
