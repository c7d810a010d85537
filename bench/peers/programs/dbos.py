"""DBOS: workflows in a queue."""

import asyncio
from typing import Any

import psycopg
from dbos import DBOS, DBOSClient

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_TOGETHER = 200
_OPEN = """
    SELECT EXISTS (SELECT FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING'))
"""
_SETTINGS: Any = {
    "name": "bench",
    "system_database_url": URL,
    "log_level": "ERROR",
    "run_admin_server": False,
    "application_version": "1",
}
for _name in ("noop", "enter", "wait", "nap", "block", "compute"):
    DBOS.workflow(name=_name)(getattr(jobs, _name))


class OfDBOS(Peer):
    async def prepare(self) -> None:
        DBOS(config=_SETTINGS)
        DBOS.launch()
        DBOS.destroy()

    async def open(self) -> None:
        self._client = DBOSClient(system_database_url=URL)
        self._connection = await psycopg.AsyncConnection.connect(URL, autocommit=True)

    async def close(self) -> None:
        await self._connection.close()
        self._client.destroy()

    async def enqueue(self, job: str, key: str) -> Any:
        made = await self._client.enqueue_async(
            {"workflow_name": job, "queue_name": "default"}, key
        )
        return made.workflow_id

    async def enqueue_many(self, job: str, n: int) -> None:
        """There is no call for many: so many single ones at once."""
        for start in range(0, n, _TOGETHER):
            keys = range(start, min(n, start + _TOGETHER))
            await asyncio.gather(*(self.enqueue(job, str(key)) for key in keys))

    async def stop(self, job: Any) -> None:
        await self._client.cancel_workflow_async(job)

    async def is_drained(self) -> bool:
        row = await (await self._connection.execute(_OPEN)).fetchone()
        return row is not None and not row[0]

    async def work(self, concurrency: int) -> None:
        DBOS(config=_SETTINGS)
        DBOS.launch()
        await DBOS.register_queue_async(
            "default",
            worker_concurrency=concurrency,
            polling_interval_sec=0.01,
            on_conflict="always_update",
        )
        await asyncio.Event().wait()


if __name__ == "__main__":
    main(OfDBOS())
