"""Policies: which jobs each condition reaches, and how they are stopped."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Principal, Role
from tenure.errors import InputRefused, JobNotFound, NotAllowed, NotFound
from tenure.store.calls import policy_calls, upkeep
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.conftest import Connect
from tests.domain.test_policies import READ
from tests.domain.test_policies import REFUSED as REFUSED_IN_PYTHON
from tests.factories import Worker, make_job, make_jobs, make_worker, promote
from tests.store.races.stage import Session

HOUR = timedelta(hours=1)
OWN_NAMES = ("timeout", "memory", "deadline", "budget", "preemption")


def enforce(store: Store, spec: Mapping[str, Any], name: str = "rule") -> set[int]:
    """The jobs that a policy stops at one look."""
    before = {record.cancellation_id for record in store.cancellations(1000)}
    store.set_policy(name, spec)
    store.enforce_policies()
    records = [it for it in store.cancellations(1000) if it.cancellation_id not in before]
    assert {it.initiated_by for it in records} <= {f"policy:{name}"}
    return {it.task_id or it.job_id for it in records}


def age(sql: psycopg.Connection, column: str, job: int, hours: float) -> None:
    moment = f"tenure.now() - interval '{hours} hours'"
    sql.execute(f"UPDATE tenure.job SET {column} = {moment} WHERE id = %s".encode(), (job,))


# What each condition reaches.


def test_by_age_what_was_created_before(store: Store, sql: psycopg.Connection) -> None:
    old, _young = make_job(store), make_job(store)
    age(sql, "created_at", old, 2)
    assert enforce(store, {"when": {"age": "1h"}}) == {old}
    assert store.show(old).cancellation_reason == "it is older than 1h"
    assert store.show(old).cancelled_by == "policy:rule"


def test_by_running_what_was_started_before(store: Store, sql: psycopg.Connection) -> None:
    jobs = [make_job(store) for _ in range(3)]
    worker = make_worker(store)
    running, young = worker.claim(2)
    for job in jobs:
        age(sql, "created_at", job, 9)
    age(sql, "started_at", running.id, 2)
    assert enforce(store, {"when": {"running": "1h"}}) == {running.id}
    assert store.show(running.id).status == "cancelling"
    assert store.show(young.id).status == "running"


def test_by_waiting_what_could_have_run(store: Store, sql: psycopg.Connection) -> None:
    first, queued, _young = make_job(store), make_job(store), make_job(store)
    blocker, blocked = (make_job(store, target="t") for _ in range(2))
    later = make_job(store, delay=10 * HOUR)
    group = make_jobs(store, [NewJob(key="group"), NewJob(task="work", parent="group", key="a")])
    linked = make_job(store, after=[later])
    promote(store)
    claimed = {job.id for job in make_worker(store).claim(1)}
    assert claimed == {first}
    for job in (first, queued, blocked, linked, group["group"]):
        age(sql, "run_at", job, 2)
    assert store.show(blocker).status == "queued"
    assert enforce(store, {"when": {"waiting": "1h"}}) == {queued, blocked, linked}


def test_at_a_moment_once(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store)
    soon = datetime.now(UTC) + HOUR
    assert enforce(store, {"filter": {"id": job}, "when": {"at": soon}}) == set()
    [policy] = store.policies()
    assert policy.checked_at is None
    past = {"filter": {"id": job}, "when": {"at": soon - 2 * HOUR}}
    assert enforce(store, past) == {job}
    assert store.policies() == ()
    assert store.show(make_job(store)).status == "queued"
    [dropped] = [row for row in store.audit_log("policy", "rule") if row.verb == "drop"]
    assert (dropped.actor, dropped.before["stopped"]) == ("policy:rule", 1)


def test_a_moment_that_comes_after_the_end_of_the_job_is_over_too(store: Store) -> None:
    job = make_job(store)
    store.stop(job)
    past = datetime.now(UTC) - HOUR
    assert enforce(store, {"filter": {"id": job}, "when": {"at": past}}) == set()
    assert store.policies() == ()


def spend(worker: Worker, job: Claimed, **spent: float) -> None:
    worker.store.report(worker.id, [Report(job=job.id, token=job.token, spent=spent)])


@pytest.mark.parametrize(
    ("condition", "reached"),
    [
        ({"tokens": 0.9}, {"near"}),
        ({"tokens": 0.5}, {"half", "near"}),
        ({"tokens": {"above": 49}}, {"half", "near", "free"}),
        ({"tokens": {"above": 50}}, {"near", "free"}),
        ({"tokens": 0.5, "money": {"above": 1}}, {"near"}),
        ({"money": 0.1}, set()),
    ],
)
def test_by_what_is_spent_of_a_budget(
    store: Store, condition: dict[str, Any], reached: set[str]
) -> None:
    names = ("half", "near", "free", "none")
    for name in names:
        make_job(store, key=name, budget=None if name == "free" else {"tokens": 100})
    worker = make_worker(store)
    jobs = dict(zip(names, worker.claim(4), strict=True))
    spend(worker, jobs["half"], tokens=50)
    spend(worker, jobs["near"], tokens=90, money=2)
    spend(worker, jobs["free"], tokens=1000)
    found = enforce(store, {"when": {"budget": condition}})
    assert found == {jobs[name].id for name in reached}


def test_what_is_spent_below_counts_above(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="top", budget={"tokens": 100}),
            NewJob(task="work", parent="top", key="child"),
        ],
    )
    worker = make_worker(store)
    spend(worker, worker.claim_one(), tokens=95)
    assert enforce(store, {"when": {"budget": {"tokens": 0.9}}}) == {ids["top"]}


def test_by_a_parent_that_failed(store: Store) -> None:
    parents = [make_job(store) for _ in range(2)]
    worker = make_worker(store)
    claimed = worker.claim(2)
    children = [make_job(store, parent=parent) for parent in parents]
    promote(store)
    worker.finish(claimed[0], "failed", error={"type": "x", "message": "no"})
    worker.finish(claimed[1])
    assert enforce(store, {"when": {"parent_failed": True}}) == {children[0]}
    assert store.show(children[0]).cancellation_reason == "its parent failed"


def test_by_a_newer_job_of_the_same_key(store: Store) -> None:
    old, new = make_job(store, key="site"), make_job(store, key="site")
    make_job(store, key="other")
    make_job(store)
    # Tasks of two jobs have the same names, and know nothing of each other.
    for parent in [make_job(store, task=None) for _ in range(2)]:
        make_job(store, parent=parent, key="part")
    make_job(store, key="newest was cancelled")
    store.stop(make_job(store, key="newest was cancelled"))
    found = enforce(store, {"filter": {"key": "site"}, "when": {"superseded": True}})
    assert found == {old}
    assert store.show(new).status == "queued"
    for key in ("other", "part", "newest was cancelled"):
        assert enforce(store, {"filter": {"key": key}, "when": {"superseded": True}}) == set()


def end(worker: Worker, outcome: Any, n: int) -> None:
    for job in worker.claim(n):
        worker.finish(job, outcome, error={"message": "no"} if outcome == "failed" else None)


@pytest.mark.parametrize(
    ("rate", "reached"),
    [
        ({"above": 0.5, "of": 4}, True),
        ({"above": 0.75, "of": 4}, False),
        ({"above": 0.7, "of": 4}, True),
        ({"above": 0.5, "of": 6}, False),  # of six the half failed, and that is not more
        ({"above": 0.4, "of": 6}, True),
        ({"above": 0.1, "of": 7}, False),  # there are no seven
    ],
)
def test_by_the_share_of_failures_among_the_last_of_a_queue(
    store: Store, sql: psycopg.Connection, rate: dict[str, Any], reached: bool
) -> None:
    """Completed, completed, failed, failed, completed, failed: by the time at which they ended."""
    worker = make_worker(store)
    for outcome in ("completed", "completed", "failed", "failed", "completed", "failed"):
        make_job(store, queue="bad")
        end(worker, outcome, 1)
    bad, good = make_job(store, queue="bad"), make_job(store, queue="good")
    expected = {bad} if reached else set()
    assert enforce(store, {"when": {"error_rate": rate}}) == expected
    assert store.show(good).status == "queued"


def test_only_what_ended_lately_counts(store: Store, sql: psycopg.Connection) -> None:
    worker = make_worker(store)
    for _ in range(4):
        make_job(store)
    end(worker, "failed", 4)
    job = make_job(store)
    sql.execute("UPDATE tenure.job SET ended_at = ended_at - interval '2 h' WHERE ended_at < now()")
    rate = {"above": 0.5, "of": 4, "within": "1h"}
    assert enforce(store, {"when": {"error_rate": rate}}) == set()
    assert enforce(store, {"when": {"error_rate": {**rate, "within": "3h"}}}) == {job}


@pytest.mark.parametrize("by", ["task", "tag"])
def test_failures_are_counted_by_task_or_by_tag(store: Store, by: str) -> None:
    worker = make_worker(store)
    same: Any = {"task": {"task": "bad"}, "tag": {"tags": ["red"], "task": "any"}}[by]
    for _ in range(3):
        make_job(store, **same)
        end(worker, "failed", 1)
    for _ in range(3):
        make_job(store, task="fine")
        end(worker, "completed", 1)
    bad, other = make_job(store, **same), make_job(store, task="fine")
    spec = {
        "filter": {"tag": "red"} if by == "tag" else {},
        "when": {"error_rate": {"above": 0.9, "of": 3, "by": by}},
    }
    assert enforce(store, spec) == {bad}
    assert store.show(other).status == "queued"


def test_all_conditions_must_hold_and_the_filter_too(store: Store, sql: psycopg.Connection) -> None:
    both, old, newer = (make_job(store, key="k") for _ in range(3))
    elsewhere = make_job(store, key="k", queue="other")
    make_job(store, key="k")
    for job in (both, elsewhere):
        age(sql, "created_at", job, 2)
    spec = {"filter": {"queue": "default"}, "when": {"age": "1h", "superseded": True}}
    assert enforce(store, spec) == {both}
    assert {store.show(job).status for job in (old, newer, elsewhere)} == {"queued"}
    assert store.show(both).cancellation_reason == "it is older than 1h and a newer job has its key"


# How they are stopped.

OLD = {"when": {"age": "1us"}}


def test_a_policy_stops_as_it_says(store: Store) -> None:
    job = make_job(store, options={"cancel_pauses": True})
    make_worker(store).claim_one()
    spec = {**OLD, "strategy": "immediate", "reason": "enough"}
    assert enforce(store, spec) == {job}
    record = store.cancellation(job=job)
    assert (record.intent, record.force, record.reason) == (Intent.CANCEL, True, "enough")
    [row] = store.audit_log("job", str(job))
    assert (row.actor, row.via, row.verb) == ("policy:rule", "policy", "cancel")


def test_a_policy_pauses(store: Store) -> None:
    job = make_job(store)
    assert enforce(store, {**OLD, "intent": "pause"}) == {job}
    assert store.show(job).state is State.PAUSED
    assert enforce(store, {**OLD, "intent": "pause"}) == set()
    assert enforce(store, OLD) == {job}
    assert store.show(job).state is State.CANCELLED


def test_what_is_being_stopped_or_is_over_is_left_alone(store: Store) -> None:
    for _ in range(2):
        make_job(store)
    cancelling, pausing = make_worker(store).claim(2)
    store.stop(cancelling.id)
    store.stop(pausing.id, intent=Intent.PAUSE)
    store.stop(make_job(store))
    assert enforce(store, OLD) == set()
    assert enforce(store, {**OLD, "intent": "pause"}) == set()


def test_what_is_above_takes_along_what_is_below(store: Store) -> None:
    tasks = [NewJob(task="work", parent="top", key=key) for key in ("runs", "waits")]
    ids = make_jobs(store, [NewJob(key="top"), *tasks])
    make_worker(store).claim_one()
    assert enforce(store, OLD) == {ids["top"]}
    [policy] = store.policies()
    assert (policy.stopped, policy.last_error) == (1, None)
    assert store.show(ids["runs"]).status == "cancelling"
    assert store.show(ids["waits"]).state is State.CANCELLED


def test_a_policy_that_is_off_stops_nothing(store: Store) -> None:
    job = make_job(store)
    store.set_policy("rule", OLD, enabled=False)
    assert store.enforce_policies().policies == 0
    store.set_policy("rule", OLD)
    assert store.enforce_policies().stopped == 1
    assert store.show(job).state is State.CANCELLED


def test_one_bad_job_does_not_hold_up_the_others(store: Store, sql: psycopg.Connection) -> None:
    bad, good = make_job(store), make_job(store)
    sql.execute("""
        CREATE FUNCTION tenure_break() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'this one will not'; END $$""")
    sql.execute(
        f"CREATE TRIGGER broken BEFORE INSERT ON tenure.cancellation FOR EACH ROW "
        f"WHEN (new.job_id = {bad}) EXECUTE FUNCTION tenure_break()".encode()
    )
    try:
        assert enforce(store, OLD) == {good}
    finally:
        sql.execute("DROP FUNCTION tenure_break CASCADE")
    [policy] = store.policies()
    assert (policy.stopped, policy.last_error) == (1, f"job {bad}: this one will not")
    assert store.enforce_policies().stopped == 1
    [policy] = store.policies()
    assert policy.last_error is None


def test_a_strategy_that_is_gone_is_the_last_error(store: Store) -> None:
    make_job(store)
    store.set_strategy("mild", {"grace": 5})
    store.set_policy("rule", {**OLD, "strategy": "mild"})
    store.drop_strategy("mild")
    assert store.enforce_policies().failed == 1
    [policy] = store.policies()
    assert "there is no strategy 'mild'" in (policy.last_error or "")


def test_after_n_stops_there_is_more(store: Store) -> None:
    jobs = [make_job(store) for _ in range(5)]
    store.set_policy("rule", OLD)
    every = timedelta(minutes=1)
    looks = [store.enforce_policies(2, every=every) for _ in range(4)]
    assert [(look.stopped, look.more) for look in looks] == [
        (2, True),
        (2, True),
        (1, False),
        (0, False),
    ]
    assert {store.show(job).state for job in jobs} == {State.CANCELLED}


def test_a_policy_is_looked_at_once_in_a_while(store: Store) -> None:
    store.set_policy("rule", OLD)
    every = timedelta(minutes=1)
    assert store.enforce_policies(every=every).policies == 1
    job = make_job(store)
    assert store.enforce_policies(every=every).policies == 0
    assert store.show(job).status == "queued"
    assert store.enforce_policies().stopped == 1


def test_a_policy_whose_check_is_slow_is_checked_rarely(
    store: Store, sql: psycopg.Connection
) -> None:
    store.set_policy("rule", OLD)
    second = timedelta(seconds=1)
    store.enforce_policies(every=second)
    took = "UPDATE tenure.policy SET took = %s, checked_at = checked_at - interval '10 s'"
    sql.execute(took, (second,))
    assert store.enforce_policies(every=second).policies == 0
    sql.execute(took, (second / 4,))
    assert store.enforce_policies(every=second).policies == 1


def test_when_nothing_can_be_stopped_not_everything_is_tried(
    store: Store, sql: psycopg.Connection
) -> None:
    for _ in range(5):
        make_job(store)
    sql.execute("""
        CREATE FUNCTION tenure_break() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no'; END $$""")
    sql.execute(
        "CREATE TRIGGER broken BEFORE INSERT ON tenure.cancellation "
        "FOR EACH ROW EXECUTE FUNCTION tenure_break()"
    )
    store.set_policy("rule", OLD)
    try:
        enforced = store.enforce_policies(2)
    finally:
        sql.execute("DROP FUNCTION tenure_break CASCADE")
    assert (enforced.stopped, enforced.failed, enforced.more) == (0, 2, False)


# Making and dropping them.


def test_a_policy_is_on_record_and_can_be_changed_and_dropped(store: Store) -> None:
    made = store.set_policy("rule", OLD, by="ada")
    assert made.spec == {**OLD, "filter": {}, "intent": "cancel"}
    assert (made.created_by, made.enabled, made.stopped) == ("ada", True, 0)
    changed = store.set_policy("rule", {**OLD, "intent": "pause"}, by="bob")
    assert (changed.created_by, changed.spec["intent"]) == ("ada", "pause")
    assert store.drop_policy("rule") == {"dropped": "rule"}
    assert store.policies() == ()
    assert [row.verb for row in store.audit_log("policy", "rule")] == ["drop", "set", "set"]
    with pytest.raises(NotFound, match="there is no policy 'rule'; there are: none"):
        store.drop_policy("rule")


@pytest.mark.parametrize("name", ["", "x" * 201, *OWN_NAMES])
def test_a_policy_has_a_name_of_its_own(store: Store, name: str) -> None:
    with pytest.raises(InputRefused, match=r"a name|another name"):
        store.set_policy(name, OLD)


def test_strategy_and_job_of_a_policy_must_be_there(store: Store) -> None:
    with pytest.raises(NotFound, match="there is no strategy 'mild'"):
        store.set_policy("rule", {**OLD, "strategy": "mild"})
    with pytest.raises(JobNotFound, match="there is no job 7"):
        store.set_policy("rule", {**OLD, "filter": {"id": 7}})


ONLY_IN_PYTHON = ({"when": {"at": "2030-01-01T00:00:00"}}, {"when": {"age": "5"}})
FROM_SQL = [spec for spec, _ in REFUSED_IN_PYTHON if spec not in ONLY_IN_PYTHON]


@pytest.mark.parametrize("spec", FROM_SQL, ids=str)
def test_sql_refuses_what_python_refuses(sql: psycopg.Connection, spec: Any) -> None:
    written = json.dumps(spec, default=lambda length: f"{length.days} days")
    with pytest.raises(psycopg.Error) as refused:
        sql.execute("SELECT tenure.set_policy('rule', %s)", (written,))
    assert refused.value.sqlstate == "TN001", refused.value


@pytest.mark.parametrize(("written", "_read"), READ)
def test_sql_takes_what_python_takes(store: Store, written: dict[str, Any], _read: Any) -> None:
    assert store.set_policy("rule", written).name == "rule"


def test_an_operator_has_policies_for_single_jobs_of_its_own(store: Store) -> None:
    mine, yours = make_job(store, owner="ann"), make_job(store, owner="bob")

    def by_ann(call: Any) -> Any:
        return store.send(call.asked_by(Principal("ann", Role.OPERATOR)))

    at = {"when": {"at": datetime.now(UTC) + HOUR}}
    by_ann(policy_calls.set_policy("mine", {**at, "filter": {"id": mine}}))
    with pytest.raises(NotAllowed, match=f"job {yours} belongs to bob"):
        by_ann(policy_calls.set_policy("yours", {**at, "filter": {"id": yours}}))
    with pytest.raises(InputRefused, match="a policy names one job by its id"):
        by_ann(policy_calls.set_policy("both", {**at, "filter": {"id": [mine, yours]}}))
    with pytest.raises(NotAllowed, match="ann is an operator and may not set policy"):
        by_ann(policy_calls.set_policy("all", OLD))
    store.set_policy("admins", {**at, "filter": {"id": mine}}, by="root")
    for verb in (
        policy_calls.drop_policy("admins"),
        policy_calls.set_policy("admins", {**at, "filter": {"id": mine}}),
    ):
        with pytest.raises(NotAllowed, match="an admin may"):
            by_ann(verb)
    by_ann(policy_calls.drop_policy("mine"))
    assert [policy.name for policy in store.policies()] == ["admins"]
    assert len([row for row in store.audit_log() if row.verb == "refuse"]) == 4


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN])
def test_an_operators_policy_takes_along_what_is_its_own(store: Store, role: Role) -> None:
    job = make_job(store, owner="ann")
    after = {owner: make_job(store, owner=owner, after=[job]) for owner in ("ann", "bob")}
    promote(store)
    spec = {"filter": {"id": job}, "when": {"at": datetime.now(UTC) - HOUR}}
    store.send(policy_calls.set_policy("mine", spec).asked_by(Principal("ann", role)))
    assert store.enforce_policies().stopped == 1
    assert store.show(after["ann"]).state is State.CANCELLED
    left = store.show(after["bob"])
    assert left.state is (State.CANCELLED if role is Role.ADMIN else State.PENDING)


def test_a_condition_that_nobody_knows_holds_for_nobody(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store)
    store.set_policy("rule", OLD)
    sql.execute('UPDATE tenure.policy SET spec = spec || \'{"when": {"rain": true}}\'')
    assert store.enforce_policies().stopped == 0


# Two at once.


def test_two_who_enforce_at_once_do_not_wait_and_stop_nothing_twice(
    store: Store, connect: Connect
) -> None:
    job = make_job(store)
    store.set_policy("rule", OLD)
    first, second = Session(connect()), Session(connect())
    assert first(upkeep.enforce_policies()).stopped == 1
    assert second(upkeep.enforce_policies()).policies == 0
    first.commit()
    assert second(upkeep.enforce_policies(every=HOUR)).policies == 0
    second.commit()
    assert store.enforce_policies().stopped == 0
    assert len([row for row in store.audit_log("job", str(job)) if row.verb == "cancel"]) == 1


def test_a_policy_does_not_wait_for_a_job_that_another_has_locked(
    store: Store, connect: Connect, sql: psycopg.Connection
) -> None:
    busy, free = make_job(store), make_job(store)
    store.set_policy("rule", OLD)
    other = connect()
    other.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (busy,))
    # Not through enforce_policies: it gives up a lock after a second, so a wait would not be seen.
    sql.execute("SET statement_timeout = '10s'")
    found = sql.execute(
        "SELECT e.stopped, e.failed, e.through FROM tenure.policy AS p"
        " CROSS JOIN LATERAL tenure.enforce_policy(p, tenure.now(), 10) AS e"
    ).fetchall()
    assert found == [(1, 0, False)]
    other.rollback()
    assert store.show(busy).state is State.PENDING
    assert store.show(free).state is State.CANCELLED


def test_what_somebody_else_stops_just_now_is_left_to_the_next_look(
    store: Store, connect: Connect
) -> None:
    busy, free = make_job(store), make_job(store)
    other = connect()
    other.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (busy,))
    assert enforce(store, OLD) == {free}
    other.rollback()
    [policy] = store.policies()
    assert policy.last_error is None
    assert store.enforce_policies().stopped == 1
    assert store.show(busy).state is State.CANCELLED


def test_a_moment_means_the_same_under_all_settings(store: Store, sql: psycopg.Connection) -> None:
    """Workers read a policy again, and their settings are not those of who made it."""
    job = make_job(store)
    sql.execute("SET datestyle = 'SQL, DMY'")
    for when in ({"at": "31/12/2030 10:00"}, {"at": "tomorrow"}, {"at": "infinity"}):
        spec = json.dumps({"filter": {"id": job}, "when": when})
        with pytest.raises(psycopg.Error, match=r"takes a timestamp such as") as refused:
            sql.execute("SELECT tenure.set_policy('rule', %s)", (spec,))
        assert refused.value.sqlstate == "TN001"
    for moment in ("31/12/2030", "yesterday", "-infinity"):
        with pytest.raises(psycopg.Error, match=r"since takes a timestamp such as"):
            sql.execute("SELECT tenure.list_jobs(%s)", (json.dumps({"since": moment}),))


def test_a_policy_that_cannot_be_read_holds_up_no_other(
    store: Store, sql: psycopg.Connection
) -> None:
    job = make_job(store)
    store.set_policy("bad", {"when": {"at": datetime(2030, 1, 1, tzinfo=UTC)}})
    sql.execute("UPDATE tenure.policy SET spec = jsonb_set(spec, '{when,at}', '\"31/12/2030\"')")
    age(sql, "created_at", job, 2)
    assert enforce(store, {"when": {"age": HOUR}}, "good") == {job}
    [bad] = [it for it in store.policies() if it.name == "bad"]
    assert "out of range" in str(bad.last_error)
