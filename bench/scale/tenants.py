"""More tenants for one worker: those in which nothing happens are to cost nothing."""

import random
import time
from collections.abc import Iterator
from functools import partial
from statistics import median

import psycopg

from bench import apps
from bench.figures import console
from bench.picking_up import milliseconds
from bench.processes import cpu, family_cpu, postmaster
from bench.scale.curves import Curve, points
from bench.scale.sizes import Scale
from bench.working import Worker, worker
from tenure.app import Tenure
from tenure.control.task import Task
from tenure.domain.tenant import Tenant
from tenure.store.migrating import Migrator

_SPARE = 1.0  # seconds until there is another spare


def grow_tenants(scale: Scale) -> Iterator[Curve]:
    busy, first, of_server, of_keeper = [], [], [], []
    with scale.bench.server.database() as url, Tenure(url) as app:
        task = app.task(name="entered")(apps.entered.function)
        made = 1
        for n in scale.tenants:
            console.print(f"{n:,} tenants")
            _make(url, range(made, n))
            made = n
            with (
                worker(scale.bench, url, "--all-tenants") as at_work,
                psycopg.connect(url, autocommit=True) as connection,
            ):
                at_work.warm_up(app.store)
                time.sleep(scale.settles)
                idle = _idle(scale, at_work, connection)
                of_server.append((n, idle[0]))
                of_keeper.append((n, idle[1]))
                busy.append((n, median(milliseconds(task) for _ in range(scale.latencies))))
                others = [_name(number) for number in random.sample(range(1, n), min(n - 1, 10))]
                late = [_pick_up_first(task, tenant) for tenant in others]
                first.append((n, median(late or [busy[-1][1]])))
    yield Curve(
        "pick-up with more tenants",
        "tenants",
        "ms",
        {"of a busy one": points(busy), "of an idle one": points(first)},
    )
    yield Curve(
        "CPU of an idle fleet",
        "tenants",
        "ms/s",
        {"PostgreSQL": points(of_server), "keeper": points(of_keeper)},
    )


def _name(number: int) -> str:
    return f"tenant{number}"


def _make(url: str, numbers: range) -> None:
    migrator = Migrator(url)
    for number in numbers:
        migrator.migrate(Tenant(_name(number)))
    # Else the server cleans up after it while it is watched doing nothing.
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "VACUUM (ANALYZE) pg_class, pg_attribute, pg_proc, pg_depend, pg_index, pg_constraint,"
            " pg_type, pg_attrdef, pg_sequence, pg_shdepend, tenure.tenant, tenure.migration"
        )


def _idle(scale: Scale, at_work: Worker, connection: psycopg.Connection) -> tuple[float, float]:
    """Milliseconds of CPU in a second in which nothing happens."""
    used = [partial(family_cpu, postmaster(connection)), partial(cpu, at_work.keeper)]
    before, began = [one() for one in used], time.monotonic()
    time.sleep(scale.idle)
    passed = time.monotonic() - began
    server, keeper = (one() - was for one, was in zip(used, before, strict=True))
    return server / passed * 1e3, keeper / passed * 1e3


def _pick_up_first(task: "Task[..., int]", tenant: str) -> float:
    time.sleep(_SPARE)
    return milliseconds(task.using(tenant=tenant))
