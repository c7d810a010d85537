"""What is done to a job by its buttons; each writes its audit row and leads back to the job."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.behalf import Behalf
from tenure.control.following import stop
from tenure.control.looking_into import look
from tenure.domain.lifecycle import Intent, Status
from tenure.errors import NotAnswered
from tenure.store.calls import controlling, enqueueing, looking
from tenure.web.asking import who_and_which
from tenure.web.page.forms import Form, form_of
from tenure.web.page.rendering import go_to

Do = Callable[[Behalf, int, Form], Awaitable[int]]


async def cancel(behalf: Behalf, job: int, form: Form) -> int:
    await behalf.atake(
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


async def pause(behalf: Behalf, job: int, form: Form) -> int:
    await behalf.atake(stop(job, Intent.PAUSE, form.stated_reason, grace=form.get("grace")))
    return job


async def force(behalf: Behalf, job: int, form: Form) -> int:
    """Make the stop that is under way a forced one."""
    seen = await behalf.asend(looking.show(job))
    intent = Intent.PAUSE if seen.status is Status.PAUSING else Intent.CANCEL
    await behalf.atake(stop(job, intent, form.stated_reason, force=True))
    return job


async def resume(behalf: Behalf, job: int, form: Form) -> int:
    fresh = "fresh" in form
    await behalf.asend(controlling.resume(job, fresh=fresh, reason=form.reason))
    return job


async def clear(behalf: Behalf, job: int, form: Form) -> int:
    await behalf.asend(controlling.clear(job, reason=form.reason))
    return job


async def rerun(behalf: Behalf, job: int, form: Form) -> int:
    return (await behalf.asend(controlling.rerun(job, reason=form.reason))).id


async def queue(behalf: Behalf, job: int, _: Form) -> int:
    await behalf.asend(enqueueing.queue(job))
    return job


async def look_into(behalf: Behalf, job: int, _: Form) -> int:
    """The page shows what was seen, also when it comes later than anybody waits here."""
    with suppress(NotAnswered):
        await behalf.atake(look(job))
    return job


VERBS: dict[str, Do] = {
    "cancel": cancel,
    "pause": pause,
    "force": force,
    "resume": resume,
    "clear": clear,
    "rerun": rerun,
    "queue": queue,
    "look": look_into,
}


def doing(do: Do) -> Callable[[Request], Awaitable[Response]]:
    async def done(request: Request) -> Response:
        behalf, job = await who_and_which(request, request.path_params["job"])
        return go_to(request, f"/jobs/{await do(behalf, job, form_of(request))}")

    return done
