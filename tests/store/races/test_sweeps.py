"""Sweeps that others have starved, repeated or let one bad row stop."""

import pytest

from tenure.domain.lifecycle import State
from tenure.store.calls import upkeep, worker_calls
from tenure.store.store import Store
from tests.factories import ending, make_job, make_worker
from tests.store.races.stage import Stage


@pytest.fixture
def poison(stage: Stage) -> str:
    """A task whose jobs cannot be taken back."""
    stage.sql.execute("""
        CREATE SCHEMA IF NOT EXISTS tenure_test;
        CREATE FUNCTION tenure_test.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF old.priority = -1 AND old.state = 'running' THEN
                RAISE EXCEPTION 'this row cannot be taken back';
            END IF;
            RETURN new;
        END $$;
        CREATE TRIGGER poison BEFORE UPDATE ON tenure.job
        FOR EACH ROW EXECUTE FUNCTION tenure_test.refuse();
    """)
    stage.later("DROP FUNCTION tenure_test.refuse CASCADE")
    return "poison"


def test_many_jobs_that_cannot_be_taken_back_do_not_starve_one_that_can(
    store: Store, stage: Stage, poison: str
) -> None:
    worker = make_worker(store)
    for _ in range(1_001):
        make_job(store, poison, priority=-1)
    orphan = make_job(store, priority=-2)
    assert len(worker.claim(2_000)) == 1_002
    stage.expire(worker.id)

    swept = store.recover()

    assert [taken.job for taken in swept.recovered] == [orphan]
    assert len(swept.failed) == 1_001
    assert stage.states(orphan) == ("pending",)


def test_many_orphans_that_somebody_has_locked_do_not_starve_one_that_is_free(
    store: Store, stage: Stage
) -> None:
    worker = make_worker(store)
    for _ in range(20):
        make_job(store)
    *locked, free = sorted(job.id for job in worker.claim(20))
    stage.expire(worker.id)
    a = stage.session()
    a.connection.execute("SELECT FROM tenure.job WHERE id = ANY (%s) FOR UPDATE", (locked,))

    answer = stage.one("SELECT tenure.recover(n => 3)")
    a.rollback()

    assert [taken["job"] for taken in answer["recovered"]] == [free]
    assert sorted(answer["busy"]) == locked
    assert len(store.recover().recovered) == 19


def test_two_sweeps_take_a_job_back_once(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    store.recover(ids=[])
    a, b = stage.session(), stage.session()
    stage.stop_before("declare_dead", b)

    second = stage.waits(b, upkeep.recover())
    first = a(upkeep.recover())
    stage.go_on()
    a.commit()
    again = second.result()
    b.commit()

    assert [taken.job for taken in first.recovered] == [job.id]
    assert again.recovered == ()
    kept = store.show(job.id)
    assert (kept.attempt, kept.crashes) == (0, 1)
    assert [event["kind"] for event in store.job_output(job.id, "events")] == ["recovered"]


def test_a_job_is_never_both_finished_and_recovered(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    finishing, sweeping = stage.session(), stage.session()
    stage.stop_before("release_holds", finishing)

    finish = stage.waits(finishing, worker_calls.finish(worker.id, [ending(job, value=1)]))
    assert sweeping(upkeep.recover()).recovered == ()
    sweeping.commit()
    stage.go_on()
    assert finish.result().accepted == {job.id: State.COMPLETED}
    finishing.commit()

    assert store.recover().recovered == ()
    assert stage.states(job.id) == ("completed",)
    assert store.show(job.id).error is None


def test_a_worker_that_comes_back_under_its_host_and_pid_is_another(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    dead = make_worker(store)
    job = dead.claim_one()
    stage.expire(dead.id)
    reborn = make_worker(store)

    assert store.renew(reborn.id).alive
    assert [gone.worker_id for gone in store.recover().dead] == [dead.id]
    assert reborn.finish(job).refused == (job.id,)
    assert store.held(reborn.id) == ()
    assert reborn.claim_one().id == job.id


def test_a_job_whose_runs_all_crash_fails_after_exactly_its_attempts(
    store: Store, stage: Stage
) -> None:
    job = make_job(store, max_attempts=3)
    runs = 0
    while claimed := (worker := make_worker(store)).claim():
        runs += 1
        if runs % 2:
            worker.crash(*claimed)
        else:
            stage.expire(worker.id)
            store.recover()

    assert runs == 3
    assert stage.states(job) == ("failed",)
    assert store.show(job).crashes == 3


def test_a_claim_whose_answer_was_lost_is_found_again(store: Store, stage: Stage) -> None:
    job = make_job(store)
    worker = make_worker(store)
    a = stage.session()
    a(worker_calls.claim(worker.id, 1))
    a.commit()  # and nobody read the answer

    (held,) = store.held(worker.id)

    assert held.job == job
    assert worker.claim() == ()


def test_a_sweep_that_was_away_declares_nobody_dead_for_one_lease(
    store: Store, stage: Stage
) -> None:
    worker = make_worker(store)
    store.recover()
    stage.sql.execute("UPDATE tenure.last_sweep SET swept_at = swept_at - interval '1 h'")
    stage.expire(worker.id)

    assert store.recover().dead == ()
    assert store.recover().blind_until is not None
    assert store.renew(worker.id).alive
