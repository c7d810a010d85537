"""A worker that was declared dead still sends all its reports, and they are refused."""

import asyncio
import json
from typing import Any, cast

import pytest

from tenure.errors import InputRefused
from tenure.store.outcomes import Ending
from tenure.store.results import Exchanged, Finished
from tests.runtime.lone_keeper import FakeLine, Scene, in_a_keeper


def said_too_late(scene: Scene) -> list[int]:
    """The jobs in the last call."""
    call = scene.line.calls[-1]
    assert call.verb == "finish"
    return [told["job"] for told in json.loads(call.arguments["outcomes"])]


@in_a_keeper
async def test_outcomes_sent_before_the_lost_lease_is_noticed_are_refused(
    scene: Scene,
) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.append(Ending(job=7, token=1, outcome="completed"))
    scene.line.open.set()
    scene.line.answers.append(Finished(by_state={}, refused=(7,), busy=(), wakes=False))
    await scene.keeper.flush_after_lease_lost(cast(Any, scene.line))
    assert len(scene.line.calls) == 1
    assert said_too_late(scene) == [7]


@in_a_keeper
async def test_in_flight_outcomes_are_sent_again_after_a_lost_lease(
    scene: Scene,
) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.extend(Ending(job=job, token=1, outcome="completed") for job in (7, 8))
    saying = asyncio.create_task(exchange.run_once(scene.line))
    await asyncio.sleep(0)
    assert len(scene.line.calls) == 1, "it is on its way"
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    scene.line.open.set()
    scene.line.answers.append(Finished(by_state={}, refused=(7, 8), busy=(), wakes=False))
    await scene.keeper.flush_after_lease_lost(cast(Any, scene.line))
    assert said_too_late(scene) == [7, 8]


class RefusesOnce(FakeLine):
    """The first call; to the second there is no answer."""

    async def send(self, call: Any, _tenant: Any = None) -> Any:
        self.calls.append(call)
        if len(self.calls) == 1:
            raise InputRefused("one of them cannot be taken")
        await self.open.wait()


@in_a_keeper
async def test_nor_is_one_forgotten_of_those_that_were_being_said_one_by_one(scene: Scene) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.extend(Ending(job=job, token=1, outcome="completed") for job in (7, 8, 9))
    line = RefusesOnce()
    saying = asyncio.create_task(exchange.run_once(line))
    await asyncio.sleep(0)
    assert len(line.calls) == 2, "the first of them is on its way"
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    scene.line.open.set()
    scene.line.answers.append(Finished(by_state={}, refused=(7, 8, 9), busy=(), wakes=False))
    await scene.keeper.flush_after_lease_lost(cast(Any, scene.line))
    assert said_too_late(scene) == [7, 8, 9]


@in_a_keeper
async def test_nor_what_was_busy_and_is_to_be_said_again(scene: Scene) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.extend(Ending(job=job, token=1, outcome="completed") for job in (7, 8))
    scene.line.open.set()
    busy = Finished(by_state={}, refused=(), busy=(8,), wakes=False)
    scene.line.answers.append(Exchanged(True, busy, (), None, None, None, idled=False))
    await exchange.run_once(scene.line)
    assert [end.job for end in exchange.undelivered] == [8]
    scene.line.answers.append(Finished(by_state={}, refused=(8,), busy=(), wakes=False))
    await scene.keeper.flush_after_lease_lost(cast(Any, scene.line))
    assert said_too_late(scene) == [8]
