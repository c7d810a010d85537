"""All paths of the dashboard."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tenure.web.dashboard import (
    bulk,
    cancellations,
    fleet,
    job,
    jobs,
    jump,
    live,
    login,
    overview,
    pages,
    schedules,
    static,
    tasks,
    tenant_switch,
    webhooks,
)
from tenure.web.dashboard.forms import FORMS
from tenure.web.dashboard.job_actions import ACTIONS

Handler = Callable[[Request], Awaitable[Response]]

_PAGES: dict[str, Handler] = {
    "/static/{name}": static.static,
    "/login": login.login_form,
    "/": overview.overview,
    "/live": live.everything,
    "/jump": jump.jump,
    "/jump/names": jump.names,
    "/jobs": jobs.list_jobs,
    "/complete": jobs.complete_search,
    "/jobs/{job}": job.show_job,
    "/jobs/{job}/live": live.job,
    "/jobs/{job}/artifacts/{name:path}": job.artifact,
    "/jobs/{job}/images/{name:path}": job.artifact_image,
    "/bulk": bulk.preview,
    "/bulks": bulk.list_bulks,
    "/bulk/{bulk}": bulk.show_bulk,
    "/cancellations": cancellations.list_cancellations,
    "/cancellations/{cancellation}": cancellations.show_cancellation,
    "/cancellations/{cancellation}/live": live.cancellation,
    "/stops": overview.list_stops,
    "/questions": overview.list_questions,
    "/leaks": overview.list_leaks,
    "/tasks": tasks.list_tasks,
    "/tasks/{task:path}": tasks.show_task,
    "/queues": overview.list_queues,
    "/targets": pages.list_targets,
    "/fleet": fleet.show_fleet,
    "/workers": fleet.list_workers,
    "/pools": pages.list_pools,
    "/limits": pages.list_limits,
    "/policies": pages.list_policies,
    "/strategies": pages.list_strategies,
    "/schedules": schedules.list_schedules,
    "/audit": pages.audit,
    "/system": pages.system,
    "/tokens": pages.list_tokens,
    "/webhooks": webhooks.list_webhooks,
    "/webhooks/{webhook}": webhooks.show_webhook,
    "/tenants": pages.list_tenants,
    "/_components": pages.components,
}
_FORMS: dict[str, Handler] = {
    "/login": login.login,
    "/logout": login.logout,
    "/tenant": tenant_switch.switch_tenant,
    "/tasks/{task:path}": tasks.enqueue_job,
    "/tokens": pages.create_token,
    "/webhooks": webhooks.set_webhook,
    "/webhooks/rotate": webhooks.rotate_webhook,
    **{f"/jobs/{{job}}/{action.verb}": action.__call__ for action in ACTIONS},
    **{path: action.__call__ for path, action in FORMS.items()},
}
ROUTES: list[BaseRoute] = [
    *(Route(path, handler, methods=["GET"]) for path, handler in _PAGES.items()),
    *(Route(path, handler, methods=["POST"]) for path, handler in _FORMS.items()),
]
