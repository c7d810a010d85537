"""The tools for jobs: those of a user for its own jobs, those of an operator for all."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, TypeVar

import msgspec
from mcp.server.session import ServerSession
from mcp_types import RequestId

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.by_name import JobRequest, enqueued_by_name
from tenure.control.inspection import inspect
from tenure.control.job_operations import resume, stop
from tenure.control.questions import answer
from tenure.control.subscription import Subscription
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import Intent
from tenure.domain.step import Question
from tenure.domain.values import shown
from tenure.errors import InputRefused, JobNotFound
from tenure.store.calls import queries, step_calls

A = TypeVar("A", bound=msgspec.Struct)

MAX_PARTIALS, MAX_JOBS = 20, 100
CONFIRMED_WITHIN = timedelta(seconds=120)  # a record that is still open then is returned open


@dataclass(frozen=True)
class ToolCall:
    """The surroundings of one call of a tool."""

    caller: AuthorizedClient
    subscription: Subscription
    session: ServerSession
    tasks: Mapping[str, str]  # by the name of their tool
    request_id: RequestId | None
    is_operator: bool

    async def own_job(self, job: int) -> Job:
        """Return a job of the caller; the jobs of others do not exist for it."""
        seen = await self.caller.asend(queries.show(job))
        if seen.owner != self.caller.principal.name:
            raise JobNotFound(f"there is no job {job}")
        return seen


@dataclass(frozen=True)
class Failed:
    """The answer of a call that is an error for the model."""

    facts: dict[str, JSON]


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: dict[str, Any]
    run: Callable[[ToolCall, Mapping[str, Any]], Awaitable[Any]]


def _tool(arguments: type[A], answer: Callable[[ToolCall, A], Awaitable[Any]]) -> Tool:
    """Return a tool of a function; its docstring describes it."""
    [_], schemas = msgspec.json.schema_components([arguments])

    async def run(call: ToolCall, given: Mapping[str, Any]) -> Any:
        try:
            read = msgspec.convert(given, arguments)
        except msgspec.ValidationError as error:
            raise InputRefused(f"{answer.__name__}: {error}") from None
        return await answer(call, read)

    schema = {name: value for name, value in schemas[arguments.__name__].items() if name != "title"}
    return Tool(answer.__name__, answer.__doc__ or "", schema, run)


JobId = Annotated[int, msgspec.Meta(description="The number of the job.", ge=1)]
Why = Annotated[str, msgspec.Meta(description="The reason, for the record.", max_length=2000)]


class _JobOnly(msgspec.Struct):
    job: JobId


class _Start(msgspec.Struct):
    task: Annotated[str, msgspec.Meta(description="The name of a tool that runs a task.")]
    arguments: dict[str, Any] = {}


class _Cancel(msgspec.Struct):
    job: JobId
    reason: Why = "cancelled by an MCP client"


class _Stop(_Cancel):
    force: Annotated[bool, msgspec.Meta(description="Kill its code at once.")] = False


class _Resume(msgspec.Struct):
    job: JobId
    value: Annotated[Any, msgspec.Meta(description="The answer that its code waits for.")] = None


class _Answer(msgspec.Struct):
    job: JobId
    answer: Annotated[Any, msgspec.Meta(description="It fits the schema of the question.")]
    question: Annotated[int | None, msgspec.Meta(description="Its number, if there are more.")] = (
        None
    )


class _List(msgspec.Struct):
    status: Annotated[str | None, msgspec.Meta(description="queued, running, failed, ...")] = None
    task: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_JOBS)] = 20


async def start_job(call: ToolCall, given: _Start) -> Any:
    """Start the job of a task and return its number at once; it runs on without this client."""
    if given.task not in call.tasks:
        raise InputRefused(f"there is no task {shown(given.task)}; it takes the name of a tool")
    request = JobRequest(call.tasks[given.task], given.arguments, {})
    [new] = await call.caller.aperform(enqueued_by_name(call.caller.client, [request]))
    return {"job": new.id}


async def get_job(call: ToolCall, given: _JobOnly) -> Any:
    """Return the status of your job, its result, open questions and newest partial results."""
    seen = await call.own_job(given.job)
    newest = queries.job_output(seen.id, "partials", n=MAX_PARTIALS, newest=True)
    partials = [partial["value"] for partial in await call.caller.asend(newest)]
    asked: tuple[Question, ...] = await call.caller.asend(step_calls.questions(seen.id))
    questions = [{"id": it.id, "text": it.text, "schema": it.schema} for it in asked]
    return {**facts(seen), "questions": questions, "partials": partials}


async def cancel_job(call: ToolCall, given: _Cancel) -> Any:
    """Cancel a job that you started; returns when its code has ended, and says how."""
    await call.own_job(given.job)
    return await stopped(call, given.job, given.reason)


async def resume_job(call: ToolCall, given: _Resume) -> Any:
    """Resume a job that you started and that is paused, with an answer if it waits for one."""
    await call.own_job(given.job)
    return facts(await call.caller.aperform(resume(given.job, None, value=given.value)))


async def answer_job(call: ToolCall, given: _Answer) -> Any:
    """Answer the question of a job that you started, as the person you work for has answered it."""
    await call.own_job(given.job)
    return await call.caller.aperform(answer(given.job, given.answer, given.question))


async def list_jobs(call: ToolCall, given: _List) -> Any:
    """List jobs of all owners, newest first."""
    wanted = {"status": given.status, "task": given.task}
    chosen = {name: value for name, value in wanted.items() if value is not None}
    jobs = await call.caller.asend(queries.list_jobs(chosen, n=given.limit))
    return {"jobs": [facts(job) for job in jobs]}


async def explain_job(call: ToolCall, given: _JobOnly) -> Any:
    """Explain why a job is not running, or not stopping."""
    return await call.caller.asend(queries.explain(given.job))


async def inspect_job(call: ToolCall, given: _JobOnly) -> Any:
    """Look into a running job: the stacks of its code, and what its processes use."""
    return await call.caller.aperform(inspect(given.job))


async def stop_job(call: ToolCall, given: _Stop) -> Any:
    """Cancel any job that your role allows; returns when its code has ended, and says how."""
    return await stopped(call, given.job, given.reason, force=given.force)


async def stopped(call: ToolCall, job: int, reason: str, *, force: bool = False) -> Any:
    """Cancel a job, and return the result of its record when that is closed."""
    record: CancellationRecord = await call.caller.aperform(
        stop(job, Intent.CANCEL, reason, force=force)
    )
    if record.completed_at is None:
        record = await call.subscription.closed(call.caller, record, CONFIRMED_WITHIN)
    return {
        "job": job,
        "confirmed": record.completed_at is not None and record.success,
        "status": str(record.status),
        "cancellation": record.cancellation_id,
        "seconds": record.duration_seconds,
        "errors": list(record.errors),
    }


def facts(job: Job) -> dict[str, JSON]:
    """Return what a model needs to know of a job."""
    known: dict[str, JSON] = {
        "job": job.id,
        "task": job.task,
        "status": str(job.status),
        "owner": job.owner,
        "progress": job.progress,
        "result": job.result,
        "result_artifact": job.result_artifact,
        "reason": job.cancellation_reason or job.pause_reason or job.error_message,
    }
    return {name: value for name, value in known.items() if value is not None}


TOOLS = (
    _tool(_Start, start_job),
    _tool(_JobOnly, get_job),
    _tool(_Cancel, cancel_job),
    _tool(_Resume, resume_job),
    _tool(_Answer, answer_job),
)
OPERATOR_TOOLS = (
    _tool(_List, list_jobs),
    _tool(_JobOnly, explain_job),
    _tool(_JobOnly, inspect_job),
    _tool(_Stop, stop_job),
)
