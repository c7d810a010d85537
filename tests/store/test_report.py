"""report: what running jobs have to say, many at once, fenced; and what they spend."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import InputRefused
from tenure.store.outcomes import Artifact, LogLine, Report
from tenure.store.results import Claimed, Reported
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import Worker, make_job, make_jobs, make_worker, promote


def running(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    promote(store)
    worker = make_worker(store, timedelta(hours=1))
    return worker, worker.claim_one()


def report(worker: Worker, job: Claimed, **told: Any) -> Reported:
    return worker.store.report(worker.id, [Report(job=job.id, token=job.token, **told)])


def values(store: Store, job: int) -> list[Any]:
    return [kept["value"] for kept in store.job_output(job, "partials")]


def test_progress_and_checkpoint_are_the_last_that_was_said(store: Store) -> None:
    worker, job = running(store)
    assert report(worker, job, progress={"done": 1}, checkpoint=[1]).accepted == (job.id,)
    report(worker, job, progress={"done": 2})
    report(worker, job, checkpoint={"found": [2]})
    shown = store.show(job.id)
    assert (shown.progress, shown.checkpoint) == ({"done": 2}, {"found": [2]})


def test_a_checkpoint_survives_a_crash_and_comes_with_the_next_claim(store: Store) -> None:
    worker, job = running(store)
    report(worker, job, checkpoint={"page": 7}, partials=["kept"])
    worker.crash(job)
    promote(store)
    assert worker.claim_one().checkpoint == {"page": 7}
    assert values(store, job.id) == ["kept"]


def test_partial_results_are_appended_in_order(store: Store) -> None:
    worker, job = running(store)
    report(worker, job, partials=[1, {"two": 2}])
    report(worker, job, partials=[None, [3]])
    assert values(store, job.id) == [1, {"two": 2}, None, [3]]
    assert store.show(job.id).partials == 4


def test_log_lines_keep_their_order_their_level_and_their_time(store: Store) -> None:
    worker, job = running(store)
    at = datetime(2024, 2, 29, 12, tzinfo=UTC)
    report(worker, job, logs=[LogLine("first"), LogLine("second", "error", at)])
    first, second = store.job_output(job.id, "logs")
    assert (first["line"], first["level"]) == ("first", "info")
    assert (second["line"], second["level"]) == ("second", "error")
    assert datetime.fromisoformat(second["at"]) == at


def test_artifacts_are_kept_by_name(store: Store) -> None:
    worker, job = running(store)
    report(worker, job, artifacts=[Artifact("a", "file:///a", 1), Artifact("b", "file:///b", 2)])
    report(worker, job, artifacts=[Artifact("a", "file:///a2", 3)])
    kept = [(a["name"], a["url"], a["size"]) for a in store.show(job.id).artifacts]
    assert kept == [("a", "file:///a2", 3), ("b", "file:///b", 2)]


def test_many_reports_are_answered_each_for_itself(store: Store) -> None:
    for _ in range(3):
        make_job(store)
    worker = make_worker(store)
    one, two, three = worker.claim(3)
    worker.finish(three)
    told = [
        Report(job=job.id, token=job.token, progress={"n": job.id}) for job in (one, two, three)
    ]

    reported = store.report(worker.id, told)

    assert sorted(reported.accepted) == [one.id, two.id]
    assert reported.refused == (three.id,)
    assert [store.show(job.id).progress for job in (one, two)] == [{"n": one.id}, {"n": two.id}]


def test_one_job_may_report_twice_in_one_call(store: Store) -> None:
    worker, job = running(store)
    reported = store.report(
        worker.id,
        [
            Report(job=job.id, token=job.token, progress={"done": n}, partials=[n], checkpoint=n)
            for n in (1, 2)
        ],
    )
    assert set(reported.accepted) == {job.id}
    shown = store.show(job.id)
    assert (shown.progress, shown.checkpoint) == ({"done": 2}, 2)
    assert values(store, job.id) == [1, 2]


def test_a_report_of_an_earlier_attempt_is_refused_beside_one_of_the_current(store: Store) -> None:
    worker, old = running(store)
    worker.crash(old)
    new = worker.claim_one()
    told = [Report(job=job.id, token=job.token, partials=[job.attempt]) for job in (old, new)]
    store.report(worker.id, told)
    assert values(store, new.id) == [2]
    assert store.statistics().refused == 1


def test_an_artifact_named_twice_in_one_report_is_the_last(store: Store) -> None:
    worker, job = running(store)
    report(worker, job, artifacts=[Artifact("a", "file:///1", 1), Artifact("a", "file:///2", 2)])
    assert [a["url"] for a in store.show(job.id).artifacts] == ["file:///2"]


@pytest.mark.parametrize("wrong", ["token", "worker", "state", "dead"])
def test_a_report_without_the_fence_changes_nothing_and_is_kept_as_an_event(
    store: Store, sql: psycopg.Connection, wrong: str
) -> None:
    worker, job = running(store)
    speaker = make_worker(store) if wrong == "worker" else worker
    if wrong == "state":
        worker.finish(job, "failed")
    if wrong == "dead":
        sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()")
    told = Report(
        job=job.id,
        token=job.token + (wrong == "token"),
        progress={"done": 1},
        checkpoint=1,
        partials=[1],
        logs=[LogLine("x")],
        artifacts=[Artifact("a", "file:///a", 1)],
    )

    reported = store.report(speaker.id, [told])

    assert (reported.accepted, reported.refused, reported.busy) == ((), (job.id,), ())
    shown = store.show(job.id)
    assert (shown.progress, shown.checkpoint, shown.partials, shown.artifacts) == (
        None,
        None,
        0,
        (),
    )
    assert store.job_output(job.id, "logs") == ()
    assert store.statistics().refused == 1
    assert [event["detail"]["outcome"] for event in store.job_output(job.id, "events")] == [
        "report"
    ]


def test_a_job_that_was_asked_to_stop_may_still_report(store: Store) -> None:
    worker, job = running(store)
    store.stop(job.id)
    assert report(worker, job, partials=["saved"]).accepted == (job.id,)
    assert values(store, job.id) == ["saved"]


@pytest.mark.parametrize("table", ["job", "worker"])
def test_a_report_on_a_locked_row_is_busy_and_counts_once_when_resent(
    store: Store, connect: Connect, table: str
) -> None:
    worker, job = running(store)
    other = connect()
    other.execute(f"SELECT FROM tenure.{table} FOR UPDATE".encode())
    reported = report(worker, job, partials=[1], spent={"tokens": 5})
    assert (reported.accepted, reported.refused, reported.busy) == ((), (), (job.id,))
    other.rollback()
    assert report(worker, job, partials=[1], spent={"tokens": 5}).accepted == (job.id,)
    assert values(store, job.id) == [1]
    assert store.show(job.id).spent == {"tokens": 5}


def test_a_budget_is_exhausted_by_more_than_its_limit_and_not_by_as_much(store: Store) -> None:
    worker, job = running(store, budget={"tokens": 100, "money": 0.3})
    assert report(worker, job, spent={"tokens": 60, "money": 0.1}).exhausted == ()
    assert report(worker, job, spent={"tokens": 40, "money": 0.2}).exhausted == ()
    (exhausted,) = report(worker, job, spent={"tokens": 0.5}).exhausted
    assert exhausted.job_id == job.id
    assert "100 tokens" in exhausted.message
    assert "100.5" in exhausted.message
    assert store.show(job.id).spent == {"tokens": 100.5, "money": pytest.approx(0.3)}
    assert store.show(job.id).state is State.RUNNING  # the keeper stops it


def test_a_budget_of_zero_is_exhausted_by_anything_and_a_unit_without_a_limit_by_nothing(
    store: Store,
) -> None:
    worker, job = running(store, budget={"money": 0})
    assert report(worker, job, spent={"money": 0, "tokens": 10**12}).exhausted == ()
    assert len(report(worker, job, spent={"money": 0.0001}).exhausted) == 1


def test_spending_counts_for_everything_above_and_any_of_their_budgets_is_exhausted(
    store: Store,
) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="top", budget={"tokens": 10}),
            NewJob(key="middle", parent="top"),
            NewJob(key="one", parent="middle", task="work", budget={"tokens": 100}),
            NewJob(key="two", parent="middle", task="work"),
        ],
    )
    one_worker, two_worker = make_worker(store), make_worker(store)
    one, two = one_worker.claim_one(), two_worker.claim_one()
    assert report(one_worker, one, spent={"tokens": 6}).exhausted == ()
    (exhausted,) = report(two_worker, two, spent={"tokens": 5}).exhausted
    assert exhausted.job_id == two.id
    assert "10 tokens" in exhausted.message
    spent = {key: store.show(job).spent.get("tokens") for key, job in ids.items()}
    assert spent == {"top": 11, "middle": 11, "one": 6, "two": 5}
    assert store.statistics().refused == 0


@pytest.mark.parametrize("late", ["crashed", "finished", "dead"])
def test_spending_is_recorded_even_when_the_rest_is_refused(
    store: Store, sql: psycopg.Connection, late: str
) -> None:
    worker, job = running(store, budget={"tokens": 10})
    if late == "crashed":
        worker.crash(job)
    elif late == "finished":
        worker.finish(job)
    else:
        sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()")
    reported = report(worker, job, spent={"tokens": 11}, progress={"done": 1})
    assert reported.refused == (job.id,)
    assert len(reported.exhausted) == 1
    assert store.show(job.id).spent == {"tokens": 11}
    assert store.show(job.id).progress is None


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf"), "many"])
def test_spending_that_is_no_amount_is_refused_and_nothing_is_kept(
    store: Store, amount: Any
) -> None:
    worker, job = running(store)
    with pytest.raises(InputRefused):
        report(worker, job, spent={"tokens": amount}, progress={"done": 1})
    assert store.show(job.id).spent == {}
    assert store.show(job.id).progress is None


def test_a_stopped_job_over_its_budget_ends_failed_with_its_partials(store: Store) -> None:
    worker, job = running(store, budget={"tokens": 10})
    report(worker, job, spent={"tokens": 11}, partials=[1])
    store.stop(job.id, reason="budget", by="policy:budget")
    assert worker.finish(job, "stopped", heard=True).accepted == {job.id: State.FAILED}
    assert "budget of 10 tokens exceeded" in (store.show(job.id).error_message or "")
    assert values(store, job.id) == [1]


def test_a_running_job_takes_a_slot_and_gives_it_back(store: Store) -> None:
    store.create_pool("trees", ["t1"])
    worker, job = running(store)
    make_job(store)
    other = worker.claim_one()
    assert report(worker, job, take=["trees"]).granted == {str(job.id): {"trees": "t1"}}
    assert store.show(job.id).slots == ("trees/t1",)
    assert report(worker, other, take=["trees"]).granted == {}
    report(worker, job, give=["trees"])
    assert report(worker, other, take=["trees"]).granted == {str(other.id): {"trees": "t1"}}
    worker.finish(other)
    assert store.pools("trees")[0].slots[0].job_id is None


def test_a_job_holds_one_slot_of_a_pool_however_often_it_asks(store: Store) -> None:
    store.create_pool("trees", ["t1", "t2"])
    worker, job = running(store, pools=["trees"])
    assert job.slots == {"trees": "t1"}
    report(worker, job, take=["trees"])
    assert store.show(job.id).slots == ("trees/t1",)


def test_who_has_lost_the_job_neither_takes_nor_gives_a_slot(store: Store) -> None:
    store.create_pool("trees", ["t1", "t2"])
    _, job = running(store, pools=["trees"])
    stranger = make_worker(store)
    assert report(stranger, job, take=["trees"], give=["trees"]).granted == {}
    assert store.show(job.id).slots == ("trees/t1",)


def test_artifacts_that_were_deleted_are_forgotten_and_those_of_others_are_not(
    store: Store,
) -> None:
    worker, job = running(store)
    report(worker, job, artifacts=[Artifact("a", "file:///a", 1)])
    stale = Report(job=job.id, token=job.token + 1, forget_artifacts=True)
    assert store.report(worker.id, [stale]).refused == (job.id,)
    assert len(store.show(job.id).artifacts) == 1
    report(worker, job, forget_artifacts=True)
    assert store.show(job.id).artifacts == ()


def test_a_resent_report_is_recorded_once_and_answered_as_before(store: Store) -> None:
    worker, job = running(store, budget={"tokens": 1})
    told = Report(job=job.id, token=job.token, partials=[1], spent={"tokens": 2})

    first = store.report(worker.id, [told], number=1)
    again = store.report(worker.id, [told], number=1)

    assert again == first
    assert first.exhausted != ()
    shown = store.show(job.id)
    assert (shown.partials, shown.spent) == (1, {"tokens": 2})
    store.report(worker.id, [told], number=2)
    assert store.show(job.id).partials == 2


def test_a_resent_report_waits_for_the_first_try(store: Store, connect: Connect) -> None:
    worker, job = running(store)
    told = [{"job": job.id, "token": job.token, "partials": [1]}]
    query = "SELECT tenure.report(%s, %s::jsonb, 1)"
    one, two = connect(), connect()
    one.execute(query, (worker.id, json.dumps(told)))
    two.execute("SET LOCAL lock_timeout = '200ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        two.execute(query, (worker.id, json.dumps(told)))
    two.rollback()
    one.commit()
    two.execute(query, (worker.id, json.dumps(told)))
    two.commit()
    assert store.show(job.id).partials == 1
