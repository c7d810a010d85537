"""All paths of the dashboard."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tenure.web.dashboard import (
    bulk,
    cancellations,
    job,
    jobs,
    live,
    login,
    overview,
    pages,
    static,
)
from tenure.web.dashboard.forms import FORMS
from tenure.web.dashboard.job_actions import ACTIONS

Handler = Callable[[Request], Awaitable[Response]]

_PAGES: dict[str, Handler] = {
    "/static/{name}": static.static,
    "/login": login.login_form,
    "/": overview.overview,
    "/live": live.everything,
    "/jobs": jobs.list_jobs,
    "/jobs/{job}": job.show_job,
    "/jobs/{job}/live": live.job,
    "/jobs/{job}/artifacts/{name:path}": job.artifact,
    "/bulk": bulk.preview,
    "/bulks": bulk.list_bulks,
    "/bulk/{bulk}": bulk.show_bulk,
    "/cancellations": cancellations.list_cancellations,
    "/cancellations/{cancellation}": cancellations.show_cancellation,
    "/cancellations/{cancellation}/live": live.cancellation,
    "/queues": overview.list_queues,
    "/targets": pages.list_targets,
    "/workers": pages.list_workers,
    "/pools": pages.list_pools,
    "/policies": pages.list_policies,
    "/strategies": pages.list_strategies,
    "/schedules": pages.schedules,
    "/audit": pages.audit,
    "/system": pages.system,
    "/tokens": pages.list_tokens,
    "/tenants": pages.list_tenants,
}
_FORMS: dict[str, Handler] = {
    "/login": login.login,
    "/logout": login.logout,
    "/tokens": pages.create_token,
    **{f"/jobs/{{job}}/{action.verb}": action.__call__ for action in ACTIONS},
    **{path: action.__call__ for path, action in FORMS.items()},
}
ROUTES: list[BaseRoute] = [
    *(Route(path, handler, methods=["GET"]) for path, handler in _PAGES.items()),
    *(Route(path, handler, methods=["POST"]) for path, handler in _FORMS.items()),
]
