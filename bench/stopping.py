"""Cancel a whole tree of pending tasks, in one transaction."""

from collections.abc import Iterator
from time import perf_counter

import psycopg

from bench.figures import Figure, console, figure
from bench.server import Server, settle
from tenure.domain.job import NewJob
from tenure.store.store import Store


def cancel_a_tree(server: Server) -> Iterator[Figure]:
    size = server.sizes.tree
    taken: list[float] = []
    for number in range(server.sizes.rounds):
        console.print(f"cancel of {size:,} tasks, round {number + 1} of {server.sizes.rounds}")
        with (
            server.database() as url,
            Store(url) as store,
            psycopg.connect(url, autocommit=True) as connection,
        ):
            tasks = [NewJob(task="noop", parent="whole") for _ in range(size)]
            root, *_ = store.enqueue([NewJob(task=None, key="whole"), *tasks])
            while store.promote().linked:
                pass
            settle(connection)
            start = perf_counter()
            record = store.stop(root.id)
            taken.append(perf_counter() - start)
            assert len(record.tasks_cancelled) == size
    yield figure(f"cancel of a tree of {size:,} pending tasks", taken, "s", at_most=1)
