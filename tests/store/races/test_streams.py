"""Streams against reports and ends of their jobs, and resumes with values against each other."""

from typing import Any

import pytest

from tenure.domain.lifecycle import State
from tenure.errors import IllegalTransition
from tenure.store.calls import control_calls, queries, worker_calls
from tenure.store.outcomes import Ending, Report
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_worker, promote
from tests.store.races.stage import Stage


def test_the_end_of_a_job_is_seen_with_all_its_output(store: Store, stage: Stage) -> None:
    """A reader that comes back at the moment of the end gets both or neither."""
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    a = stage.session()

    def seen() -> tuple[Any, ...]:
        found = store.send(queries.stream(job.id, 0))
        return found.state, [item.value for item in found.items], found.newest > 0

    a(worker_calls.report(worker.id, [Report(job=job.id, token=job.token, partials=["last"])]))
    assert seen() == (State.RUNNING, [], False)
    a(worker_calls.finish(worker.id, [Ending(job=job.id, token=job.token, outcome="completed")]))
    assert seen() == (State.RUNNING, [], False)
    a.commit()
    assert seen() == (State.COMPLETED, ["last"], True)


def test_numbers_that_are_rolled_back_are_skipped(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    a = stage.session()
    lost = worker_calls.report(worker.id, [Report(job=job.id, token=job.token, partials=["lost"])])
    a(lost)
    a.rollback()
    a(worker_calls.report(worker.id, [Report(job=job.id, token=job.token, partials=["kept"])]))
    a.commit()
    found = store.send(queries.stream(job.id, 0))
    assert [item.value for item in found.items] == ["kept"]
    assert store.send(queries.stream(job.id, found.newest)).items == ()


def test_of_two_resumes_with_values_one_counts(store: Store, stage: Stage) -> None:
    job = make_job_in(store, State.PAUSED)
    a, b = stage.session(), stage.session()

    a(control_calls.resume(job, value='"first"'))
    second = stage.waits(b, control_calls.resume(job, value='"second"'))
    a.commit()

    with pytest.raises(IllegalTransition):
        second.result()
    b.rollback()
    promote(store)
    assert make_worker(store).claim_one().raw_resume_value == b'"first"'
