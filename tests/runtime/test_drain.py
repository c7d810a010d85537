"""Leaving in a hurry."""

import asyncio

import pytest

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
