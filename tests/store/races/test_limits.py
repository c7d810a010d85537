"""Grants against crashes, closings and other claims; reservations against reservations."""

from datetime import timedelta
from typing import Any

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Reason
from tenure.store.calls import control_calls, enqueue_calls, worker_calls
from tenure.store.outcomes import Ending, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import Worker, make_job, make_jobs, make_worker, promote
from tests.store.races.stage import Stage


def asking(worker: Worker, job: Claimed, **wanted: Any) -> Any:
    asks: list[Any] = [{"number": 1, **wanted}]
    return worker_calls.report(worker.id, [Report(job=job.id, token=job.token, asks=asks)])


def completed(job: Claimed) -> list[Ending]:
    return [Ending(job=job.id, token=job.token, outcome="completed")]


def test_two_claims_at_once_do_not_exceed_a_limit(store: Store, stage: Stage) -> None:
    store.set_limit("api", {"calls": {"amount": 3, "per": "10h"}})
    for _ in range(6):
        make_job(store, limits=["api"])
    mine, other = make_worker(store), make_worker(store)
    a, b = stage.session(), stage.session()
    first = a(worker_calls.claim(mine.id, 2)).jobs
    assert b(worker_calls.claim(other.id, 6)).jobs == ()  # the limit is locked: asked again soon
    b.commit()
    a.commit()
    assert 0 < (store.promote().next_due or 0) < 1 or store.limits()[0].names[0].waiting == 0
    promote(store)
    assert len(first) + len(other.claim(6)) == 3


def test_a_start_is_dated_by_its_own_limits(store: Store, stage: Stage) -> None:
    """Not by another limit of the claim, for which it had to wait afterwards."""
    for name in "ab":
        store.set_limit(name, {"calls": {"amount": 1, "per": "10h"}})
    first, other = [make_job(store, limits=[name]) for name in "ab"]
    promote(store)
    worker = make_worker(store)
    holder, claiming = stage.session(), stage.session()
    holder.connection.execute("SELECT pg_advisory_xact_lock(tenure.limit_class(), hashtext('b'))")
    claim = stage.waits(claiming, worker_calls.claim(worker.id, 2))
    holder.commit()
    claimed = [job.id for job in claim.result().jobs]
    claiming.commit()
    assert claimed in ([first, other], [first])  # a claim does not wait for long
    for job, name in zip(claimed, "ab", strict=False):
        taken = stage.one("SELECT refilled_at FROM tenure.limit_state WHERE name = %s", name)
        assert store.show(job).started_at == taken


def test_grant_and_crash_at_once_return_what_is_in_flight(store: Store, stage: Stage) -> None:
    store.set_limit("api", at_once=1)
    make_job(store)
    worker = make_worker(store, timedelta(hours=1))
    job = worker.claim_one()
    a, b = stage.session(), stage.session()
    assert a(asking(worker, job, limit="api")).answered[str(job.id)]["1"].granted
    # The job is locked by its own report: the crash is busy, and comes again.
    ending = Ending(job=job.id, token=job.token)
    assert b(worker_calls.crash(worker.id, [ending])).busy == (job.id,)
    a.commit()
    b(worker_calls.crash(worker.id, [ending]))
    b.commit()
    assert store.limits("api")[0].names[0].in_use == 0
    # In the other order the fence is gone: nothing is granted.
    assert store.of(store.tenant).report(worker.id, [Report(job=job.id, token=job.token)]).refused
    promote(store)
    again = worker.claim_one()
    b(worker_calls.crash(worker.id, [Ending(job=again.id, token=again.token)]))
    assert a(asking(worker, again, limit="api")).answered == {}
    b.commit()
    a.commit()
    assert store.limits("api")[0].names[0].in_use == 0


def test_a_line_that_forms_while_a_grant_is_returned_continues(store: Store, stage: Stage) -> None:
    store.set_limit("api", at_once=1)
    make_job(store, limits=["api"])
    worker = make_worker(store, timedelta(hours=1))
    job = worker.claim_one()
    late = make_job(store, limits=["api"])
    a, b = stage.session(), stage.session()
    a(worker_calls.finish(worker.id, completed(job)))
    assert b(worker_calls.claim(worker.id, 1)).jobs == ()  # it still counts the grant
    b.commit()
    a.commit()
    assert store.show(late).waiting is Reason.LIMIT
    promote(store)
    assert worker.claim_one().id == late


def test_a_line_that_forms_while_its_limit_is_opened_continues(store: Store, stage: Stage) -> None:
    store.set_limit("api", {"calls": {"amount": 100, "per": "1m"}})
    make_job(store, limits=["api"])
    worker = make_worker(store, timedelta(hours=1))
    worker.claim_one()
    late = make_job(store, limits=["api"])
    store.close_limit("api")
    promote(store)
    a = stage.session()
    assert a(worker_calls.claim(worker.id, 1)).jobs == ()  # it has read that the limit is closed
    store.open_limit("api")
    a.commit()
    assert store.show(late).waiting is Reason.LIMIT
    promote(store)
    assert worker.claim_one().id == late


def test_a_claim_does_not_pass_all_jobs_of_a_locked_limit(store: Store, stage: Stage) -> None:
    """It would read and lock them all, and other claims would find none until it commits."""
    store.set_limit("api", {"calls": {"amount": 1000, "per": "1s"}})
    for _ in range(3):
        store.enqueue([NewJob(task="work", limits=["api"])] * 1000)
    worker = make_worker(store, timedelta(hours=1))
    holder, claiming = stage.session(), stage.session()
    holder.connection.execute("SELECT pg_advisory_xact_lock(tenure.limit_class(), hashtext('api'))")
    assert claiming(worker_calls.claim(worker.id, 1)).jobs == ()
    free = "SELECT id FROM tenure.job WHERE ready FOR UPDATE SKIP LOCKED"
    passed = 3000 - stage.one(f"WITH free AS ({free}) SELECT count(*) FROM free")
    assert 0 < passed <= 1500
    claiming.commit()
    holder.commit()
    assert len(worker.claim(10)) == 10


def test_a_job_enqueued_into_a_line_that_ends_meanwhile_starts(store: Store, stage: Stage) -> None:
    store.set_limit("api", at_once=1)
    make_job(store, limits=["api"])
    make_job(store, limits=["api"])
    worker = make_worker(store, timedelta(hours=1))
    job = worker.claim_one()
    worker.claim(1)
    a = stage.session()
    late = a(enqueue_calls.enqueue(NewJob(task="work", limits=["api"])))[0].id
    worker.finish(job)
    promote(store)
    worker.finish(worker.claim_one())
    promote(store)
    a.commit()
    assert store.show(late).waiting is Reason.LIMIT
    promote(store)
    assert worker.claim_one().id == late


def test_close_and_grant_at_once_grant_nothing_after_the_close(store: Store, stage: Stage) -> None:
    store.set_limit("api", at_once=5)
    make_job(store)
    make_job(store)
    worker = make_worker(store, timedelta(hours=1))
    one, two = worker.claim(2)
    a, b = stage.session(), stage.session()
    assert a(asking(worker, one, limit="api")).answered[str(one.id)]["1"].granted
    # It waits for the grant that has read that the limit is open.
    closing = stage.waits(b, control_calls.close_limit("api"))
    a.commit()
    closing.result(timeout=10)
    assert not a(asking(worker, two, limit="api")).answered[str(two.id)]["1"].granted
    b.commit()
    a.commit()
    answer = store.send(asking(worker, two, limit="api")).answered[str(two.id)]["1"]
    assert not answer.granted


def test_two_reservations_at_once_do_not_exceed_the_budget(store: Store, stage: Stage) -> None:
    jobs = [NewJob(key="top", budget={"tokens": 100})]
    jobs += [NewJob(key=f"child-{at}", parent="top", task="work") for at in range(2)]
    make_jobs(store, jobs)
    worker = make_worker(store, timedelta(hours=1))
    other = make_worker(store, timedelta(hours=1))
    one, two = worker.claim_one(), other.claim_one()
    a, b = stage.session(), stage.session()
    first = a(asking(worker, one, reserve={"tokens": 60})).answered[str(one.id)]["1"]
    second = b(asking(other, two, reserve={"tokens": 60})).answered[str(two.id)]["1"]
    b.commit()
    a.commit()
    assert (first.granted, second.granted) == (True, False)
    assert second.wait > 0
    assert (
        not store.send(asking(other, two, reserve={"tokens": 60}))
        .answered[str(two.id)]["1"]
        .granted
    )
