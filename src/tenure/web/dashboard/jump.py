"""The search on top of every page: it opens what was searched for."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain import bounds
from tenure.store.calls import queries, task_calls
from tenure.web.authentication import caller_of
from tenure.web.dashboard.attention import attention_of
from tenure.web.dashboard.navigation import places_for
from tenure.web.dashboard.rendering import redirect
from tenure.web.limits import whole_number

_RECORDS = ("cancel-", "pause-")
_MAX_NAMES = 30


async def jump(request: Request) -> Response:
    """Open a page, an action, a job by its id or key, a record, a task, a queue, or the jobs."""
    wanted = request.query_params.get("q", "").strip()
    path, query, place = await _destination(caller_of(request), wanted)
    return redirect(request, path, query, place)


async def names(request: Request) -> Response:
    """Return the pages, actions, tasks and queues with these words in their names, as JSON."""
    caller, wanted = caller_of(request), request.query_params.get("q", "").strip().casefold()
    tasks = await caller.asend(task_calls.tasks())
    queues = {jobs.queue for jobs in (await attention_of(request, fresh=False)).totals.jobs}
    known = [*places_for(caller.principal), *(task.name for task in tasks), *sorted(queues)]
    return JSONResponse([name for name in known if wanted in name.casefold()][:_MAX_NAMES])


async def _destination(caller: AuthorizedClient, wanted: str) -> tuple[str, dict[str, str], str]:
    """Return a path, its query, and the place on that page."""
    if (number := whole_number(wanted.removeprefix("#"))) is not None:
        return f"/jobs/{number}", {}, ""
    if wanted.startswith(_RECORDS):
        return f"/cancellations/{wanted}", {}, ""
    places = {name.casefold(): found for name, found in places_for(caller.principal).items()}
    if (found := places.get(wanted.casefold())) is not None:
        return found[0], {}, found[1]
    if not wanted:
        return "/jobs", {}, ""
    if jobs := await caller.asend(queries.list_jobs({"key": wanted}, n=1)):
        return f"/jobs/{jobs[0].id}", {}, ""
    is_name = bounds.validation_error("task", wanted) is None
    if is_name and await _is_task(caller, wanted):
        return f"/tasks/{wanted}", {}, ""
    of_queue = await caller.asend(queries.list_jobs({"queue": wanted}, n=1))
    if of_queue:
        return "/jobs", {"queue": wanted}, ""
    return "/jobs", {"q": wanted}, ""


async def _is_task(caller: AuthorizedClient, name: str) -> bool:
    found = await caller.asend(task_calls.tasks(name))
    return bool(found)
