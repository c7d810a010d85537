"""What is done to a job by its buttons; each writes its audit row and leads back to the job."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.inspection import inspect
from tenure.control.job_operations import stop
from tenure.domain.lifecycle import Intent, Status
from tenure.errors import NotAnswered
from tenure.store.calls import control_calls, enqueue_calls, queries
from tenure.web.context import caller_and_job
from tenure.web.dashboard.forms import Form, form_of
from tenure.web.dashboard.rendering import redirect

Do = Callable[[AuthorizedClient, int, Form], Awaitable[int]]


async def cancel(caller: AuthorizedClient, job: int, form: Form) -> int:
    await caller.aperform(
        stop(
            job,
            Intent.CANCEL,
            form.stated_reason,
            strategy=form.get("strategy"),
            grace=form.get("grace"),
            force=True if "force" in form else None,
            cascade=False if "no_cascade" in form else None,
            rollback=True if "rollback" in form else None,
        )
    )
    return job


async def pause(caller: AuthorizedClient, job: int, form: Form) -> int:
    await caller.aperform(stop(job, Intent.PAUSE, form.stated_reason, grace=form.get("grace")))
    return job


async def force(caller: AuthorizedClient, job: int, form: Form) -> int:
    """Make the stop that is under way a forced one."""
    seen = await caller.asend(queries.show(job))
    intent = Intent.PAUSE if seen.status is Status.PAUSING else Intent.CANCEL
    await caller.aperform(stop(job, intent, form.stated_reason, force=True))
    return job


async def resume(caller: AuthorizedClient, job: int, form: Form) -> int:
    fresh = "fresh" in form
    await caller.asend(control_calls.resume(job, fresh=fresh, reason=form.reason))
    return job


async def clear(caller: AuthorizedClient, job: int, form: Form) -> int:
    await caller.asend(control_calls.clear(job, reason=form.reason))
    return job


async def rerun(caller: AuthorizedClient, job: int, form: Form) -> int:
    return (await caller.asend(control_calls.rerun(job, reason=form.reason))).id


async def queue(caller: AuthorizedClient, job: int, _: Form) -> int:
    await caller.asend(enqueue_calls.queue(job))
    return job


async def inspect_job(caller: AuthorizedClient, job: int, _: Form) -> int:
    """The page shows what was seen, also when it comes later than anybody waits here."""
    with suppress(NotAnswered):
        await caller.aperform(inspect(job))
    return job


VERBS: dict[str, Do] = {
    "cancel": cancel,
    "pause": pause,
    "force": force,
    "resume": resume,
    "clear": clear,
    "rerun": rerun,
    "queue": queue,
    "inspect": inspect_job,
}


def doing(do: Do) -> Callable[[Request], Awaitable[Response]]:
    async def done(request: Request) -> Response:
        caller, job = await caller_and_job(request, request.path_params["job"])
        return redirect(request, f"/jobs/{await do(caller, job, form_of(request))}")

    return done
