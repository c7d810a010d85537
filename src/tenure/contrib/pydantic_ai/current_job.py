"""The job in which an agent runs."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from tenure.domain.duration import Duration
from tenure.domain.retry import Retry
from tenure.runtime.context import Context
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.effects import aperform


async def perform_step(
    attempt: Attempt,
    name: str,
    function: Callable[..., Awaitable[Any]],
    *args: Any,
    retry: Retry | int = 0,
    timeout: Duration | None = None,  # noqa: ASYNC109 - of the step
    returns: Any = Any,
) -> Any:
    """Await a step, also in an event loop that a plain function runs."""
    context = attempt.make_context()
    step = context._step_of(name, function, args, {}, retry, timeout, returns)
    return await aperform(attempt, context._steps.run(step))


async def ask(context: Context, *args: Any, **options: Any) -> Any:
    """Ask a person, also in an event loop that a plain function runs."""
    answer = context.ask(*args, **options)
    return await answer if inspect.isawaitable(answer) else answer
