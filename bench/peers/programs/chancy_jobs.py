"""The jobs as Chancy wants them: functions of a module, called by name."""

from chancy import job

from bench.peers.programs import jobs


@job(queue="default")
async def noop(*, key: str) -> None:
    await jobs.noop(key)


@job(queue="default")
async def enter(*, key: str) -> None:
    await jobs.enter(key)


@job(queue="default", max_attempts=3)
async def wait(*, key: str) -> None:
    await jobs.wait(key)


@job(queue="default")
async def nap(*, key: str) -> None:
    await jobs.nap(key)


@job(queue="plain")
def block(*, key: str) -> None:
    jobs.block(key)


@job(queue="plain")
def compute(*, key: str) -> None:
    jobs.compute(key)
