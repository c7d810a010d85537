"""The call of a task's tool: a job that lives as long as the call."""

import logging
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from tenure.contrib.mcp.tools import Failed, ToolCall, facts, stopped
from tenure.control.by_name import JobRequest, enqueued_by_name
from tenure.control.job_stream import StreamItem
from tenure.control.questions import answer
from tenure.domain.lifecycle import ENDED, State, Status
from tenure.domain.values import nearest_float
from tenure.errors import TenureError
from tenure.store.calls import queries

log = logging.getLogger("tenure.mcp")

_STANDS = frozenset({*map(str, ENDED), str(Status.PAUSED)})
_MAX_MESSAGE = 500  # characters
_PLAIN_TYPES = ("string", "number", "integer", "boolean")
_FORM = types.ClientCapabilities(elicitation=types.ElicitationCapability())
_Question = dict[str, Any]


async def run_task(call: ToolCall, task: str, arguments: Mapping[str, Any]) -> Any:
    """Run a job and return how it ended; if the call is cancelled, cancel the job.

    A cancelled call ends when the record of the stop is closed, so when the code is gone. A
    question of the job goes to the person at the client; if that cannot be asked, or does not
    answer, the call ends with the question, and the job waits.
    """
    request = JobRequest(task, arguments, {})
    with anyio.CancelScope(shield=True):  # a job whose number is lost could not be cancelled
        [new] = await call.caller.aperform(enqueued_by_name(call.caller.client, [request]))
    try:
        question = await _follow(call, new.id)
        while question is not None and await _is_answered(call, new.id, question):
            question = await _follow(call, new.id)
        seen = await call.caller.asend(queries.show(new.id))
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await _cancel(call, new.id)
        raise
    if seen.state in (State.FAILED, State.CANCELLED):
        return Failed(facts(seen))
    return facts(seen) if question is None else {**facts(seen), "question": question}


async def _follow(call: ToolCall, job: int) -> _Question | None:
    """Pass the progress of a job on, until it has ended, is paused, or asks a question."""
    async with aclosing(call.subscription.stream(call.caller, job)) as batches:
        async for batch in batches:
            for item in batch.items:
                await _report(call, item)
                if item.kind == "status" and isinstance(item.value, dict):
                    question = item.value.get("question")
                    if isinstance(question, dict):
                        return question
                    if item.value["status"] in _STANDS:
                        return None
    return None


async def _is_answered(call: ToolCall, job: int, question: _Question) -> bool:
    """Ask the person at the client; an answer that somebody gives elsewhere takes it back."""
    form = _form_of(question["schema"])
    can_be_asked = call.session.can_send_request and call.session.check_client_capability(_FORM)
    if form is None or not can_be_asked:
        return False
    given: types.ElicitResult | None = None
    async with anyio.create_task_group() as asking:
        asking.start_soon(_take_back, call, job, question, asking.cancel_scope)
        try:
            given = await call.session.elicit_form(str(question["text"]), form, call.request_id)
        except MCPError as error:
            log.info("the client did not ask the question of job %d: %s", job, error)
            given = types.ElicitResult(action="cancel")
        asking.cancel_scope.cancel()
    if given is None:
        return True
    if given.action != "accept":
        return False
    await call.caller.aperform(answer(job, dict(given.content or {}), question["id"]))
    return True


async def _take_back(
    call: ToolCall, job: int, question: _Question, asking: anyio.CancelScope
) -> None:
    async with aclosing(call.subscription.stream(call.caller, job)) as batches:
        async for batch in batches:
            for item in batch.items:
                if item.kind == "status" and isinstance(item.value, dict):
                    now = item.value.get("question")
                    if not (isinstance(now, dict) and now["id"] == question["id"]):
                        asking.cancel()


def _form_of(schema: Any) -> dict[str, Any] | None:
    """Return a schema as a form of the protocol has it; None for what no form can hold."""
    properties = schema.get("properties") or {}
    is_plain = all(field.get("type") in _PLAIN_TYPES for field in properties.values())
    if schema.get("type") != "object" or not is_plain:
        return None
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


async def _report(call: ToolCall, item: StreamItem) -> None:
    if item.kind != "progress" or not isinstance(item.value, dict):
        return
    done, total = item.value.get("done"), item.value.get("total")
    message = item.value.get("message")
    if isinstance(done, int | float):
        await call.session.report_progress(
            nearest_float(done),
            nearest_float(total) if isinstance(total, int | float) else None,
            str(message)[:_MAX_MESSAGE] if message else None,
        )


async def _cancel(call: ToolCall, job: int) -> None:
    try:
        answer = await stopped(call, job, "the MCP client cancelled the call")
    except TenureError as error:
        log.warning("job %d of a cancelled call was not cancelled: %s", job, error)
    else:
        log.info("job %d of a cancelled call: %s", job, answer["status"])
