"""How far each database role reaches: workers, jobs and policies that are not its own."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, NotAllowed, TenureError
from tenure.store import schema
from tenure.store.call import Call
from tenure.store.calls import control_calls, enqueue_calls, policy_calls, queries
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_worker
from tests.store.roles import KINDS, Kind, Roles

ACME = Tenant("acme")
ANN = Principal("ann", Role.OPERATOR, via="rest")
BOB = Principal("bob", Role.OPERATOR, via="rest")
ROOT = Principal("root", Role.ADMIN, via="rest")


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


@pytest.fixture
def acme(sql: psycopg.Connection, database: str) -> Iterator[Store]:
    """Another tenant, by the owner of the schema."""
    schema.migrate(sql, ACME)
    with Store(database, ACME) as store:
        yield store


def of_acme(roles: Roles, acme: Store, kind: Kind) -> Store:
    """A role of the other tenant, with that tenant's verbs."""
    name, _ = roles.make()
    acme.admit(name, kind)
    return Store(roles.url(name), ACME)


def worker_row(sql: psycopg.Connection, worker: UUID) -> tuple[Any, ...]:
    row = sql.execute("SELECT to_jsonb(w) FROM tenure.worker AS w WHERE id = %s", (worker,))
    found = row.fetchone()
    assert found is not None
    return found


# Workers

SPEAKING: dict[str, Callable[[Store, UUID, int], object]] = {
    "leave": lambda s, worker, _: s.leave(worker),
    "leave for one that was killed": lambda s, worker, _: s.leave(worker, killed=True),
    "read_signals": lambda s, worker, _: s.read_signals(worker),
    "renew": lambda s, worker, _: s.renew(worker),
    "claim": lambda s, worker, _: s.claim(worker, 1),
    "exchange": lambda s, worker, _: s.exchange(worker, wants_jobs=True),
    "held": lambda s, worker, _: s.held(worker),
    "finish": lambda s, worker, _: s.finish(worker, []),
    "report": lambda s, worker, _: s.report(worker, []),
    "waiting_priority": lambda s, worker, _: s.waiting_priority(worker),
    "end_session": lambda s, worker, job: s.end_session(worker, job, 1),
    "completed": lambda s, worker, job: s.completed(worker, job, 1),
    "drain": lambda s, worker, _: s.drain(worker),
    "sweep": lambda s, _, __: s.sweep(),
    "sweep with no patience": lambda s, _, __: s.sweep(grace=timedelta(days=-3650)),
    "recover with no patience": lambda s, _, __: s.recover(grace=timedelta(days=-3650)),
    "prune": lambda s, _, __: s.prune({}, keep_events=timedelta(days=-3650)),
}


@pytest.mark.parametrize("verb", SPEAKING)
@pytest.mark.parametrize("kind", KINDS)
def test_no_role_of_another_tenant_speaks_for_a_worker(
    store: Store, sql: psycopg.Connection, roles: Roles, acme: Store, verb: str, kind: Kind
) -> None:
    """Whatever it answers: nothing changes for the worker, and nothing is told of its jobs."""
    make_job(acme)
    job = make_job(store, owner="ann")
    _, keeper = roles.make("worker")
    theirs = make_worker(keeper)
    claimed = theirs.claim_one()
    store.stop(job, reason="a secret reason", grace=timedelta(hours=1))
    before = worker_row(sql, theirs.id)
    with of_acme(roles, acme, kind) as stranger:
        try:
            answer: object = SPEAKING[verb](stranger, theirs.id, job)
        except TenureError as refusal:
            answer = refusal
    assert "secret reason" not in repr(answer)
    assert str(job) not in repr(getattr(answer, "signals", ()))
    assert worker_row(sql, theirs.id) == before
    assert theirs.store.read_signals(theirs.id).alive
    assert theirs.finish(claimed, "stopped", heard=True).accepted == {job: State.CANCELLED}
    assert acme.list_jobs({"state": "running"}) == ()


def test_a_dead_worker_of_whom_jobs_are_to_be_recovered_is_not_pruned_by_another_tenant(
    store: Store, sql: psycopg.Connection, roles: Roles, acme: Store
) -> None:
    make_job(store)
    _, keeper = roles.make("worker")
    theirs = make_worker(keeper)
    theirs.claim_one()
    keeper.leave(theirs.id, killed=True)
    with of_acme(roles, acme, "admin") as stranger:
        stranger.prune({}, keep_events=timedelta(days=-1))
    assert worker_row(sql, theirs.id)
    assert len(store.recover().recovered) == 1
    with of_acme(roles, acme, "admin") as stranger:
        stranger.prune({}, keep_events=timedelta(days=-1))
    assert worker_row(sql, theirs.id), "nor afterwards: it was none of that tenant's"


def test_a_member_of_the_role_that_registered_a_worker_speaks_for_it(
    sql: psycopg.Connection, roles: Roles
) -> None:
    """Two workers of one host may log in under two names of one role."""
    group, first = roles.make("worker")
    name, second = roles.make()
    theirs = make_worker(first)
    sql.execute(f"GRANT {group} TO {name}".encode())
    assert second.renew(theirs.id).alive
    assert second.leave(theirs.id, killed=True) == {"left": True}


def test_a_worker_registered_before_roles_were_stored_continues(
    store: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    _, keeper = roles.make("worker")
    theirs = make_worker(store)
    assert not keeper.renew(theirs.id).alive
    sql.execute("UPDATE tenure.worker SET registered_by = NULL")
    assert keeper.renew(theirs.id).alive


def test_workers_of_other_tenants_are_not_shown(
    store: Store, sql: psycopg.Connection, roles: Roles, acme: Store
) -> None:
    _, ours = roles.make("worker")
    of_ours = make_worker(ours).id
    with of_acme(roles, acme, "worker") as theirs:
        of_theirs = make_worker(theirs).id
    of_all = make_worker(store).id
    _, viewer = roles.make("viewer")
    assert seen(viewer) == {of_ours, of_all}
    with of_acme(roles, acme, "viewer") as stranger:
        assert seen(stranger) == {of_theirs, of_all}
    assert seen(store) == {of_ours, of_theirs, of_all}
    for tenant, role, shown in (
        (ACME, Role.ADMIN, {of_theirs, of_all}),
        (ACME, Role.VIEWER, {of_theirs, of_all}),
        (DEFAULT, Role.VIEWER, {of_ours, of_all}),
        (DEFAULT, Role.ADMIN, {of_ours, of_theirs, of_all}),
    ):
        call = queries.workers(all=True).asked_by(Principal("x", role, tenant))
        assert {one.id for one in store.send(call)} == shown, (tenant, role)


def test_a_principal_is_shown_only_jobs_of_its_tenant_that_workers_hold(
    store: Store, acme: Store
) -> None:
    make_job(store)
    make_worker(store).claim_one()
    [one] = store.send(queries.workers().asked_by(Principal("x", Role.ADMIN, ACME)))
    assert one.jobs == ()
    [one] = store.send(queries.workers().asked_by(ROOT))
    assert len(one.jobs) == 1


def test_whose_death_is_not_ones_own_is_not_told(
    store: Store, sql: psycopg.Connection, roles: Roles, acme: Store
) -> None:
    _, ours = roles.make("worker")
    make_worker(ours)
    store.sweep()
    sql.execute(
        "UPDATE tenure.worker SET beat_at = beat_at - interval '1 hour',"
        " expires_at = expires_at - interval '1 hour'"
    )
    with of_acme(roles, acme, "worker") as stranger:
        assert stranger.sweep().dead == ()
    assert sql.execute("SELECT count(*) FROM tenure.worker WHERE dead_at IS NULL").fetchone() == (
        0,
    )


def seen(store: Store) -> set[UUID]:
    return {one.id for one in store.workers(all=True)}


# What a producer looks at

LOOKING: dict[str, Callable[[Store, int], object]] = {
    "show": lambda s, job: s.show(job),
    "explain": lambda s, job: s.explain(job),
    "queue": lambda s, job: s.queue(job),
    "add a task": lambda s, job: s.enqueue(NewJob(task="work", parent=job)),
    "come after": lambda s, job: s.enqueue(NewJob(task="work", after=[job])),
    "come after in words": lambda s, job: s.enqueue(NewJob(task="work", after=[str(job)])),
    "find by key": lambda s, job: s.job_with_key(f"key of {job}"),
    "partials": lambda s, job: s.job_output(job, "partials"),
    "logs": lambda s, job: s.job_output(job, "logs"),
    "events": lambda s, job: s.job_output(job, "events", newest=True),
}


def told(look: Callable[[Store, int], object], store: Store, job: int) -> str:
    try:
        return repr(look(store, job))
    except TenureError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


@pytest.mark.parametrize("look", LOOKING)
def test_for_a_producer_the_job_of_another_owner_is_not_there(
    store: Store, sql: psycopg.Connection, roles: Roles, look: str
) -> None:
    job = make_job_in(store, State.FAILED, owner="ann", args={"secret": "plan"})
    sql.execute("UPDATE tenure.payload SET key = 'key of ' || job_id")
    sql.execute(
        "INSERT INTO tenure.log (job_id, at, level, line) VALUES (%s, now(), 'info', 'a line')",
        (job,),
    )
    _, producer = roles.make("producer")
    missing = 999_999_999
    answers = {n: told(LOOKING[look], producer, n) for n in (job, missing)}
    assert answers[job] == answers[missing].replace(str(missing), str(job))
    assert "ann" not in answers[job]


def test_a_producer_looks_at_what_is_its_own(store: Store, roles: Roles) -> None:
    _, producer = roles.make("producer")
    parent = make_job(producer, key="mine")
    child = make_job(producer, parent=parent, after=[make_job(producer)])
    for job in (parent, child):
        assert producer.show(job).id == job
        assert producer.explain(job).job_id == job
        assert producer.job_output(job, "logs") == ()
    assert producer.job_with_key("mine").id == parent


@pytest.mark.parametrize("kind", ["viewer", "operator", "admin", "worker"])
def test_every_other_kind_looks_at_all_jobs(store: Store, roles: Roles, kind: Kind) -> None:
    job = make_job(store, owner="ann")
    _, caller = roles.make(kind)
    assert caller.show(job).owner == "ann"


def test_who_is_a_producer_and_a_viewer_looks_at_all_jobs(store: Store, roles: Roles) -> None:
    job = make_job(store, owner="ann")
    name, caller = roles.make("producer")
    store.admit(name, "viewer")
    assert caller.show(job).owner == "ann"


# Jobs by their keys


def by_key(store: Store, key: str, who: Principal | None = None) -> int:
    call = queries.job_with_key(key)
    return store.send(call if who is None else call.asked_by(who)).id


def test_a_key_names_the_job_of_whoever_asks(store: Store) -> None:
    hers = make_job(store, owner="ann", key="nap")
    his = make_job(store, owner="bob", key="nap")
    assert by_key(store, "nap", ANN) == hers
    assert by_key(store, "nap", BOB) == his


def test_a_key_of_several_others_names_nobodys_job(store: Store) -> None:
    """Otherwise a user who enqueues another job with it decides what an admin cancels."""
    hers = make_job(store, owner="ann", key="nap")
    assert by_key(store, "nap", ROOT) == hers
    make_job(store, owner="bob", key="nap")
    for who in (ROOT, None):
        with pytest.raises(InputRefused, match="jobs of several owners have the key 'nap'"):
            by_key(store, "nap", who)


def test_ones_own_job_is_found_among_any_number_of_others(store: Store) -> None:
    hers = make_job(store, owner="ann", key="nap")
    store.enqueue([NewJob(task="work", owner="bob", key="nap") for _ in range(1001)])
    assert by_key(store, "nap", ANN) == hers
    with pytest.raises(InputRefused, match="jobs of several owners"):
        by_key(store, "nap", ROOT)


def test_a_newer_job_of_another_owner_supersedes_nothing(store: Store) -> None:
    old = make_job(store, owner="ann", key="index")
    store.set_policy("newest", {"filter": {}, "when": {"superseded": True}})
    make_job(store, owner="bob", key="index")
    assert store.enforce_policies().stopped == 0
    make_job(store, owner="ann", key="index")
    assert store.enforce_policies().stopped == 1
    assert store.show(old).state is State.CANCELLED


# Policies

LATER = datetime(2100, 1, 1, tzinfo=UTC)


def policy(name: str, job: int | None, **more: Any) -> Call[Any]:
    spec = {"filter": {} if job is None else {"id": job}, "when": {"at": LATER}, **more}
    return policy_calls.set_policy(name, spec)


def test_an_admins_policy_is_not_overwritten_by_who_had_its_name_before(store: Store) -> None:
    job = make_job(store, owner="ann")
    store.send(policy("curfew", job).asked_by(ANN))
    store.send(policy("curfew", job, reason="the admin's").asked_by(ROOT))
    for call in (policy("curfew", job), policy_calls.drop_policy("curfew")):
        with pytest.raises(NotAllowed, match="ann is an operator and may not"):
            store.send(call.asked_by(ANN))
    [kept] = store.policies()
    assert kept.spec["reason"] == "the admin's"


def test_an_operator_does_not_overwrite_what_it_set_as_an_admin(store: Store) -> None:
    """What comes after the job is stopped with it, whosever it is."""
    job = make_job(store, owner="ann")
    store.send(policy("curfew", job).asked_by(Principal("ann", Role.ADMIN)))
    for call in (policy("curfew", job), policy_calls.drop_policy("curfew")):
        with pytest.raises(NotAllowed, match="ann is an operator and may not"):
            store.send(call.asked_by(ANN))


def test_the_name_of_a_stop_at_a_time_is_taken_by_nobody_else(store: Store) -> None:
    his, hers = make_job(store, owner="bob"), make_job(store, owner="ann")
    for name in (f"cancel-at:{hers}", f"pause-at:{his}", "cancel-at:", "pause-at:x"):
        with pytest.raises(InputRefused, match="stops that job and nothing else"):
            store.send(policy(name, his, intent="cancel").asked_by(BOB))
    store.send(policy(f"cancel-at:{hers}", hers).asked_by(ANN))
    store.send(policy(f"pause-at:{his}", his, intent=Intent.PAUSE).asked_by(BOB))
    assert len(store.policies()) == 2


# Names


@pytest.mark.parametrize("name", ["db:x", "job:1", "policy:x", "schedule:nightly"])
def test_names_of_tenures_own_are_given_to_no_token(store: Store, name: str) -> None:
    with pytest.raises(InputRefused, match="does not begin with"):
        store.send(control_calls.create_token(name, Role.OPERATOR, DEFAULT, uuid4().bytes * 2))


@pytest.mark.parametrize("grace", ["-1 day", "infinity", "178000000 years", None])
def test_nobody_is_declared_dead_before_the_end_of_its_lease(
    store: Store, acme: Store, roles: Roles, grace: str | None
) -> None:
    """The row of a worker of another tenant is not shown by the refusal either."""
    make_worker(store)
    verbs: dict[Kind, str] = {"worker": "tenure.sweep", "admin": "tenure_acme.recover"}
    for kind, verb in verbs.items():
        name, _ = roles.make()
        acme.admit(name, kind)
        with pytest.raises(psycopg.Error, match="workers are given a grace from 0s") as refused:
            roles.connection(name).execute(f"SELECT {verb}(grace => %s)", (grace,))
        assert (refused.value.sqlstate, refused.value.diag.message_detail) == ("TN001", None)


@pytest.mark.parametrize(
    "verb", ["cancellations(-1)", "cancellations(1, -1)", "stops(-1)", "audit_log(n => -1)"]
)
def test_a_number_below_zero_is_none(roles: Roles, verb: str) -> None:
    name, _ = roles.make("viewer")
    assert roles.connection(name).execute(f"SELECT tenure.{verb}").fetchone() == ([],)


@pytest.mark.parametrize(
    ("verb", "why"),
    [
        ("promote(-1)", "a batch of -1 is not possible; 1 and more are"),
        ("promote(NULL)", "a batch of null is not possible"),
        ("tenant_activity(n => -1)", "a batch of -1 is not possible"),
        ("discards(0)", "a batch of 0 is not possible"),
        ("recover(n => -1)", "a batch of -1 is not possible"),
        ("prune(n => -1)", "a batch of -1 is not possible"),
        ("prune('[]')", "keep must be a JSON object such as"),
        ("register(gen_random_uuid(), NULL, 1, '15 s')", "a worker has an id, a host, a pid"),
    ],
)
def test_what_a_worker_says_wrong_is_refused_with_a_sentence(
    roles: Roles, verb: str, why: str
) -> None:
    name, _ = roles.make("worker")
    with pytest.raises(psycopg.Error, match=why) as refused:
        roles.connection(name).execute(f"SELECT tenure.{verb}".encode())
    assert refused.value.sqlstate == "TN001"


def test_what_an_admin_leaves_out_is_refused_or_filled_in(
    sql: psycopg.Connection, store: Store
) -> None:
    with pytest.raises(psycopg.Error, match="there is no strategy ''") as refused:
        sql.execute("SELECT tenure.drop_strategy(NULL)")
    assert refused.value.sqlstate == "TN006"
    sql.execute("SELECT tenure.pause_dispatch('queue', 'mail', via => NULL)")
    assert store.audit_log(n=1)[0].via == "sql"
    assert sql.execute("SELECT tenure.roll_up('9999 years')").fetchone()


# What is counted for a whole tenant


def test_operators_take_no_policy_from_an_admin(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store, owner="ann")
    spec = {"filter": {"id": job}, "when": {"age": "1h"}}
    most, of_one = 1000, 100
    made = (
        "INSERT INTO tenure.policy (name, spec, enabled, created_at, created_by, whose) "
        'SELECT %s || i, \'{"when": {"age": "1h"}}\', false, tenure.now(), %s, %s '
        "FROM generate_series(1, %s) AS i"
    )
    sql.execute(made, ("ann", "ann", "ann", of_one))
    with pytest.raises(InputRefused, match="ann has 100 policies, and an operator has no more"):
        store.send(policy_calls.set_policy("mine", spec).asked_by(ANN))
    store.send(policy_calls.set_policy("ann1", spec).asked_by(ANN))  # one that is there is changed
    sql.execute(made, ("bob", "bob", "bob", most - of_one))
    with pytest.raises(InputRefused, match="at most 1000 policies of all its operators"):
        store.send(policy_calls.set_policy("mine", spec).asked_by(ANN))
    store.send(policy_calls.set_policy("rule", spec).asked_by(ROOT))


def test_the_last_names_are_left_to_admins(store: Store, sql: psycopg.Connection) -> None:
    sql.execute(
        "INSERT INTO tenure.lane (queue, task, pools) "
        "SELECT 'q' || i, 't', '{}' FROM generate_series(1, %s) AS i",
        (9000,),
    )
    new = NewJob(task="t", queue="new")
    with pytest.raises(InputRefused, match="this tenant has 9000 combinations"):
        store.send(enqueue_calls.enqueue([new]).asked_by(ANN))
    store.send(enqueue_calls.enqueue([NewJob(task="t", queue="q1")]).asked_by(ANN))
    store.send(enqueue_calls.enqueue([new]).asked_by(ROOT))


def test_an_operator_has_so_many_bulk_stops_under_way(
    store: Store, sql: psycopg.Connection
) -> None:
    for _ in range(100):
        store.send(policy_calls.bulk_stop({"queue": "none"}).asked_by(ANN))
    with pytest.raises(InputRefused, match="ann has 100 bulk operations under way"):
        store.send(policy_calls.bulk_stop({"queue": "none"}).asked_by(ANN))
    store.send(policy_calls.bulk_stop({"queue": "none"}).asked_by(BOB))
    store.send(policy_calls.bulk_stop({"queue": "none"}).asked_by(ROOT))
    store.advance_bulk(bulk=1)
    store.send(policy_calls.bulk_stop({"queue": "none"}).asked_by(ANN))


def test_the_bulk_stop_of_an_admin_comes_first(store: Store) -> None:
    for _ in range(3):
        store.send(policy_calls.bulk_stop({"queue": "none"}).asked_by(ANN))
    urgent = store.send(policy_calls.bulk_stop({"queue": "none"}).asked_by(ROOT))
    moved = store.advance_bulk()
    assert moved is not None
    assert moved.id == urgent.id


def test_an_operators_role_carries_on_its_own_bulk_stops_alone(store: Store, roles: Roles) -> None:
    """The caller that advances one holds jobs of others while its transaction is open."""
    name, operator = roles.make("operator")
    job = make_job(store)
    urgent = store.bulk_stop({})
    assert operator.advance_bulk(bulk=urgent.id) is None
    assert operator.advance_bulk() is None
    assert store.show(job).state is State.PENDING
    own = operator.bulk_stop({})
    moved = operator.advance_bulk()
    assert moved is not None
    assert (moved.id, moved.initiated_by, moved.refused) == (own.id, f"db:{name}", 1)
    _, worker = roles.make("worker")
    carried = worker.advance_bulk()
    assert carried is not None
    assert carried.id == urgent.id
    assert store.show(job).state is State.CANCELLED
