"""The catalogue: what the tasks that were announced declare."""

from starlette.requests import Request

from tenure.control.catalogue import nearest
from tenure.domain.values import shown
from tenure.errors import NotFound
from tenure.store.calls import task_calls
from tenure.store.results import KnownTask
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse

routes = router("catalogue", "/api/catalogue")


@routes.get("", **says(tuple[KnownTask, ...], example=[examples.KNOWN_TASK]))
async def list_catalogue(request: Request) -> JsonResponse:
    """Tasks by name, as the newest announcement of each says; their jobs are `/api/jobs?task=`."""
    return JsonResponse(await caller_of(request).asend(task_calls.tasks()))


@routes.get("/{name:path}", **says(KnownTask, example=examples.KNOWN_TASK))
async def show_known_task(request: Request, name: str) -> JsonResponse:
    """One task with its options, the JSON Schema of its arguments, and what its workers have."""
    found = await caller_of(request).asend(task_calls.tasks(name))
    if not found:
        names = [task.name for task in await caller_of(request).asend(task_calls.tasks())]
        hint = f"; {nearest(name, names)}" if names else ""
        raise NotFound(f"there is no task {shown(name)}{hint}")
    return JsonResponse(found[0])
