"""Exchanges at the same time: what each promotes before its commit is not lost for the other."""

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.calls.worker_calls import Want, exchange
from tenure.store.store import Store
from tests.factories import ending, make_job, make_jobs, make_worker
from tests.store.races.stage import Stage


def test_two_ends_of_one_family_that_are_promoted_by_those_who_end_them(
    stage: Stage, store: Store
) -> None:
    """Each promotes before the other has committed; the last sees both."""
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="a", task="work", parent="root"),
            NewJob(key="b", task="work", parent="root"),
        ],
    )
    worker = make_worker(store)
    a, b = worker.claim(2)
    first, second = stage.session(), stage.session()
    first(exchange(worker.id, [ending(a)], [Want(n=5)]))
    second(exchange(worker.id, [ending(b)], [Want(n=5)]))
    first.commit()
    second.commit()
    store.exchange(worker.id, promoting=True)
    assert store.show(ids["root"]).state is State.COMPLETED


def family(store: Store) -> dict[str, int]:
    jobs = [NewJob(key=key, task="work") for key in ("a", "b")]
    return dict(make_jobs(store, [*jobs, NewJob(key="last", task="work", after=["a", "b"])]))


def test_two_needs_of_one_job_end_at_once_and_neither_holds_up_the_other(
    stage: Stage, store: Store
) -> None:
    ids = family(store)
    worker = make_worker(store)
    a, b = worker.claim(2)
    first, second = stage.session(), stage.session()
    assert first(exchange(worker.id, [ending(a)])).finished.accepted
    assert second(exchange(worker.id, [ending(b)])).finished.accepted
    second.commit()
    first.commit()
    (claim,) = store.exchange(worker.id, [], [Want(n=1)], promoting=True).claims
    assert [job.id for job in claim.jobs] == [ids["last"]]


def test_the_first_who_looks_at_a_job_locks_what_it_comes_after(stage: Stage, store: Store) -> None:
    """Otherwise it might end unseen; a repeated call is accepted."""
    make_job(store)
    worker = make_worker(store)
    need = worker.claim_one()
    late = make_job(store, after=[need.id])
    first = stage.session()
    first(exchange(worker.id, promoting=True))
    assert store.exchange(worker.id, [ending(need)]).finished.busy == (need.id,)
    first.commit()
    (claim,) = store.exchange(worker.id, [ending(need)], [Want(n=1)]).claims
    assert [job.id for job in claim.jobs] == [late]


def test_a_target_that_is_freed_and_lined_up_for_at_once_is_not_forgotten(
    stage: Stage, store: Store
) -> None:
    make_job(store, target="x")
    store.promote()
    worker = make_worker(store)
    job = worker.claim_one()
    freeing, lining = stage.session(), stage.session()
    (late,) = lining.enqueue(NewJob(task="work", target="x"))
    assert freeing(exchange(worker.id, [ending(job)], [Want(n=1)])).claims[0].jobs == ()
    lining.commit()
    store.promote()  # finds the target locked by the one who frees it
    freeing.commit()
    (got,) = store.exchange(worker.id, [], [Want(n=1)], promoting=True).claims[0].jobs
    assert got.id == late.id


def test_a_large_claim_waits_for_another_and_a_small_one_does_not(
    stage: Stage, store: Store
) -> None:
    jobs = {make_job(store) for _ in range(3)}
    mine, quick, other = make_worker(store), make_worker(store), make_worker(store)
    first, second, small = stage.session(), stage.session(), stage.session()

    (a,) = first(exchange(mine.id, [], [Want(n=1, in_turn=True)])).claims
    (b,) = small(exchange(quick.id, [], [Want(n=1)])).claims
    late = stage.waits(second, exchange(other.id, [], [Want(n=1, in_turn=True)]))
    first.commit()
    (c,) = late.result().claims

    assert {job.id for claim in (a, b, c) for job in claim.jobs} == jobs


def test_a_large_claim_does_without_a_turn_that_does_not_come(stage: Stage, store: Store) -> None:
    jobs = {make_job(store) for _ in range(2)}
    mine, other = make_worker(store), make_worker(store)
    first, second = stage.session(), stage.session()
    (a,) = first(exchange(mine.id, [], [Want(n=1, in_turn=True)])).claims
    (b,) = second(exchange(other.id, [], [Want(n=1, in_turn=True)])).claims
    assert {job.id for claim in (a, b) for job in claim.jobs} == jobs
