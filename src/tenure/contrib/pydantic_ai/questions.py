"""Tool calls that a person approves or answers, as questions of the job."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, JsonValue
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import (
    AgentDepsT,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDenied,
)

from tenure.contrib.pydantic_ai.current_job import ask
from tenure.contrib.pydantic_ai.identity import storable_name
from tenure.domain.duration import Duration
from tenure.runtime.context import Context
from tenure.runtime.runner.attempt import current

_MAX_ARGUMENTS = 2000  # characters in a question
_NOBODY = "nobody answered in time"


class Approval(BaseModel):
    """The answer to the question whether a tool may be called."""

    ok: bool
    note: str = ""  # for the model, if it is not


@dataclass
class AskPerson(AbstractCapability[AgentDepsT]):
    """Ask a person where a tool requires approval, or is called outside of the agent.

    The job asks as with ``ctx.ask``, and holds no worker until it is answered: with an
    ``Approval``, or with the result of the call. ``role`` and ``within`` are those of ``ctx.ask``;
    a call that nobody answers in time is denied.
    """

    role: str | None = None
    within: Duration | None = None

    async def handle_deferred_tool_calls(
        self,
        ctx: RunContext[AgentDepsT],  # noqa: ARG002 - of the package
        *,
        requests: DeferredToolRequests,
    ) -> DeferredToolResults | None:
        """Ask for each call, one after the other; outside of jobs the agent decides."""
        attempt = current.get()
        if attempt is None:
            return None
        context, results = attempt.make_context(), DeferredToolResults()
        for call in requests.approvals:
            results.approvals[call.tool_call_id] = await self._approval(context, call)
        for call in requests.calls:
            results.calls[call.tool_call_id] = await self._result(context, call)
        return results

    async def _approval(self, context: Context, call: ToolCallPart) -> ToolApproved | ToolDenied:
        denied = Approval(ok=False, note=_NOBODY)
        verdict = await self._ask(context, Approval, "Call", "approve", call, denied)
        if verdict.ok:
            return ToolApproved()
        return ToolDenied(verdict.note) if verdict.note else ToolDenied()

    async def _result(self, context: Context, call: ToolCallPart) -> Any:
        return await self._ask(context, JsonValue, "What is the result of", "answer", call, _NOBODY)

    async def _ask(
        self, context: Context, schema: Any, text: str, verb: str, call: ToolCallPart, default: Any
    ) -> Any:
        arguments = json.dumps(call.args_as_dict(), ensure_ascii=False)[:_MAX_ARGUMENTS]
        return await ask(
            context,
            schema,
            f"{text} {call.tool_name}({arguments})?",
            within=self.within,
            default=default,
            role=self.role,
            name=storable_name(f"{verb}.{call.tool_name}:{call.tool_call_id}"),
        )

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: it is not part of a serialized agent."""
        return None
