"""Values, names and calls of steps and waits that no reasonable job would have."""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

from tenure import Context, Tenure
from tenure.errors import InputRefused, NotFound
from tenure.testing import Databases, Sandbox

NUMBERS = count()
Act = Callable[[Context], Any]
CYCLE: list[Any] = []
CYCLE.append(CYCLE)
DEEP: list[Any] = []
for _ in range(20_000):
    DEEP = [DEEP]


@pytest.fixture(scope="module")
def sandbox(server: str) -> Iterator[Sandbox]:
    with Databases(server) as databases, Sandbox(databases) as sandbox:
        yield sandbox


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError


async def one() -> int:
    return 1


async def outer(ctx: Context) -> Any:
    return await ctx.step("inner", one)


async def large(ctx: Context, size: int) -> int:
    return len(await ctx.step("x", lambda: "y" * size))


async def sleep_inside(ctx: Context) -> None:
    await ctx.sleep("1s")


def ran(sandbox: Sandbox, act: Act) -> Any:
    """Return what a job returns that does this, or the error with which it fails."""
    app = Tenure()

    @app.task(name=f"attack.{next(NUMBERS)}", retry=0)
    async def attack(ctx: Context) -> Any:
        return await act(ctx)

    run = sandbox.run(attack)
    return run.error if run.status == "failed" else run.job.result


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (float("nan"), "value of step 'v': a number in it is not finite"),
        (-float("inf"), "value of step 'v': a number in it is not finite"),
        (10**400, "value of step 'v': a number in it is larger"),
        ("a\0", "value of step 'v': a string contains the character NUL"),
        ("\ud800", "value of step 'v': it cannot be written as JSON"),
        (CYCLE, "value of step 'v': it cannot be written as JSON"),
        (DEEP, "value of step 'v': it cannot be written as JSON"),
        (Odd(), "value of step 'v': it cannot be written as JSON"),
    ],
    ids=["nan", "inf", "huge", "nul", "surrogate", "cycle", "deep", "odd"],
)
def test_a_value_that_cannot_be_kept_is_refused_with_a_sentence(
    sandbox: Sandbox, value: Any, sentence: str
) -> None:
    refusal = ran(sandbox, lambda ctx: ctx.step("v", lambda: value))
    assert isinstance(refusal, InputRefused)
    assert sentence in str(refusal)


@pytest.mark.parametrize(
    "act",
    [
        lambda ctx: ctx.step("", one),
        lambda ctx: ctx.step("a/b", one),
        lambda ctx: ctx.step("a#2", one),
        lambda ctx: ctx.step("\0", one),
        lambda ctx: ctx.step("x" * 300, one),
        lambda ctx: ctx.step("x", 5),
        lambda ctx: ctx.step("x", one, retry="3"),
        lambda ctx: ctx.step("x", one, timeout=-1),
        lambda ctx: ctx.step("x", lambda _: 1, {1: 2}),
        lambda ctx: ctx.step("x", lambda _: 1, CYCLE),
        lambda ctx: ctx.step("x", lambda: sleep_inside(ctx)),
        lambda ctx: ctx.gather("x", 5),
        lambda ctx: ctx.gather("x", [one, 5]),
        lambda ctx: ctx.gather("x", [one], limit=0),
        lambda ctx: ctx.sleep(-1),
        lambda ctx: ctx.sleep("-1s"),
        lambda ctx: ctx.sleep(float("nan")),
        lambda ctx: ctx.sleep(float("inf")),
        lambda ctx: ctx.sleep("999999d"),
        lambda ctx: ctx.wait_event("a\0"),
        lambda ctx: ctx.wait_event("a", "k" * 5000),
        lambda ctx: ctx.ask(5, "what?"),
        lambda ctx: ctx.ask(bool, Odd()),
        lambda ctx: ctx.ask(bool, "what?", role="king"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_with_a_sentence(sandbox: Sandbox, act: Act) -> None:
    assert isinstance(ran(sandbox, act), InputRefused)


@pytest.mark.parametrize(
    ("act", "result"),
    [
        (lambda ctx: ctx.step("'; DROP TABLE x -- %s é✓", one), 1),
        (partial(large, size=10_000_000), 10_000_000),
        (lambda ctx: ctx.step("x", lambda: {1: 2}), {"1": 2}),
        (lambda ctx: ctx.step("x", lambda: outer(ctx)), 1),
        (lambda ctx: asyncio.to_thread(lambda: ctx.step("x", lambda: 5)), 5),
        (lambda ctx: ctx.gather("x", []), []),
        (lambda ctx: ctx.gather("x", [one] * 1000, limit=50), [1] * 1000),
        (lambda ctx: ctx.sleep(0), None),
    ],
)
def test_an_odd_call_that_makes_sense_is_answered(sandbox: Sandbox, act: Act, result: Any) -> None:
    assert ran(sandbox, act) == result


def test_a_fork_with_a_value_or_a_step_that_is_none_is_refused(sandbox: Sandbox) -> None:
    app = Tenure()

    @app.task
    async def steps(ctx: Context) -> int:
        return await ctx.step("one", one)

    handle = sandbox.run(steps).handle
    for value in (float("nan"), "\0", CYCLE):
        with pytest.raises(InputRefused, match="the value of step 'one'"):
            handle.rerun(from_step="one", steps={"one": value})
    with pytest.raises(NotFound, match="has no step 'two'; it has: one"):
        handle.rerun(from_step="two")
    assert len(sandbox.enqueued(steps)) == 1


def test_the_time_of_a_step_goes_on_while_steps_in_it_have_times_of_their_own(
    sandbox: Sandbox,
) -> None:
    app = Tenure()

    @app.task(name="attack.nested", retry=0)
    def nested(ctx: Context) -> None:
        def outer() -> None:
            for _ in range(40):
                ctx.step("inner", time.sleep, 0.05, timeout="10s")

        ctx.step("outer", outer, timeout="400ms")

    began = time.monotonic()
    run = sandbox.run(nested)
    assert str(run.error) == "step 'outer' took longer than 400ms"
    assert time.monotonic() - began < 2
