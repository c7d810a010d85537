"""The names of an agent's steps, and what they depend on: if that changes, a step runs again."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic_ai.durable_exec import (
    CapabilityOperationId,
    DurableOperationId,
    EventStreamHandlerId,
    ModelCancelSuspendedResponseId,
    ModelCompactMessagesId,
    ModelRequestId,
    ToolsetCallToolId,
    ToolsetGetInstructionsId,
    ToolsetGetToolsId,
    ToolsetValidateToolArgumentsId,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.tools import RunContext
from pydantic_core import to_jsonable_python

_MAX_NAME = 180  # characters; a step may add a number to it
_NOT_IN_NAMES = re.compile(r"[^\w.:() -]+")


def step_name(run: str, operation: DurableOperationId, inputs: Sequence[Any]) -> str:
    """Return the name of a step: the same in each attempt, also if tools run in parallel."""
    match operation:
        case ModelRequestId():
            name = f"{run}.model"
        case ToolsetCallToolId():
            name = f"{run}.{inputs[0]}:{_run_context(inputs).tool_call_id}"
        case ToolsetValidateToolArgumentsId():
            name = f"{run}.check.{inputs[0]}:{_run_context(inputs).tool_call_id}"
        case ToolsetGetToolsId(toolset_id=toolset):
            name = f"{run}.tools.{toolset}"
        case ToolsetGetInstructionsId(toolset_id=toolset):
            name = f"{run}.instructions.{toolset}"
        case ModelCompactMessagesId():
            name = f"{run}.compact"
        case ModelCancelSuspendedResponseId():
            name = f"{run}.cancel-response"
        case EventStreamHandlerId():
            name = f"{run}.event"
        case CapabilityOperationId(capability_id=capability, operation=verb):
            name = f"{run}.{capability}.{verb}"
        case _:
            name = f"{run}.{type(operation).__name__}"
    return storable_name(name)


def storable_name(name: str) -> str:
    """Return a name that a step can have; models choose the ids of their calls."""
    return _NOT_IN_NAMES.sub("-", name)[:_MAX_NAME]


def depends_on(operation: DurableOperationId, inputs: Sequence[Any]) -> Any:
    """Return what a step depends on, without what differs in every attempt.

    These are the messages that the model has seen, and the arguments of a tool. Instructions are
    code: like a changed function, changed instructions do not repeat a step that was kept.
    """
    match operation:
        case ModelRequestId():
            return [inputs[0], _contents(inputs[1])]
        case ToolsetCallToolId() | ToolsetValidateToolArgumentsId():
            return [_plain(inputs[1]), _run_context(inputs).tool_call_approved]
        case EventStreamHandlerId():
            return _without_time(_plain(inputs[0]))
        case _:
            return None


def run_id_of(inputs: Sequence[Any]) -> str:
    """Return the run of the agent to which an operation belongs; empty if it does not say so."""
    contexts = [value for value in inputs if isinstance(value, RunContext)]
    return (contexts and contexts[0].run_id) or ""


def _run_context(inputs: Sequence[Any]) -> RunContext[Any]:
    return next(value for value in inputs if isinstance(value, RunContext))


def _contents(messages: list[ModelMessage]) -> list[Any]:
    """Return the parts of messages, without times, ids of runs and instructions."""
    written = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    return [
        _without_time(part)
        for message in written
        for part in message["parts"]
        if part["part_kind"] != "system-prompt"
    ]


def _without_time(value: Any) -> Any:
    match value:
        case dict():
            kept = (key for key in value if key != "timestamp")
            return {key: _without_time(value[key]) for key in kept}
        case list():
            return [_without_time(each) for each in value]
        case _:
            return value


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=lambda unknown: type(unknown).__qualname__)
