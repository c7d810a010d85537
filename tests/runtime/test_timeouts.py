"""When the time of an attempt begins."""

import asyncio
from typing import Any

from tenure.runtime.messages import Ready
from tests.runtime.lone_keeper import Scene, claimed, in_a_keeper

LIMIT, MOST_OF_IT = 0.2, 0.15  # seconds


@in_a_keeper
async def test_an_attempt_has_all_its_time_however_long_it_waited_for_a_runner(
    scene: Scene,
) -> None:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[float] = loop.create_future()
    stops: Any = scene.keeper.stops
    stops.for_limit = lambda *_: over.set_result(loop.time())
    runner = scene.runner()
    runner.ready.clear()
    scene.start(claimed(options={"timeout": f"{LIMIT}s"}))
    await asyncio.sleep(MOST_OF_IT)
    started = loop.time()
    runner._receive(Ready())
    async with asyncio.timeout(10):
        assert await over - started >= LIMIT
