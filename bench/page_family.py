"""Measure the page of a job with 10,000 children beside its queries run at once."""

import asyncio
import http.client
from collections.abc import Iterator
from datetime import timedelta
from statistics import median
from time import perf_counter
from uuid import uuid4

import psycopg

from bench.api_served import served
from bench.figures import Figure, console, figure
from bench.sessions import viewer_session
from bench.working import Bench
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.principal import Principal, Role
from tenure.store.calls import queries
from tenure.store.store import Store
from tenure.web.dashboard.job import read_page

ASKED = 20  # times in one round, of each
AT_MOST = 1.5  # times as long as the queries
SMALL = 150.0  # kB of one page, however large the family is
_EARLIER = b"""
    UPDATE tenure.job
    SET created_at = created_at - interval '30 s', started_at = started_at - interval '30 s'
    WHERE id = %(parent)s
"""
_CHILDREN = b"""
    INSERT INTO tenure.job (root_id, parent_id, created_at, started_at, ended_at, lane, state,
        ready, position, attempt, max_attempts, worker_id)
    SELECT p.id, p.id, p.created_at + gap,
        CASE WHEN one.state <> 'pending' THEN p.created_at + gap * 2 END,
        CASE WHEN one.state >= 'completed'
            THEN p.created_at + gap * 2 + interval '20 ms' * (n %% 97) END,
        p.lane, one.state, one.state = 'pending', n, (one.state <> 'pending')::integer, 4,
        CASE WHEN one.state = 'running' THEN p.worker_id END
    FROM tenure.job AS p CROSS JOIN generate_series(1, %(children)s) AS n
    CROSS JOIN LATERAL (SELECT interval '1 ms' * n AS gap, CASE
        WHEN n > %(children)s * 0.97 THEN 'pending' WHEN n > %(children)s * 0.95 THEN 'running'
        WHEN n %% 31 = 0 THEN 'failed' ELSE 'completed' END::tenure.state AS state) AS one
    WHERE p.id = %(parent)s
"""
_PAYLOADS = b"""
    INSERT INTO tenure.payload (job_id, args, owner)
    SELECT j.id, jsonb_build_object('site', 'https://example.org/' || j.id, 'pages', j.id %% 90),
        'ann'
    FROM tenure.job AS j WHERE j.parent_id = %(parent)s
"""
_ATTEMPTS = b"""
    INSERT INTO tenure.attempt (job_id, token, attempt, worker_id, started_at, ended_at, outcome)
    SELECT j.id, j.id, 1, p.worker_id, j.started_at, j.ended_at, 'failed'
    FROM tenure.job AS j JOIN tenure.job AS p ON p.id = j.parent_id
    WHERE j.parent_id = %(parent)s AND j.state = 'failed'
"""


def show_family(bench: Bench) -> Iterator[Figure]:
    """The page and its queries take turns, each over connections that are kept."""
    children = bench.server.sizes.tree
    with bench.server.database() as url:
        console.print(f"a family of {children:,} children")
        with psycopg.connect(url, autocommit=True) as connection, Client(url) as client:
            job = fill_family(client.store, connection, children)
            secret = viewer_session(client, "bench")
            about = f"a job with {children:,} children"
            with served("ours", url) as place:
                yield from _compare(about, bench.amounts.rounds, url, place, secret, job)
                client.store.stop(job, reason="all of it")
                about = f"{about} that is being stopped"
                yield from _compare(about, bench.amounts.rounds, url, place, secret, job)


def _compare(
    about: str, rounds: int, url: str, place: tuple[str, int], secret: str, job: int
) -> Iterator[Figure]:
    times: dict[str, list[float]] = {"queries": [], "page": []}
    size = 0
    for _ in range(rounds):
        times["queries"].append(asyncio.run(_queries(url, job)))
        taken, size = _page(place, secret, job)
        times["page"].append(taken)
    bare = figure(f"{about}: its queries at once", times["queries"], "ms")
    yield bare
    yield figure(
        f"{about}: its page, to the first byte", times["page"], "ms", against=bare, at_most=AT_MOST
    )
    yield figure(f"{about}: its page", size / 1000, "kB", at_most=SMALL)


def fill_family(store: Store, connection: psycopg.Connection, children: int) -> int:
    """Create a running job with so many children in all states; return its id."""
    worker = uuid4()
    [job] = store.enqueue([NewJob(task="shop.crawl_all", owner="ann")])
    store.promote()
    store.register(worker, "bench", 1, timedelta(hours=1))
    store.claim(worker, 1)
    for statement in (_EARLIER, _CHILDREN, _PAYLOADS, _ATTEMPTS):
        connection.execute(statement, {"parent": job.id, "children": children})
    connection.execute("VACUUM (ANALYZE)")
    return job.id


async def _queries(url: str, job: int) -> float:
    """Milliseconds that the queries of the page take, run as the page runs them."""
    async with Client(url) as client:
        caller = AuthorizedClient(client, Principal("bench", Role.VIEWER))
        taken = []
        for _ in range(ASKED + 2):
            began = perf_counter()
            await read_page(caller, await caller.asend(queries.show(job)), {})
            taken.append((perf_counter() - began) * 1000)
    return median(taken[2:])


def _page(place: tuple[str, int], secret: str, job: int) -> tuple[float, int]:
    """Milliseconds to the first byte of the page, and its length."""
    connection = http.client.HTTPConnection(*place, timeout=60)
    taken, size = [], 0
    for _ in range(ASKED + 2):
        began = perf_counter()
        connection.request("GET", f"/jobs/{job}", headers={"cookie": f"tenure_session={secret}"})
        answer = connection.getresponse()
        taken.append((perf_counter() - began) * 1000)
        text = answer.read()
        size = len(text)
        if answer.status != 200 or b'class="row-crowd' not in text:
            raise RuntimeError(f"the page was not answered as it should be: {answer.status}")
    connection.close()
    return median(taken[2:]), size
