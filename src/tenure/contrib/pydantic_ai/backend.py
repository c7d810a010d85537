"""The operations of an agent as steps of its job."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypedDict
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter
from pydantic_ai.durable_exec import (
    CallableOperationBackend,
    DurableOperationId,
    JournalOperationNamer,
    ModelRequestId,
    RoleBasedOperationConfig,
)
from pydantic_ai.messages import ModelResponse

from tenure.contrib.pydantic_ai.current_job import perform_step
from tenure.contrib.pydantic_ai.identity import depends_on, run_id_of, step_name
from tenure.domain.duration import Duration
from tenure.domain.retry import Retry
from tenure.runtime.context import Context
from tenure.runtime.runner.attempt import Attempt, current
from tenure.runtime.steps.scope import current_scope

_RESPONSE: TypeAdapter[ModelResponse] = TypeAdapter(ModelResponse)


class StepConfig(TypedDict, total=False):
    """The options of a step."""

    retry: Retry | int
    timeout: Duration


class Runs:
    """The runs of agents in one attempt: numbered as they begin, alike in each attempt."""

    _of_attempts: "WeakKeyDictionary[Attempt, Runs]" = WeakKeyDictionary()

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # by id
        self._begun: dict[tuple[str, str], int] = {}  # by the step around them, and the agent

    @classmethod
    def of(cls, attempt: Attempt) -> "Runs":
        return cls._of_attempts.setdefault(attempt, cls())

    def begin(self, agent: str, job: int, run_id: str | None = None) -> str:
        """Name a run that begins, and return its id."""
        step = "" if (scope := current_scope.get()) is None else scope.name
        number = self._begun[step, agent] = self._begun.get((step, agent), 0) + 1
        name = agent if number == 1 else f"{agent}({number})"
        run_id = run_id or f"{job}:{step}/{name}"
        self._names[run_id] = name
        return run_id

    def name(self, run_id: str) -> str | None:
        return self._names.get(run_id)


class StepBackend(CallableOperationBackend[StepConfig | Literal[False]]):
    """Runs each operation as a step, and counts what a model request spends."""

    def __init__(
        self,
        agent: str,
        config: RoleBasedOperationConfig[StepConfig | Literal[False]],
        spend: Callable[[ModelResponse], Mapping[str, float]],
        reserve: Mapping[str, float] | None,
    ) -> None:
        super().__init__(namer=JournalOperationNamer(agent), config=config)
        self._agent = agent
        self._spend = spend
        self._reserve = reserve

    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,  # noqa: ARG002 - steps have shorter names
        body: Callable[[], Awaitable[object]],
        cache_key: tuple[object, ...],
        config: StepConfig | Literal[False],
    ) -> object:
        if config is False:
            return await body()
        attempt = current.get()
        assert attempt is not None
        context = attempt.make_context()

        async def perform(_: Any) -> Any:
            if isinstance(operation_id, ModelRequestId):
                return await self._paid(context, body)
            return await body()

        run = Runs.of(attempt).name(run_id_of(cache_key)) or self._agent
        return await perform_step(
            attempt,
            step_name(run, operation_id, cache_key),
            perform,
            depends_on(operation_id, cache_key),
            **config,
        )

    async def _paid(self, context: Context, body: Callable[[], Awaitable[object]]) -> object:
        """Request a response of the model, and count what it cost."""
        if self._reserve is None:
            response = await body()
            context.spend(**self._cost(response))
            return response
        async with context.reserve(**self._reserve) as reserved:
            response = await body()
            reserved.used(**self._cost(response))
        return response

    def _cost(self, response: object) -> Mapping[str, float]:
        return self._spend(_RESPONSE.validate_python(response))


def cost_of(response: ModelResponse) -> Mapping[str, float]:
    """Return the requests, tokens and US dollars of a response; the last if its price is known."""
    usage = response.usage
    cost = {"requests": 1.0, "tokens": float(usage.input_tokens + usage.output_tokens)}
    try:
        return {**cost, "usd": float(response.cost().total_price)}
    except (AssertionError, LookupError, ValueError):
        return cost
