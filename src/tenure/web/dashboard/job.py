"""The page of a job: why it is as it is, its stop, its timeline and its output."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.cancellation import StopSummary
from tenure.domain.inspection import Inspection
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, Reason, State
from tenure.domain.step import Question
from tenure.domain.values import nearest_float
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import family_calls, queries, step_calls
from tenure.store.family_results import Family
from tenure.store.results import Strategy
from tenure.web.api.output import download_artifact
from tenure.web.context import caller_and_job
from tenure.web.dashboard import strip
from tenure.web.dashboard.answer_form import answer_fields
from tenure.web.dashboard.formatting import exact, quantity
from tenure.web.dashboard.graph import graph
from tenure.web.dashboard.job_actions import may_control, offered
from tenure.web.dashboard.job_tabs import TABS, image_kind, load_tab, read_artifact
from tenure.web.dashboard.rendering import render, url
from tenure.web.dashboard.stop_view import names_of, stop_view
from tenure.web.dashboard.timeline import MAX_STEPS, timeline
from tenure.web.dashboard.window import read_window
from tenure.web.limits import whole_number
from tenure.web.streams import cancel

AT_ONCE = 4  # queries of one page
FAMILY_PAGE = 40  # children in the timeline
_MAX_MARKS = 50  # partial results and events in the timeline
_MAX_IMAGE = 8 << 20  # bytes
_REFRESH_FAILED = 10  # seconds: a failed job may be resumed long afterwards
_REFRESH = 2  # seconds, for what no event reports: log lines, heartbeats, children
_ADDRESS = ("tab", "below", "level", "q", "show", "from", "to", "after", "state")


async def show_job(request: Request) -> Response:
    caller, number = await caller_and_job(request, request.path_params["job"])
    given = {name: value for name, value in request.query_params.items() if name in _ADDRESS}
    job = await caller.asend(queries.show(number))
    found = await read_page(caller, job, given)
    stop: StopSummary | None = found.pop("stop")
    record = stop.record if stop else None
    family, following = _page_of(found["family"])
    settings = caller.client.settings
    is_final = job.state in ENDED and (record is None or record.completed_at is not None)
    refresh = _REFRESH_FAILED if job.state is State.FAILED else None

    def here(**changes: Any) -> str:
        return url(request, f"/jobs/{number}", {**given, **changes})

    return render(
        request,
        "job.html",
        **found,
        job=job,
        record=record,
        stop=stop_view(stop, job, settings, names_of(family)) if stop else None,
        resumption=strip.resumption(record, job, found["audit"]) if record else None,
        following=following,
        actions=offered(caller.principal, job),
        may_inspect=may_inspect(caller, job),
        graph=graph(number, found["dependencies"]),
        timeline=timeline(job, family, record, found["steps"], found["partials"], found["events"]),
        answer_fields=answer_fields,
        below=sum(n for state, n in family.counts.items() if state not in ENDED),
        tabs=_tabs(job, sum(family.counts.values())),
        here=here,
        given=given,
        facts=tuple(_facts(job)),
        live=None if is_final else f"/jobs/{number}/live",
        every=refresh if is_final else _REFRESH,
    )


async def artifact(request: Request) -> Response:
    """Download an artifact of a job."""
    caller, number = await caller_and_job(request, request.path_params["job"])
    return await download_artifact(caller, number, request.path_params["name"])


async def artifact_image(request: Request) -> Response:
    """Show an artifact that is an image."""
    caller, number = await caller_and_job(request, request.path_params["job"])
    job, name = await caller.asend(queries.show(number)), request.path_params["name"]
    content = await read_artifact(caller, job, name, _MAX_IMAGE)
    kind = image_kind(content)
    if kind is None:
        raise NotFound(f"artifact {name!r} of job {number} is not an image")
    return Response(content, media_type=kind, headers={"cache-control": "no-store"})


async def read_page(caller: AuthorizedClient, job: Job, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page of a job shows beside the job, asked at once."""
    number = job.id
    since, until = read_window(given, job.created_at)
    after, state = _after(given), _state(given)
    questions = {
        "stop": _stop(caller, job),
        "family": caller.asend(
            family_calls.family(
                number,
                after=after,
                n=FAMILY_PAGE + 1,
                state=state,
                since=since,
                until=until,
            )
        ),
        "dependencies": caller.asend(family_calls.dependencies(number)),
        "explanation": caller.asend(queries.explain(number)),
        "events": caller.asend(queries.job_output(number, "events", n=_MAX_MARKS, newest=True)),
        "audit": caller.asend(queries.audit_log("job", str(number), n=_MAX_MARKS)),
        "shown": load_tab(caller, job, given),
        "inspection": _inspection(caller, job),
        "steps": _newest(caller, number, "steps", MAX_STEPS if job.steps else 0),
        "partials": _newest(caller, number, "partials", _MAX_MARKS if job.partials else 0),
        "questions": _questions(caller, job),
        "strategies": _strategies(caller, job),
    }
    answers = await _together(*questions.values())
    return dict(zip(questions, answers, strict=True))


async def _together(*queries: Coroutine[Any, Any, Any]) -> list[Any]:
    """Await several queries, a few at a time; if one fails, cancel the others."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def limited(query: Coroutine[Any, Any, Any]) -> Any:
        async with limit:
            return await query

    tasks = [asyncio.ensure_future(limited(query)) for query in queries]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task, query in zip(tasks, queries, strict=True):
            if not task.done():
                await cancel(task)
            query.close()  # it may not have started


async def _stop(caller: AuthorizedClient, job: Job) -> StopSummary | None:
    """Return the latest stop of a job, if there was one."""
    try:
        return await caller.asend(queries.stop_summary(job=job.id))
    except NotFound:
        return None


async def _inspection(caller: AuthorizedClient, job: Job) -> Inspection | None:
    """Return the latest inspection of a running job, to a user who may stop the job."""
    if not may_inspect(caller, job):
        return None
    return await caller.asend(queries.inspection(job.id))


async def _newest(
    caller: AuthorizedClient, job: int, kind: Literal["steps", "partials"], n: int
) -> tuple[dict[str, Any], ...]:
    return await caller.asend(family_calls.newest_output(job, kind, n=n)) if n else ()


async def _questions(caller: AuthorizedClient, job: Job) -> tuple[Question, ...]:
    waits = job.waiting is Reason.ANSWER or job.state is State.RUNNING
    return await caller.asend(step_calls.questions(job.id)) if waits else ()


async def _strategies(caller: AuthorizedClient, job: Job) -> tuple[Strategy, ...]:
    can_cancel = any(action.verb == "cancel" for action in offered(caller.principal, job))
    return await caller.asend(queries.strategies()) if can_cancel else ()


def may_inspect(caller: AuthorizedClient, job: Job) -> bool:
    return job.state is State.RUNNING and may_control(caller.principal, job)


def _page_of(family: Family) -> tuple[Family, int | None]:
    """Return the family with one page of children, and after which child the next page starts."""
    children = [member.id for member in family.members if member.depth == 1]
    if len(children) <= FAMILY_PAGE:
        return family, None
    last = children[FAMILY_PAGE - 1]
    members = tuple(each for each in family.members if each.depth > 1 or each.id <= last)
    return msgspec.structs.replace(family, members=members), last


def _after(given: Mapping[str, str]) -> int:
    after = whole_number(given.get("after") or "0")
    if after is None:
        raise InputRefused("after: must be a number, 0 or more")
    return after


def _state(given: Mapping[str, str]) -> State | None:
    state = given.get("state") or None
    if state is not None and state not in list(State):
        raise InputRefused(f"state: must be one of {', '.join(State)}")
    return None if state is None else State(state)


def _tabs(job: Job, children: int) -> list[tuple[str, int | None]]:
    """Return the tabs that have content, with the number of their rows where it is known."""
    counts = {
        "partials": job.partials,
        "artifacts": len(job.artifacts),
        "steps": job.steps,
        "children": children,
        "attempts": len(job.attempts),
    }
    return [(tab, counts.get(tab)) for tab in TABS]


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    facts = {
        "Queue": job.queue + (f", priority {job.priority}" if job.priority else ""),
        "Target": job.target,
        "Comes after": ", ".join(f"{need['job_id']} ({need['policy']})" for need in job.needs),
        "Slots": ", ".join(job.slots),
        "Due": exact(job.run_at) if job.state is State.PENDING else None,
        "Started": exact(job.started_at),
        "Ended": exact(job.completed_at),
        "Worker": job.worker_id,
        "Last heartbeat": exact(job.heartbeat_at) if job.worker_id else None,
        "Lease ends": exact(job.lease_expires_at) if job.worker_id else None,
        "Spent": _spent(job),
    }
    return ((name, str(value)) for name, value in facts.items() if value)


def _spent(job: Job) -> str:
    limits: Any = job.budget or {}
    units = {**dict.fromkeys(limits, 0.0), **job.spent}
    return ", ".join(
        f"{quantity(amount)} {unit}"
        + (f" of {quantity(nearest_float(limits[unit]))}" if unit in limits else "")
        for unit, amount in units.items()
    )
