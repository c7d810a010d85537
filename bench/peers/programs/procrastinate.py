"""Procrastinate."""

from typing import Any

import procrastinate
import psycopg

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_BATCH = 5_000
_OPEN = "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))"

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=URL, min_size=4, max_size=20)
)
for _name in ("noop", "enter", "wait", "nap", "block", "compute"):
    app.task(name=_name)(getattr(jobs, _name))

app.task(name="plain")(jobs.plain_noop)


class OfProcrastinate(Peer):
    async def prepare(self) -> None:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await app.open_async()
        self._connection = await psycopg.AsyncConnection.connect(URL, autocommit=True)

    async def close(self) -> None:
        await self._connection.close()
        await app.close_async()

    async def enqueue(self, job: str, key: str) -> Any:
        return await app.tasks[job].defer_async(key=key)

    async def enqueue_many(self, job: str, n: int) -> None:
        for start in range(0, n, _BATCH):
            keys = [{"key": str(number)} for number in range(start, min(n, start + _BATCH))]
            await app.tasks[job].batch_defer_async(*keys)

    async def stop(self, job: Any) -> None:
        await app.job_manager.cancel_job_by_id_async(job, abort=True)

    async def is_drained(self) -> bool:
        row = await (await self._connection.execute(_OPEN)).fetchone()
        return row is not None and not row[0]

    async def work(self, concurrency: int) -> None:
        async with app.open_async():
            await app.run_worker_async(concurrency=concurrency, install_signal_handlers=False)


if __name__ == "__main__":
    main(OfProcrastinate())
