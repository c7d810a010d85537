"""Leaving: who has how much time, and leaving in a hurry."""

import asyncio

import pytest

from tenure.config import Settings
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.stops.drain import Drain, Drained, drain_times
from tests.runtime.lone_keeper import Scene, claimed, in_a_keeper


@in_a_keeper
async def test_who_is_asked_twice_before_the_drain_begins_hurries(scene: Scene) -> None:
    scene.runner("runner-1")
    scene.keeper.supervisor.start("default", scene.group, [claimed(1)])
    keeper = scene.keeper
    drain = Drain(
        keeper.id,
        keeper.settings,
        keeper.draining,
        keeper.runs,
        keeper.stops,
        keeper.database.shared,
        keeper.tasks,
        keeper.is_idle,
    )
    stopped: list[Run] = []

    def stop(run: Run, _grace: float) -> None:
        stopped.append(run)
        scene.keeper.conclusions.abandon(run)

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
    settings = Settings.from_environment(env)
    assert drain_times(settings, settings.drain_grace.total_seconds()) == (jobs, ladder, 5)
