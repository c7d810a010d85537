"""The order in which jobs start that draw from limits, from pools or from nothing."""

from typing import Any

import pytest

from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import make_job, make_worker


def make_world(store: Store) -> None:
    """Give plenty of both, so that nothing has to wait."""
    store.create_pool("accounts", ["a", "b", "c", "d"])
    store.set_limit("api:{key}", at_once=50)


FREE: dict[str, Any] = {}
LIMITED: dict[str, Any] = {"limits": ["api:x"]}
_DRAWS = pytest.mark.parametrize("draws", [{"pools": ["accounts"]}, LIMITED])


@_DRAWS
def test_jobs_start_by_position_whatever_they_draw_from(store: Store, draws: Any) -> None:
    make_world(store)
    jobs = [make_job(store, **fields) for fields in (draws, FREE) * 3]
    worker = make_worker(store)
    started = [[job.id for job in worker.claim(n)] for n in (2, 3, 3)]
    assert started == [jobs[:2], jobs[2:5], jobs[5:]]


@_DRAWS
def test_no_lower_priority_starts_before_the_rest_of_a_higher_one(store: Store, draws: Any) -> None:
    make_world(store)
    low = [make_job(store, **fields) for fields in (draws, FREE, draws, FREE)]
    urgent = [make_job(store, priority=7, **fields) for fields in (draws, FREE, draws)]
    worker = make_worker(store)
    assert [job.id for job in worker.claim(3)] == urgent
    assert [job.id for job in worker.claim(9)] == low


@_DRAWS
def test_a_claim_reads_each_priority_as_far_as_it_still_wants(store: Store, draws: Any) -> None:
    make_world(store)
    urgent = [make_job(store, priority=7) for _ in range(2)]
    low = [make_job(store, **fields) for fields in (draws, FREE, draws, FREE)]
    assert [job.id for job in make_worker(store).claim(4)] == urgent + low[:2]


def test_jobs_behind_those_without_room_keep_their_turn(store: Store) -> None:
    make_world(store)
    store.close_limit("api:closed")
    low = make_job(store)
    for _ in range(3):
        make_job(store, priority=7, limits=["api:closed"])
    jobs = [make_job(store, priority=7, **fields) for fields in (FREE, LIMITED, FREE)]
    worker = make_worker(store)
    assert [job.id for job in worker.claim(3)] == jobs
    assert [job.id for job in worker.claim(3)] == [low]


def test_no_more_jobs_start_than_were_asked_for(store: Store) -> None:
    """Also where the first has no room and all behind it have."""
    make_world(store)
    store.close_limit("api:closed")
    make_job(store, limits=["api:closed"])
    jobs = [make_job(store, limits=["api:x"]) for _ in range(5)]
    worker = make_worker(store)
    assert [job.id for job in worker.claim(2)] == jobs[:2]
    assert [job.id for job in worker.claim(9)] == jobs[2:]


@_DRAWS
def test_a_claim_of_mixed_lanes_looks_behind_what_another_has_locked(
    store: Store, connect: Connect, draws: Any
) -> None:
    make_world(store)
    locked = [make_job(store) for _ in range(3)]
    jobs = [make_job(store, **fields) for fields in (draws, FREE)]
    other = connect()
    other.execute("SELECT FROM tenure.job WHERE id = ANY (%s) FOR UPDATE", (locked,))
    assert [job.id for job in make_worker(store).claim(2)] == jobs
