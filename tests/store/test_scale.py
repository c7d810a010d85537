"""scale: how many workers the work wants, and which one to drain first."""

from datetime import timedelta
from typing import Any, Literal

import psycopg
import pytest

from tenure.domain.lifecycle import Intent
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.store.migrating import Migrator
from tenure.store.scale_results import Scale
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import Worker, announcement, make_job, make_worker, promote

SECOND = timedelta(seconds=1)
HOUR = 3600 * SECOND
FOUR = {"async": 4, "process": 2}


@pytest.fixture(autouse=True)
def announced(store: Store) -> None:
    store.announce_tasks([announcement("work"), announcement("send")])


def scale(store: Store, *names: Any, **options: Any) -> Scale:
    return store.send(queries.scale(*names, **options))


def fleet(store: Store, n: int, **more: Any) -> list[Worker]:
    return [make_worker(store, HOUR, **{"capacity": FOUR, **more}) for _ in range(n)]


def measure(worker: Worker, **seconds: float) -> None:
    worker.store.renew(worker.id, run_times=seconds)


def make_ready(store: Store, n: int, **fields: Any) -> None:
    for _ in range(n):
        make_job(store, **fields)
    promote(store)


def test_nothing_to_do_wants_nobody(store: Store) -> None:
    seen = scale(store)
    assert (seen.wanted, seen.alive, seen.surplus, seen.work) == (0, 0, 0, ())
    assert seen.sentence == "no job runs, and none could start"
    assert scale(store, min=2).wanted == 2
    assert "2 is the minimum" in scale(store, min=2).sentence


def test_the_first_worker_shows_how_much_a_worker_does(store: Store) -> None:
    make_ready(store, 50)
    seen = scale(store)
    assert (seen.wanted, seen.work[0].capacity) == (1, None)
    assert "no worker has served their queue yet" in seen.sentence


def test_long_jobs_want_a_slot_each_and_short_ones_share_it(store: Store) -> None:
    [worker] = fleet(store, 1)
    make_ready(store, 16)
    measure(worker, work=3600.0)
    assert (scale(store).wanted, scale(store).work[0].slots) == (4, 16)
    measure(worker, work=1.0)
    seen = scale(store)
    assert seen.wanted == 1
    assert seen.work[0].slots == pytest.approx(16 / 61, rel=0.1)
    measure(worker, work=20.0)  # a slot begins three of them, one after the other, and a fourth
    assert scale(store, within=60 * SECOND).work[0].slots == pytest.approx(16 / 3.5, rel=0.2)


def test_the_kind_that_wants_most_workers_decides(store: Store) -> None:
    store.announce_tasks([announcement("crunch", executor="process")])
    [worker] = fleet(store, 1)
    measure(worker, work=HOUR.total_seconds(), crunch=HOUR.total_seconds())
    make_ready(store, 4)
    make_ready(store, 6, task="crunch")
    seen = scale(store)
    assert {work.task: (work.kind, work.workers) for work in seen.work} == {
        "crunch": ("process", 3),
        "work": ("async", 1),
    }
    assert seen.wanted == 3
    assert "(process)" in seen.sentence


def test_what_has_waited_wants_more_workers(store: Store, clock: Clock) -> None:
    [worker] = fleet(store, 1)
    make_ready(store, 600)
    measure(worker, work=1.0)
    fresh = scale(store).exact
    clock.advance(45 * SECOND)
    late = scale(store).exact
    clock.advance(1000 * SECOND)
    assert fresh < late
    assert scale(store).exact == pytest.approx(late, rel=0.1)  # a quarter of the time at the least


def test_running_jobs_keep_their_slots_whatever_they_take(store: Store) -> None:
    one, two = fleet(store, 2)
    measure(one, work=0.01)
    make_ready(store, 8)
    assert len(one.claim(4)) + len(two.claim(4)) == 8
    seen = scale(store)
    assert (seen.wanted, seen.surplus, seen.work[0].running) == (2, 0, 8)
    store.drain(one.id)
    after = scale(store)
    assert (after.wanted, after.alive, after.work[0].running) == (1, 1, 4)


def test_a_task_that_was_never_measured_counts_by_what_runs_now(store: Store, clock: Clock) -> None:
    [worker] = fleet(store, 1)
    make_ready(store, 20)
    worker.claim(4)
    assert scale(store).wanted == 1
    clock.advance(61 * SECOND)
    seen = scale(store)
    assert seen.work[0].run_seconds == pytest.approx(61, abs=5)
    assert seen.wanted == 5


@pytest.fixture
def ten(store: Store) -> Worker:
    """Ten long jobs that are ready, and a worker."""
    [worker] = fleet(store, 1)
    measure(worker, work=3600.0)
    make_ready(store, 10)
    assert scale(store).wanted == 3
    return worker


@pytest.mark.parametrize(
    ("subject", "name", "why"),
    [("queue", "default", "the queue default is paused"), ("tenant", "", "the tenant is paused")],
)
def test_what_is_paused_does_not_count(
    store: Store, ten: Worker, subject: Literal["queue", "tenant"], name: str, why: str
) -> None:
    store.pause_dispatch(subject, name)
    seen = scale(store)
    assert (seen.wanted, seen.work[0].ready, seen.work[0].startable) == (0, 10, 0)
    assert seen.work[0].held_back == why
    store.resume_dispatch(subject, name)
    assert scale(store).wanted == 3


def test_a_task_that_no_live_worker_has_does_not_count(store: Store, ten: Worker) -> None:
    store.announce(ten.id, [announcement("other")])
    seen = scale(store)
    assert (seen.wanted, seen.work[0].held_back) == (0, "no live worker has the task work")


def test_jobs_in_line_for_a_target_a_time_or_another_job_do_not_count(
    store: Store,
) -> None:
    [worker] = fleet(store, 1)
    measure(worker, work=3600.0)
    first = make_job(store, target="site")
    make_ready(store, 20, target="site")
    make_ready(store, 20, delay=HOUR)
    make_ready(store, 20, after=[first])
    store.stop(make_job(store), intent=Intent.PAUSE)
    assert scale(store).work[0].ready == 1


def test_a_pool_counts_up_to_its_free_slots(store: Store) -> None:
    [worker] = fleet(store, 1)
    measure(worker, work=3600.0)
    store.create_pool("gpu")
    store.change_slots("gpu", add=["a", "b"])
    make_ready(store, 10, pools=["gpu"])
    seen = scale(store)
    assert (seen.work[0].startable, seen.wanted) == (2, 1)
    assert seen.work[0].held_back == "a pool has no more free slots"
    worker.claim(2)
    after = scale(store).work[0]
    assert (after.running, after.startable, after.slots) == (2, 0, 2)


def test_a_limit_counts_up_to_its_room(store: Store) -> None:
    [worker] = fleet(store, 1)
    measure(worker, work=3600.0)
    store.set_limit("api", {}, at_once=3)
    make_ready(store, 20, limits=["api"])
    assert (scale(store).work[0].startable, scale(store).wanted) == (3, 1)
    worker.claim(2)
    assert scale(store).work[0].startable == 1
    store.close_limit("api")
    seen = scale(store).work[0]
    assert (seen.startable, seen.held_back) == (0, "a limit has no more room")


def test_a_rate_counts_what_it_allows_in_the_time(store: Store) -> None:
    [worker] = fleet(store, 1)
    measure(worker, work=3600.0)
    store.set_limit("api", {"calls": {"amount": 6, "per": 60, "burst": 1}})
    make_ready(store, 50, limits=["api"])
    assert scale(store, within=60 * SECOND).work[0].startable == 7
    assert scale(store, within=10 * SECOND).work[0].startable == 2


def test_only_the_queues_and_tasks_that_were_asked_for_count(store: Store) -> None:
    both = fleet(store, 1)[0]
    fleet(store, 2, queues=["mail"])
    measure(both, work=3600.0, send=3600.0)
    make_ready(store, 4)
    make_ready(store, 8, task="send", queue="mail")
    assert (scale(store).wanted, scale(store).alive) == (3, 3)
    mail = scale(store, ["mail"])
    assert (mail.wanted, mail.alive, [work.queue for work in mail.work]) == (2, 3, ["mail"])
    assert scale(store, ["default"]).alive == 1
    none = scale(store, ["mail"], tasks=["other"])
    assert none.surplus == 0
    store.pause_dispatch("queue", "mail")
    idle = scale(store, ["mail"])
    assert (idle.wanted, idle.surplus) == (0, 2), "the third serves other queues too"
    assert [worker.shared for worker in idle.drain_order].count(True) == 1
    store.resume_dispatch("queue", "mail")
    assert [work.task for work in scale(store, tasks=["work"]).work] == ["work"]


def test_a_maximum_holds_and_says_so(store: Store, ten: Worker) -> None:
    seen = scale(store, max=2)
    assert (seen.wanted, seen.exact) == (2, 2.5)
    assert "2 is the maximum" in seen.sentence


def test_workers_that_run_nothing_drain_first_then_those_with_the_youngest_work(
    store: Store, clock: Clock
) -> None:
    old, young, idle = fleet(store, 3)
    make_ready(store, 5)
    old.claim(1)
    clock.advance(100 * SECOND)
    young.claim(4)
    clock.advance(SECOND)
    seen = scale(store)
    assert [worker.id for worker in seen.drain_order] == [idle.id, young.id, old.id]
    assert (seen.wanted, seen.surplus) == (2, 1)
    assert [worker.sentence.split(" so far")[0] for worker in seen.drain_order] == [
        "it runs no job",
        "it runs 4 jobs that have taken 4 s",
        "it runs 1 job that has taken 101 s",
    ]
    store.renew(old.id, trouble="no memory")
    first = scale(store).drain_order[0]
    assert (first.id, first.sentence.split(";")[0]) == (
        old.id,
        "it cannot start a runner: no memory",
    )


def test_jobs_of_other_tenants_protect_a_worker_and_are_not_shown(
    store: Store, database: str
) -> None:
    Migrator(database).migrate(Tenant("acme"))
    theirs = store.of(Tenant("acme"))
    idle, busy = fleet(store, 2)  # of equal ones the youngest comes first
    make_job(theirs)
    promote(theirs)
    assert theirs.claim(busy.id, 1).jobs
    seen = scale(store)
    assert [worker.id for worker in seen.drain_order] == [idle.id, busy.id]
    assert [worker.jobs for worker in seen.drain_order] == [0, 0]
    assert seen.drain_order[1].sentence == "it runs no job of this tenant"
    assert (seen.work, seen.wanted) == ((), 0)
    assert seen.surplus == 0, "another tenant may want them"
    assert (scale(theirs).wanted, scale(theirs).work[0].running) == (1, 1)


def test_the_answer_is_the_same_while_nothing_changes(store: Store, ten: Worker) -> None:
    assert scale(store, within=HOUR).wanted == scale(store, within=HOUR).wanted


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"within": timedelta(0)}, "within 1 second to 1 day"),
        ({"within": timedelta(days=2)}, "within 1 second to 1 day"),
        ({"min": -1}, "0 to 100000 workers"),
        ({"max": 100_001}, "0 to 100000 workers"),
        ({"min": 3, "max": 2}, "the minimum of 3 workers is more than the maximum of 2"),
        ({"queues": [""]}, "queues and tasks"),
        ({"tasks": ["x" * 501]}, "queues and tasks"),
    ],
)
def test_what_cannot_be_meant_is_refused(store: Store, options: dict[str, Any], why: str) -> None:
    with pytest.raises(InputRefused, match=why):
        scale(store, **options)


@pytest.mark.parametrize("capacity", [{"async": 0}, {"gpu": 1}, {"async": "4"}, {"process": 1.5}])
def test_a_capacity_that_is_none_is_refused(store: Store, capacity: dict[str, Any]) -> None:
    with pytest.raises(InputRefused, match="a worker runs 1 to"):
        make_worker(store, capacity=capacity)


def test_run_times_are_kept_by_task_and_merged(store: Store, sql: psycopg.Connection) -> None:
    worker = make_worker(store)
    measure(worker, work=1.5, send=2.0)
    measure(worker, work=3.0)
    store.send(queries.workers())
    row = sql.execute("SELECT run_times FROM tenure.worker").fetchone()
    assert row == ({"work": 3.0, "send": 2.0},)
