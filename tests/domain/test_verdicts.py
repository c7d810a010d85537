"""What becomes of a job follows from how its attempt ended."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.domain.lifecycle import TRANSITIONS, Intent, Rung, State, Verb
from tenure.domain.retry import Retry
from tests.model.verdicts import (
    Attempt,
    Completed,
    Crashed,
    Expired,
    Failed,
    JobError,
    Outcome,
    Released,
    Stopped,
    verdict,
)

ERROR = JobError("ValueError", "no such page")
FIRST = Attempt(attempt=1, max_attempts=4, retry=Retry(max=3, base="2s", jitter=0.5))
LAST = replace(FIRST, attempt=4)

RETRIES = [Failed(ERROR), Crashed(ERROR), Expired(ERROR)]
GIVE_WAY = [*RETRIES, Released(), Released("children"), Stopped(Intent.PAUSE, Rung.KILLED)]

attempts = st.builds(
    Attempt,
    attempt=st.integers(1, 5),
    max_attempts=st.integers(1, 5),
    retry=st.sampled_from([Retry(), Retry(never=["ValueError"])]),
    stop=st.none() | st.sampled_from(Intent),
    heard=st.booleans(),
    overrun=st.booleans(),
    orphan_fails=st.booleans(),
)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Completed, st.integers()),
    st.sampled_from([Failed(ERROR), Failed(JobError("KeyError", "x"))]),
    st.builds(Stopped, st.sampled_from(Intent), st.sampled_from(Rung)),
    st.sampled_from([Released(), Released("children")]),
    st.just(Crashed(ERROR)),
    st.just(Expired(ERROR)),
)


def test_a_value_completes_the_job() -> None:
    assert verdict(FIRST, Completed(5)).verb == Verb.COMPLETE


def test_a_failure_is_tried_again_after_its_delay() -> None:
    assert verdict(FIRST, Failed(ERROR)).verb == Verb.RETRY
    assert verdict(FIRST, Failed(ERROR)).delay == timedelta(seconds=2)
    assert verdict(FIRST, Failed(ERROR), luck=1).delay == timedelta(seconds=1)


@pytest.mark.parametrize("outcome", [Crashed(ERROR), Expired(ERROR)])
def test_a_crash_is_tried_again_at_once(outcome: Outcome) -> None:
    assert verdict(FIRST, outcome).verb == Verb.RETRY
    assert verdict(FIRST, outcome).delay is None


@pytest.mark.parametrize("outcome", RETRIES)
def test_the_last_attempt_is_not_tried_again(outcome: Outcome) -> None:
    assert verdict(LAST, outcome).verb == Verb.FAIL


def test_an_error_not_worth_another_attempt_fails_at_once() -> None:
    picky = replace(FIRST, retry=Retry(never=["ValueError"]))
    assert verdict(picky, Failed(ERROR)).verb == Verb.FAIL
    assert verdict(picky, Failed(JobError("OSError", "cut off"))).verb == Verb.RETRY
    assert verdict(picky, Crashed(ERROR)).verb == Verb.RETRY


@pytest.mark.parametrize("attempt", [FIRST, LAST])
def test_what_is_given_back_is_pending_again_on_any_attempt(attempt: Attempt) -> None:
    assert verdict(attempt, Released()).state == State.PENDING
    assert verdict(attempt, Released("children")).verb == Verb.RELEASE


def test_an_orphan_that_may_not_be_tried_again_fails() -> None:
    careful = replace(FIRST, orphan_fails=True)
    assert verdict(careful, Expired(ERROR)).verb == Verb.FAIL
    assert verdict(careful, Crashed(ERROR)).verb == Verb.RETRY


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("outcome", GIVE_WAY)
@pytest.mark.parametrize("intent", Intent)
def test_a_retry_a_crash_and_a_release_always_give_way_to_a_stop(
    intent: Intent, outcome: Outcome, heard: bool
) -> None:
    judged = verdict(replace(FIRST, stop=intent, heard=heard), outcome)
    assert judged.verb == Verb(intent)
    assert judged.intent == intent


@pytest.mark.parametrize("outcome", [Completed(5), Failed(ERROR)])
@pytest.mark.parametrize("intent", Intent)
def test_a_job_that_heard_of_the_stop_ends_as_the_stop_wants(
    intent: Intent, outcome: Outcome
) -> None:
    assert verdict(replace(LAST, stop=intent, heard=True), outcome).verb == Verb(intent)


@pytest.mark.parametrize(
    ("outcome", "verb"), [(Completed(5), Verb.COMPLETE), (Failed(ERROR), Verb.FAIL)]
)
@pytest.mark.parametrize("overrun", [True, False])
@pytest.mark.parametrize("intent", Intent)
def test_a_job_that_never_heard_of_the_stop_keeps_its_result_or_its_final_failure(
    intent: Intent, overrun: bool, outcome: Outcome, verb: Verb
) -> None:
    judged = verdict(replace(LAST, stop=intent, overrun=overrun), outcome)
    assert judged.verb == verb
    assert judged.intent is None


@pytest.mark.parametrize("outcome", [*GIVE_WAY, Completed(5)])
@pytest.mark.parametrize("intent", Intent)
def test_a_stopped_job_over_its_budget_ends_failed(intent: Intent, outcome: Outcome) -> None:
    judged = verdict(replace(FIRST, stop=intent, heard=True, overrun=True), outcome)
    assert judged.verb == Verb.FAIL
    assert judged.intent == intent


def test_a_worker_that_leaves_may_pause_its_jobs_without_a_record() -> None:
    pause = Stopped(Intent.PAUSE, Rung.KILLED)
    assert verdict(FIRST, pause).verb == Verb.PAUSE
    assert verdict(replace(FIRST, overrun=True), pause).verb == Verb.FAIL


def test_a_cancellation_that_nobody_asked_for_fails_the_job() -> None:
    assert verdict(FIRST, Stopped(Intent.CANCEL, Rung.INTERRUPTED)).verb == Verb.FAIL


@given(attempts, outcomes, st.floats(0, 1))
def test_every_ending_has_a_verdict_that_is_legal_from_running(
    attempt: Attempt, outcome: Outcome, luck: float
) -> None:
    judged = verdict(attempt, outcome, luck)
    assert judged.state == TRANSITIONS[State.RUNNING, judged.verb]
    assert judged.delay is None or judged.verb == Verb.RETRY


@given(attempts, outcomes)
def test_no_verdict_spends_more_attempts_than_there_are(attempt: Attempt, outcome: Outcome) -> None:
    if verdict(attempt, outcome).verb == Verb.RETRY:
        assert attempt.attempt < attempt.max_attempts


@given(attempts, outcomes)
def test_only_a_stop_cancels_a_job(attempt: Attempt, outcome: Outcome) -> None:
    if verdict(attempt, outcome).verb == Verb.CANCEL:
        assert attempt.stop == Intent.CANCEL
