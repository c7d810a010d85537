"""The pages of jobs in the admin site: lists, one job, and its stops.

Who may view jobs reads them. Who may also stop jobs cancels, pauses and resumes them. What they do
is in the audit log under their name.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET, require_POST

from tenure.contrib.django.application import app
from tenure.contrib.django.models import TenureJob
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.job_operations import resume, stop
from tenure.control.operation import Operation
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, Intent, State, Status
from tenure.domain.principal import Principal, Role
from tenure.errors import InputRefused, NotFound, TenureError
from tenure.store.calls import queries

_PAGE = 50
_LINES = 200
_FILTERS = ("status", "task", "queue")
_ACTIONS: Mapping[str, Callable[[int, str], Operation[Any]]] = {
    "cancel": lambda job, reason: stop(job, Intent.CANCEL, reason),
    "pause": lambda job, reason: stop(job, Intent.PAUSE, reason),
    "resume": lambda job, reason: resume(job, reason),
}


@admin.register(TenureJob)
class JobAdmin(admin.ModelAdmin):
    """Pages that read by calls of Tenure, and change nothing by the ORM."""

    def has_add_permission(self, *_: Any) -> bool:
        """Jobs are enqueued by code."""
        return False

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Tell whether the user may stop jobs."""
        return bool(request.user.has_perm("tenure.stop_tenurejob"))

    def has_delete_permission(self, *_: Any) -> bool:
        """Jobs are deleted when their time is over."""
        return False

    def has_view_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Tell whether the user may read jobs; who may stop them may read them."""
        return super().has_view_permission(request) or self.has_change_permission(request)

    def get_urls(self) -> list[Any]:
        """Return the pages, under the names that the index of the site expects."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="tenure_tenurejob_changelist"),
            path("<int:job>/", view(self.show_job), name="tenure_tenurejob_change"),
            path("<int:job>/<str:action>/", view(self.act), name="tenure_tenurejob_act"),
        ]

    @method_decorator(require_GET)
    def changelist_view(self, request: HttpRequest, *_: Any) -> HttpResponse:
        """Show jobs, newest first."""
        caller = self._caller(request)
        wanted = {name: request.GET[name] for name in _FILTERS if request.GET.get(name)}
        below = request.GET.get("below", "")
        try:
            jobs = caller.send(
                queries.list_jobs(wanted, below=int(below) if below.isdigit() else None, n=_PAGE)
            )
        except InputRefused as why:
            messages.error(request, str(why))
            jobs = ()
        older = None
        if len(jobs) == _PAGE:
            query = request.GET.copy()
            query["below"] = jobs[-1].id
            older = query.urlencode()
        return self._page(
            request,
            "jobs.html",
            "Jobs",
            jobs=jobs,
            older=older,
            wanted=wanted,
            statuses=list(Status),
        )

    @method_decorator(require_GET)
    def show_job(self, request: HttpRequest, job: int) -> HttpResponse:
        """Show one job with its attempts, its log and why it is not running."""
        caller = self._caller(request)
        try:
            found = caller.send(queries.show(job))
        except InputRefused as why:
            raise Http404(str(why)) from None
        return self._page(
            request,
            "job.html",
            f"Job {job}",
            job=found,
            explanation=caller.send(queries.explain(job)),
            lines=caller.send(queries.job_output(job, "logs", n=_LINES, newest=True)),
            actions=_offered(found) if self.has_change_permission(request) else (),
        )

    @method_decorator(require_POST)
    def act(self, request: HttpRequest, job: int, action: str) -> HttpResponse:
        """Cancel, pause or resume a job."""
        caller = self._caller(request)
        if action not in _ACTIONS:
            raise Http404(f"there is no action {action}")
        if not self.has_change_permission(request):
            raise PermissionDenied
        reason = request.POST.get("reason", "").strip()
        try:
            if not reason:
                raise InputRefused("give a reason: it is shown to those who ask why")
            caller.perform(_ACTIONS[action](job, reason))
        except NotFound as why:
            raise Http404(str(why)) from None
        except TenureError as why:
            messages.error(request, str(why))
        else:
            messages.success(request, f"Requested: {action} job {job}.")
        return redirect(f"{self.admin_site.name}:tenure_tenurejob_change", job)

    def _caller(self, request: HttpRequest) -> AuthorizedClient:
        if not self.has_view_permission(request):
            raise PermissionDenied
        role = Role.ADMIN if self.has_change_permission(request) else Role.VIEWER
        return AuthorizedClient(app, Principal(request.user.get_username(), role, via="django"))

    def _page(
        self, request: HttpRequest, template: str, title: str, **shown: Any
    ) -> TemplateResponse:
        request.current_app = self.admin_site.name
        context = {**self.admin_site.each_context(request), "title": title, "opts": self.opts}
        return TemplateResponse(request, f"admin/tenure/{template}", {**context, **shown})


def _offered(job: Job) -> tuple[str, ...]:
    """Return the actions that the state of a job allows."""
    if job.state in (State.PAUSED, State.FAILED):
        return ("resume", "cancel") if job.state is State.PAUSED else ("resume",)
    return () if job.state in ENDED else ("cancel", "pause")
