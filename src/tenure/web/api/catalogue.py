"""The catalogue of tasks that workers have announced."""

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.catalogue import nearest
from tenure.domain.values import shown
from tenure.errors import NotFound
from tenure.store.calls import task_calls
from tenure.store.task_results import KnownTask
from tenure.web.routes import Routes

routes = Routes("catalogue", "/api/catalogue")


@routes.get("")
async def list_catalogue(caller: AuthorizedClient) -> tuple[KnownTask, ...]:
    """List the announced tasks by name. Their jobs are at `/api/jobs?task=`."""
    return await caller.asend(task_calls.tasks())


@routes.get("/{name:path}")
async def show_known_task(caller: AuthorizedClient, name: str) -> KnownTask:
    """Show a task: its options, the JSON Schema of its arguments, and the workers that serve it."""
    found = await caller.asend(task_calls.tasks(name))
    if not found:
        names = [task.name for task in await caller.asend(task_calls.tasks())]
        hint = f"; {nearest(name, names)}" if names else ""
        raise NotFound(f"there is no task {shown(name)}{hint}")
    return found[0]
