"""Pools: named things of which a job holds one."""

from collections.abc import Callable

import psycopg
import pytest

from tenure.domain.lifecycle import Intent
from tenure.errors import IllegalTransition, InputRefused, KeyTaken, NotFound
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import Worker, end_as_stopped, make_job, make_worker


def holders(store: Store, pool: str = "tree") -> dict[str, int | None]:
    return {slot.name: slot.job_id for slot in store.pools(pool)[0].slots}


def test_a_pool_is_made_of_named_slots(store: Store) -> None:
    made = store.create_pool("tree", ["b", "a"])
    assert [slot.name for slot in made.slots] == ["a", "b"]
    store.create_pool("account")
    assert [pool.name for pool in store.pools()] == ["account", "tree"]
    assert store.pools("nothing") == ()
    with pytest.raises(KeyTaken, match="there is a pool 'tree' already"):
        store.create_pool("tree", ["c"])
    assert holders(store) == {"a": None, "b": None}


def test_a_pool_or_slot_without_a_name_is_refused(store: Store) -> None:
    with pytest.raises(InputRefused):
        store.create_pool("")
    with pytest.raises(InputRefused):
        store.create_pool("tree", [""])
    assert store.pools() == ()


def test_a_job_cannot_draw_from_a_pool_that_does_not_exist(store: Store) -> None:
    with pytest.raises(InputRefused, match="there is no pool 'tree'"):
        make_job(store, pools=["tree"])


def test_a_claim_takes_a_slot_of_each_pool(store: Store) -> None:
    store.create_pool("tree", ["a", "b"])
    store.create_pool("account", ["ann"])
    job = make_job(store, pools=["tree", "account"])
    claimed = make_worker(store).claim_one()
    assert claimed.slots == {"tree": "a", "account": "ann"}
    assert holders(store) == {"a": job, "b": None}
    assert store.show(job).slots == ("account/ann", "tree/a")
    assert store.pools("tree")[0].slots[0].held_at is not None


def test_no_more_jobs_run_than_there_are_slots_and_others_pass(store: Store) -> None:
    store.create_pool("tree", ["a", "b"])
    for _ in range(3):
        make_job(store, pools=["tree"], priority=9)
    free = make_job(store)
    claimed = make_worker(store).claim(10)
    assert len(claimed) == 3
    assert free in [job.id for job in claimed]
    taken = [job.slots["tree"] for job in claimed if job.slots]
    assert sorted(taken) == ["a", "b"]


def test_a_job_that_lacks_one_of_its_slots_takes_none(store: Store) -> None:
    store.create_pool("tree", ["a"])
    store.create_pool("account")
    make_job(store, pools=["tree", "account"])
    assert make_worker(store).claim(10) == ()
    assert holders(store) == {"a": None}


def finish(worker: Worker, job: Claimed) -> object:
    return worker.finish(job)


def fail(worker: Worker, job: Claimed) -> object:
    return worker.finish(job, "failed", error={"type": "E", "message": "no"})


def retry(worker: Worker, job: Claimed) -> object:
    return worker.finish(job, "retry", error={"type": "E", "message": "no"})


def crash(worker: Worker, job: Claimed) -> object:
    return worker.crash(job)


def release(worker: Worker, job: Claimed) -> object:
    return worker.release(job)


def pause(worker: Worker, job: Claimed) -> object:
    worker.store.stop(job.id, intent=Intent.PAUSE)
    return end_as_stopped(worker, job)


def test_a_slot_is_free_however_the_attempt_ends(store: Store) -> None:
    store.create_pool("tree", ["a"])
    worker = make_worker(store)
    ways: list[Callable[[Worker, Claimed], object]] = [finish, fail, pause, retry, crash, release]
    for end in ways:
        make_job(store, pools=["tree"], priority=9)
        job = worker.claim_one()
        assert holders(store) == {"a": job.id}
        end(worker, job)
        assert holders(store) == {"a": None}, end


def test_a_stop_alone_does_not_free_the_slot_of_what_runs(store: Store) -> None:
    store.create_pool("tree", ["a"])
    job = make_job(store, pools=["tree"])
    make_worker(store).claim_one()
    store.stop(job)
    assert holders(store) == {"a": job}


def test_a_running_job_takes_and_gives_slots(store: Store) -> None:
    store.create_pool("tree", ["a"])
    jobs = [make_job(store) for _ in range(2)]
    worker = make_worker(store)
    first, second = worker.claim(2)
    granted = store.report(
        worker.id,
        [Report(job=job.id, token=job.token, take=["tree"]) for job in (first, second)],
    ).granted
    assert granted == {str(jobs[0]): {"tree": "a"}}
    assert holders(store) == {"a": jobs[0]}
    store.report(worker.id, [Report(job=first.id, token=first.token, give=["tree"])])
    assert holders(store) == {"a": None}


def test_a_slot_is_not_given_to_a_job_that_is_no_longer_held(store: Store) -> None:
    store.create_pool("tree", ["a"])
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    worker.release(job)
    report = store.report(worker.id, [Report(job=job.id, token=job.token, take=["tree"])])
    assert (report.refused, report.granted) == ((job.id,), {})
    assert holders(store) == {"a": None}


def test_slots_are_added_and_removed(store: Store) -> None:
    store.create_pool("tree", ["a"])
    make_job(store, pools=["tree"])
    make_job(store, pools=["tree"])
    worker = make_worker(store)
    worker.claim_one()
    assert worker.claim(10) == ()
    changed = store.change_slots("tree", add=["b", "c", "a"])
    assert [slot.name for slot in changed.slots] == ["a", "b", "c"]
    assert changed.slots[0].job_id is not None, "adding what is there changes nothing"
    assert len(worker.claim(10)) == 1
    assert [slot.name for slot in store.change_slots("tree", remove=["c"]).slots] == ["a", "b"]
    with pytest.raises(NotFound, match="there is no pool 'pond'"):
        store.change_slots("pond", add=["a"])


def test_a_slot_in_use_is_neither_removed_nor_released(store: Store) -> None:
    store.create_pool("tree", ["a"])
    job = make_job(store, pools=["tree"])
    make_worker(store).claim_one()
    with pytest.raises(IllegalTransition, match=f"job {job} holds a slot"):
        store.change_slots("tree", add=["b"], remove=["a"])
    with pytest.raises(IllegalTransition, match=f"job {job} is running with this slot"):
        store.release_slot("tree", "a")
    assert holders(store) == {"a": job}


def test_a_slot_that_was_left_behind_is_released_by_hand(
    store: Store, sql: psycopg.Connection
) -> None:
    store.create_pool("tree", ["a"])
    job = make_job(store)
    sql.execute("UPDATE tenure.slot SET job_id = %s, held_at = clock_timestamp()", (job,))
    assert [slot.job_id for slot in store.release_slot("tree", "a").slots] == [None]
    with pytest.raises(NotFound, match="there is no slot 'b' in pool 'tree'"):
        store.release_slot("tree", "b")


def test_a_paused_pool_gives_no_slot_until_it_is_resumed(store: Store) -> None:
    store.create_pool("trees", ["a", "b"])
    job, other = make_job(store, pools=["trees"]), make_job(store)
    store.pause_dispatch("pool", "trees", reason="disk full")
    worker = make_worker(store)
    (taken,) = worker.claim(10)
    assert taken.id == other
    report = store.report(worker.id, [Report(job=other, token=taken.token, take=["trees"])])
    assert report.granted == {}
    reasons = {reason.reason: reason.sentence for reason in store.explain(job).reasons}
    assert "disk full" in reasons["pool paused"]
    store.resume_dispatch("pool", "trees")
    assert [claimed.id for claimed in worker.claim(10)] == [job]
