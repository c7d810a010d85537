"""Leaving: who has how much time, and leaving in a hurry."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.config import Settings
from tenure.runtime.keeper.drain import Drain, Drained
from tenure.runtime.keeper.run import Run
from tests.runtime.lone_keeper import Scene, claimed, in_a_keeper


@in_a_keeper
async def test_who_is_asked_twice_before_the_drain_begins_hurries(scene: Scene) -> None:
    scene.runner("runner-1")
    scene.keeper.runs.claimed("default", scene.crew, [claimed(1)])
    drain = Drain(scene.keeper)
    stopped: list[Run] = []

    def stop(run: Run, _grace: float) -> None:
        stopped.append(run)
        scene.keeper.runs.abandon(run)

    scene.keeper.stops.for_drain = stop  # type: ignore[assignment, method-assign]
    drain.ask("SIGTERM")
    drain.ask("SIGTERM")
    with pytest.raises(Drained) as left:
        await asyncio.wait_for(drain.serve(), 5)
    assert left.value.hurried
    assert len(stopped) == 1


@pytest.mark.parametrize(
    ("env", "jobs", "ladder"),
    [
        ({"SHUTDOWN_GRACE_PERIOD_SECONDS": "8"}, 8, 30),
        ({"SHUTDOWN_GRACE_PERIOD_SECONDS": "8", "TENURE_DRAIN_LIMIT": "50s"}, 8, 12.5),
        ({"TENURE_DRAIN_LIMIT": "40s"}, 25, 10),
    ],
)
def test_the_grace_is_the_jobs_own_unless_a_platform_kills_before_its_end(
    env: dict[str, str], jobs: float, ladder: float
) -> None:
    keeper: Any = SimpleNamespace(settings=Settings.from_environment(env))
    assert Drain(keeper)._times() == (jobs, ladder, 5)
