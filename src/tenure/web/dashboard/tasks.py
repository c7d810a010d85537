"""The tasks of the catalogue: how their jobs end, how long they run, and a form to enqueue one."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.by_name import JobRequest, enqueued_by_name
from tenure.domain import bounds
from tenure.domain.principal import Role
from tenure.domain.values import shown
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import queries, task_calls
from tenure.store.diagnosis_results import Unrunnable
from tenure.store.rollups import TaskRuns
from tenure.store.task_results import KnownTask
from tenure.web.authentication import caller_of
from tenure.web.dashboard.argument_form import fields_of, read_arguments
from tenure.web.dashboard.attention import attention_of
from tenure.web.dashboard.distribution import distribution
from tenure.web.dashboard.form import Form, form_of
from tenure.web.dashboard.rendering import redirect, render
from tenure.web.limits import whole_number

_SAMPLE = 1_000  # jobs, on the page of one task
_RECENT = 10
_OPTIONS = ("queue", "key", "delay", "priority")


@dataclass(frozen=True)
class TaskRow:
    name: str
    known: KnownTask | None  # none: no worker has announced it
    runs: TaskRuns | None
    unrunnable: Unrunnable | None = None

    @property
    def workers(self) -> int:
        return sum(version.workers for version in self.known.serving) if self.known else 0

    @property
    def failure_rate(self) -> float:
        return (self.runs.failure_rate or 0) if self.runs else 0

    @property
    def typical(self) -> float | None:
        return self.runs.run_time(0.5) if self.runs else None

    @property
    def slow(self) -> float | None:
        return self.runs.run_time(0.95) if self.runs else None


_ORDERS = {
    "name": lambda row: row.name,
    "failures": lambda row: (-row.failure_rate, row.name),
    "slowest": lambda row: (-(row.slow or 0), row.name),
}


async def list_tasks(request: Request) -> Response:
    caller = caller_of(request)
    order = request.query_params.get("order", "name")
    if order not in _ORDERS:
        raise InputRefused(f"order: must be one of {', '.join(_ORDERS)}")
    known, runs, attention = await asyncio.gather(
        caller.asend(task_calls.tasks()),
        caller.asend(task_calls.task_runs()),
        attention_of(request),
    )
    rows = _rows(known, runs, attention.totals.unrunnable)
    return render(
        request,
        "tasks.html",
        tasks=sorted(rows, key=_ORDERS[order]),
        counted=sum(task.jobs for task in runs),
        orders=_ORDERS,
        order=order,
        every=10,
    )


def _rows(
    known: Sequence[KnownTask], runs: Sequence[TaskRuns], unrunnable: Sequence[Unrunnable]
) -> list[TaskRow]:
    announced = {task.name: task for task in known}
    ran = {task.task: task for task in runs}
    stuck = {task.task: task for task in unrunnable}
    return [
        TaskRow(name, announced.get(name), ran.get(name), stuck.get(name))
        for name in {**announced, **ran, **stuck}
    ]


async def show_task(request: Request) -> Response:
    return await _page(request, {})


async def enqueue_job(request: Request) -> Response:
    """Enqueue what was filled in, or show the form again with what is wrong."""
    caller, form = caller_of(request), form_of(request)
    await caller.arequire("enqueue")
    name = _name(request)
    try:
        known = await caller.asend(task_calls.tasks(name))
        args = read_arguments(fields_of(known[0].schema if known else None), form)
        wanted = JobRequest(name, args, _options(form))
        [made] = await caller.aperform(enqueued_by_name(caller.client, [wanted]))
    except InputRefused as error:
        return await _page(request, form, str(error))
    return redirect(request, f"/jobs/{made.id}")


def _options(form: Form) -> dict[str, Any]:
    options: dict[str, Any] = {name: form[name].strip() for name in _OPTIONS if name in form}
    if "priority" in options:
        text = options["priority"]
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        if (number := whole_number(digits)) is None:
            raise InputRefused(f"priority: must be a whole number, not {text!r}")
        options["priority"] = sign * number
    return options


def _name(request: Request) -> str:
    name: str = request.path_params["task"]
    if bounds.validation_error("task", name) is not None:
        raise NotFound(f"there is no task {shown(name)}")
    return name


async def _page(request: Request, given: Mapping[str, str], problem: str = "") -> Response:
    caller, name = caller_of(request), _name(request)
    known, runs, recent = await asyncio.gather(
        caller.asend(task_calls.tasks(name)),
        caller.asend(task_calls.task_runs(name, _SAMPLE)),
        caller.asend(queries.list_jobs({"task": name}, n=_RECENT)),
    )
    if not (known or runs):
        raise NotFound(f"there is no task {shown(name)}")
    task = TaskRow(name, known[0] if known else None, runs[0] if runs else None)
    return render(
        request,
        "task.html",
        422 if problem else 200,
        task=task,
        distribution=distribution(task.runs) if task.runs else None,
        recent=recent,
        fields=fields_of(task.known.schema if task.known else None),
        may_enqueue=task.known is not None and caller.principal.role.includes(Role.OPERATOR),
        given=given,
        problem=problem,
        live=None if problem else "/live",
    )
