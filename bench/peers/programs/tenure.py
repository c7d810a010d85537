"""Tenure, as its README says."""

import os
import sys

import psycopg

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main
from tenure import Handle, Tenure

app = Tenure(URL or None)

TASKS = {
    "noop": app.task(name="noop")(jobs.noop),
    "plain": app.task(name="plain")(jobs.plain_noop),
    "enter": app.task(name="enter")(jobs.enter),
    "wait": app.task(name="wait")(jobs.wait),
    "nap": app.task(name="nap")(jobs.nap),
    "block": app.task(name="block")(jobs.block),
    "compute": app.task(name="compute")(jobs.compute),
}
_OPEN = "SELECT EXISTS (SELECT FROM tenure.job WHERE ready OR state = 'running')"


class OfTenure(Peer):
    async def prepare(self) -> None:
        app.migrate()

    async def open(self) -> None:
        self._connection = await psycopg.AsyncConnection.connect(URL, autocommit=True)

    async def close(self) -> None:
        await self._connection.close()
        await app.aclose()

    async def enqueue(self, job: str, key: str) -> Handle[None]:
        return await TASKS[job].aenqueue(key)

    async def enqueue_many(self, job: str, n: int) -> None:
        for start in range(0, n, 10_000):
            await TASKS[job].aenqueue_many(
                [{"key": str(number)} for number in range(start, min(n, start + 10_000))]
            )

    async def stop(self, job: Handle[None]) -> None:
        await job.acancel()

    async def is_drained(self) -> bool:
        cursor = await self._connection.execute(_OPEN, prepare=True)
        row = await cursor.fetchone()
        return row is not None and not row[0]

    async def work(self, concurrency: int) -> None:
        place = f"{__spec__.name}:app"
        command = ["tenure", "worker", place, "--url", URL, "--concurrency", str(concurrency)]
        os.execv(sys.executable, [sys.executable, "-m", *command])  # noqa: S606


if __name__ == "__main__":
    main(OfTenure())
