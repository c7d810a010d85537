"""The retries of a step obey the same options as those of a job."""

from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any

import pytest

from tenure import Context, Discard, Retry, Tenure
from tenure.testing import Databases, JobRun, Sandbox

NUMBERS = count()


@pytest.fixture(scope="module")
def sandbox(server: str) -> Iterator[Sandbox]:
    with Databases(server) as databases, Sandbox(databases) as sandbox:
        yield sandbox


class Fatal(ValueError):
    pass


class Busy(Exception):
    retry_after = 0.2


def tried(sandbox: Sandbox, error: BaseException, retry: Retry) -> tuple[JobRun[Any], list[float]]:
    """Return a job with a step that fails twice and is retried so, and when it was tried."""
    import time

    app, times = Tenure(), list[float]()

    async def fails_twice() -> str:
        times.append(time.monotonic())
        if len(times) < 3:
            raise error
        return "done"

    @app.task(name=f"retries.{next(NUMBERS)}", retry=0)
    async def job(ctx: Context) -> Any:
        return await ctx.step("shaky", fails_twice, retry=retry)

    return sandbox.run(job), times


def soon(**options: Any) -> Retry:
    return Retry(max=5, base="1ms", cap="1ms", **options)


def test_an_error_that_is_never_retried_ends_the_step(sandbox: Sandbox) -> None:
    """Also if it is of a subclass, as for a job."""
    run, times = tried(sandbox, Fatal("no"), soon(never=[ValueError]))
    assert (run.status, len(times)) == ("failed", 1)


def test_an_error_can_ask_for_time(sandbox: Sandbox) -> None:
    run, times = tried(sandbox, Busy("later"), soon(retry_after=True))
    assert run.value == "done"
    assert min(later - first for first, later in pairwise(times)) >= 0.2


@pytest.mark.parametrize(
    ("decides", "status", "tries"),
    [(0.001, "completed", 3), (None, "completed", 3), (False, "failed", 1), ("x", "completed", 3)],
)
def test_a_function_decides(sandbox: Sandbox, decides: Any, status: str, tries: int) -> None:
    run, times = tried(sandbox, Fatal("no"), soon(function=lambda _error, _ctx: decides))
    assert (run.status, len(times)) == (status, tries)


def test_a_function_can_discard_the_job(sandbox: Sandbox) -> None:
    def decide(_error: Any, _ctx: Any) -> Any:
        raise Discard("not worth it")

    run, times = tried(sandbox, Fatal("no"), soon(function=decide))
    assert (run.status, len(times)) == ("failed", 1)
    assert "not worth it" in str(run.error)
