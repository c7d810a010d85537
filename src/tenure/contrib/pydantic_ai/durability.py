"""The capability that makes the operations of an agent steps of the job in which it runs."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, cast

from pydantic_ai.agent import EventStreamHandler
from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationId,
    RoleBasedOperationConfig,
    ToolsetKind,
    conversation_id_from_run_id,
)
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.tools import AgentDepsT, RunContext

from tenure.contrib.pydantic_ai.backend import Runs, StepBackend, StepConfig, cost_of
from tenure.contrib.pydantic_ai.current_job import perform_step
from tenure.contrib.pydantic_ai.streaming import emit_text
from tenure.domain.budget import checked_amounts
from tenure.runtime.runner.attempt import current


class TenureDurability(BaseDurabilityCapability[AgentDepsT]):
    """``Agent(..., name="researcher", capabilities=[TenureDurability()])``.

    In a job, each model request, tool call and request to an MCP server is a step: what has ended
    is not done again when the job is started again. Outside of jobs the agent runs as without it.
    """

    engine_spec = DurabilityEngineSpec(
        engine_name="Tenure",
        durable_unit_noun="step",
        durable_container_noun="job",
        codec=JSON_CODEC,
        unsupported_runtime_toolset_kinds=frozenset({"function", "mcp", "dynamic"}),
        toolset_lifecycles={
            "function": "enter-always",
            "mcp": "enter-in-durable-unit",
            "dynamic": "enter-never",
        },
        tool_config_key="tenure",
    )

    def __init__(
        self,
        *,
        name: str | None = None,
        models: Mapping[str, Model] | None = None,
        event_stream_handler: EventStreamHandler[AgentDepsT] | None = None,
        model: StepConfig | None = None,
        tools: StepConfig | None = None,
        spend: Callable[[ModelResponse], Mapping[str, float]] = cost_of,
        reserve: Mapping[str, float] | None = None,
    ) -> None:
        """``name`` begins the names of the steps; the default is the name of the agent.

        ``model`` and ``tools`` are options of steps: ``{"retry": 3, "timeout": "2m"}``. A tool has
        its own with ``metadata={"tenure": {...}}``; with ``{"tenure": False}`` it is not a step.
        ``spend`` returns what a response counts against the budget of the job; ``reserve`` is
        reserved before each request. ``models`` are further models by their names.
        """
        super().__init__(models=models, event_stream_handler=event_stream_handler, name=name)
        self._model_config: StepConfig = model or {}
        self._tool_config: StepConfig = tools or {}
        self._spend = spend
        self._reserve = None if reserve is None else checked_amounts(reserve, "reserved")

    @property
    def in_durable_context(self) -> bool:
        """Tell whether this code runs in a job."""
        return current.get() is not None

    def get_default_run_id(self) -> str | None:
        """Return the same id for a run in each attempt of its job."""
        attempt = current.get()
        return None if attempt is None else Runs.of(attempt).begin(self.name, attempt.work.id)

    def get_default_conversation_id(self, run_id: str) -> str | None:
        """Return the same id in each attempt."""
        return conversation_id_from_run_id(run_id) if self.in_durable_context else None

    async def get_run_start_time(self, run_id: str) -> datetime | None:
        """Return when a run with a timeout began first."""
        attempt = current.get()
        if attempt is None:
            return None
        run = Runs.of(attempt).name(run_id) or self.name
        begun: datetime = await perform_step(attempt, f"{run}.start", _now, returns=datetime)
        return begun

    async def before_run(self, ctx: RunContext[AgentDepsT]) -> None:
        """Number a run that has an id of its own, before anything in it can overtake another."""
        await super().before_run(ctx)
        attempt = current.get()
        if attempt is not None and ctx.run_id and Runs.of(attempt).name(ctx.run_id) is None:
            Runs.of(attempt).begin(self.name, attempt.work.id, ctx.run_id)

    def get_durable_operation_backend(self) -> StepBackend:
        """Return what runs the operations of the agent as steps."""

        def config_of_tool(
            operation: DurableOperationId, tool: object | None, name: str
        ) -> StepConfig | Literal[False]:
            del operation
            config = self._build_resolve_tool_config(self._tool_config)(cast(Any, tool), name)
            return cast("StepConfig | Literal[False]", config)

        return StepBackend(
            self.name,
            RoleBasedOperationConfig(
                model=self._model_config,
                event=False if self._event_stream_handler is emit_text else {},
                capability={},
                tool=self._tool_config,
                resolve_tool=config_of_tool,
            ),
            self._spend,
            self._reserve,
        )

    def _toolset_base_config(self, kind: ToolsetKind) -> Any:  # noqa: ARG002 - alike for all
        return self._tool_config


async def _now() -> datetime:
    return datetime.now(UTC)
