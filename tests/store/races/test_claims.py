"""Claims against claims, against death, and renewals against death."""

import pytest

from tenure.domain.lifecycle import State
from tenure.store.calls import upkeep, worker_calls
from tenure.store.store import Store
from tests.factories import make_job, make_worker
from tests.store.races.stage import Stage


def test_two_claims_at_once_never_take_the_same_job(store: Store, stage: Stage) -> None:
    jobs = {make_job(store) for _ in range(2)}
    mine, other = make_worker(store), make_worker(store)
    a, b = stage.session(), stage.session()

    first = a(worker_calls.claim(mine.id, 1)).jobs
    second = b(worker_calls.claim(other.id, 2)).jobs
    a.commit()
    b.commit()

    assert len(first) == len(second) == 1
    assert {first[0].id, second[0].id} == jobs
    assert first[0].token != second[0].token


def test_a_claim_that_is_rolled_back_leaves_the_job_to_the_next(store: Store, stage: Stage) -> None:
    job = make_job(store)
    mine, other = make_worker(store), make_worker(store)
    a = stage.session()

    assert a(worker_calls.claim(mine.id, 1)).jobs
    assert other.claim() == ()
    a.rollback()

    claimed = other.claim_one()
    assert (claimed.id, claimed.attempt) == (job, 1)


def test_claims_of_many_lanes_pass_over_what_another_has_locked(store: Store, stage: Stage) -> None:
    jobs = {make_job(store, f"task{number % 5}") for number in range(40)}
    a, b = stage.session(), stage.session()
    mine, other = make_worker(store), make_worker(store)

    first = a(worker_calls.claim(mine.id, 30)).jobs
    second = b(worker_calls.claim(other.id, 30)).jobs
    a.commit()
    b.commit()

    taken = [job.id for job in (*first, *second)]
    assert len(taken) == len(set(taken))
    assert set(taken) == jobs


def test_a_worker_in_the_middle_of_a_claim_is_not_declared_dead(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    a = stage.session()

    a(worker_calls.claim(worker.id, 1))
    stage.expire(worker.id)
    swept = store.recover()
    a.commit()

    assert swept.dead == ()
    assert not stage.is_dead(worker.id)
    assert [dead.worker_id for dead in store.recover().dead] == [worker.id]


def test_a_worker_that_was_declared_dead_claims_nothing(store: Store, stage: Stage) -> None:
    job = make_job(store)
    worker = make_worker(store)
    stage.expire(worker.id)
    store.recover()

    claim = store.claim(worker.id, 1)

    assert not claim.alive
    assert claim.jobs == ()
    assert stage.states(job) == ("pending",)


def test_a_claim_while_its_death_is_being_written_takes_nothing(store: Store, stage: Stage) -> None:
    job = make_job(store)
    worker = make_worker(store)
    stage.expire(worker.id)
    a = stage.session()

    a(upkeep.recover())
    assert store.claim(worker.id, 1).jobs == ()
    a.commit()

    assert stage.states(job) == ("pending",)
    assert not store.claim(worker.id, 1).alive


def test_a_claim_while_a_burial_is_rolled_back_does_not_call_the_worker_dead(
    store: Store, stage: Stage
) -> None:
    worker = make_worker(store)
    stage.expire(worker.id)
    a = stage.session()

    a(upkeep.recover())
    claim = store.claim(worker.id, 1)
    a.rollback()

    assert store.renew(worker.id).alive
    assert claim.alive, "it was told to kill everything, and nobody had declared it dead"


def test_a_lease_that_is_over_claims_nothing_until_it_is_renewed(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    worker = make_worker(store)
    stage.expire(worker.id)

    assert worker.claim() == ()
    assert store.renew(worker.id).alive
    assert len(worker.claim()) == 1


def test_a_renewal_in_flight_is_not_overtaken_by_death(store: Store, stage: Stage) -> None:
    worker = make_worker(store)
    stage.expire(worker.id)
    a = stage.session()

    assert a(worker_calls.renew(worker.id)).alive
    assert store.recover().dead == ()
    a.commit()

    assert store.recover().dead == ()
    assert not stage.is_dead(worker.id)


def test_a_renewal_that_waits_for_its_death_is_told_of_it(store: Store, stage: Stage) -> None:
    worker = make_worker(store)
    stage.expire(worker.id)
    a, b = stage.session(), stage.session()

    a(upkeep.recover())
    renewal = stage.waits(b, worker_calls.renew(worker.id))
    a.commit()

    assert not renewal.result().alive


def test_a_renewal_that_waits_for_a_death_that_is_rolled_back_counts(
    store: Store, stage: Stage
) -> None:
    worker = make_worker(store)
    stage.expire(worker.id)
    a, b = stage.session(), stage.session()

    a(upkeep.recover())
    renewal = stage.waits(b, worker_calls.renew(worker.id))
    a.rollback()

    assert renewal.result().alive
    b.commit()
    assert store.recover().dead == ()


def test_a_renewal_between_the_look_and_the_death_saves_the_jobs(
    store: Store, stage: Stage
) -> None:
    job = make_job(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    stage.expire(worker.id)
    sweeper = stage.session()
    stage.stop_before("declare_dead", sweeper)

    sweep = stage.waits(sweeper, upkeep.recover())
    assert store.renew(worker.id).alive
    stage.go_on()

    assert sweep.result().dead == ()
    sweeper.commit()
    assert worker.finish(claimed).accepted == {job: State.COMPLETED}


def test_a_claim_does_not_wait_for_the_renewal_of_its_own_worker(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    worker = make_worker(store)
    a, b = stage.session(), stage.session()

    a(worker_calls.renew(worker.id))
    claim = stage.sent(b, worker_calls.claim(worker.id, 2))
    waited = stage.is_waiting(b, claim)
    a.commit()

    assert len(claim.result().jobs) == 1
    assert not waited, "a claim waited for somebody's lock"


@pytest.mark.parametrize("order", ["claim first", "goodbye first"])
def test_a_goodbye_against_a_claim_strands_no_job(store: Store, stage: Stage, order: str) -> None:
    job = make_job(store)
    worker = make_worker(store)
    a, b = stage.session(), stage.session()

    if order == "claim first":
        assert a(worker_calls.claim(worker.id, 1)).jobs
        goodbye = stage.waits(b, worker_calls.leave(worker.id))
        a.commit()
        goodbye.result()
    else:
        b(worker_calls.leave(worker.id))
        assert a(worker_calls.claim(worker.id, 1)).jobs == ()
        a.commit()
    b.commit()

    store.recover()
    assert stage.states(job) == ("pending",)
    assert make_worker(store).claim_one().id == job


def test_a_sweep_does_not_wait_for_another(store: Store, stage: Stage) -> None:
    store.recover()
    a, b = stage.session(), stage.session()

    a(upkeep.recover())
    second = stage.sent(b, upkeep.recover())
    waited = stage.is_waiting(b, second)
    a.commit()

    assert second.result().dead == ()
    assert not waited, "a sweep waited for another"
