"""Who may do what to whose job: each verb by each kind of caller, and what is kept of a refusal."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest

from tenure.domain.job import NEVER, NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, NotAllowed, TenureError
from tenure.store.call import Call
from tenure.store.calls import control_calls, enqueue_calls, upkeep, worker_calls
from tenure.store.results import AuditRow
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote
from tests.store.roles import Kind, Roles

ANN = Principal("ann", Role.OPERATOR, via="rest")
BOB = Principal("bob", Role.OPERATOR, via="rest")
EVE = Principal("eve", Role.VIEWER, via="rest")
OWNER_WHO_VIEWS = Principal("ann", Role.VIEWER, via="rest")
ROOT = Principal("root", Role.ADMIN, via="rest")


@dataclass(frozen=True)
class Verb:
    name: str  # as a refusal calls it
    call: Callable[[Any], Call[Any]]
    make: Callable[[Store], Any]  # what it is done to; a job is ann's


def job_in(state: State) -> Callable[[Store], int]:
    return lambda store: make_job_in(store, state, owner="ann")


def unqueued(store: Store) -> int:
    return make_job(store, owner="ann", run_at=NEVER)


def cancellation(store: Store) -> str:
    return store.stop(make_job(store, owner="ann")).cancellation_id


OWNERS = [
    Verb("cancel", control_calls.stop, job_in(State.PENDING)),
    Verb("pause", lambda job: control_calls.stop(job, intent=Intent.PAUSE), job_in(State.RUNNING)),
    Verb("resume", control_calls.resume, job_in(State.FAILED)),
    Verb("clear", control_calls.clear, job_in(State.FAILED)),
    Verb("rerun", control_calls.rerun, job_in(State.COMPLETED)),
    Verb("queue", enqueue_calls.queue, unqueued),
    Verb("rollback", control_calls.rollback, cancellation),
]


def worker(store: Store) -> UUID:
    return make_worker(store).id


def pool(store: Store) -> str:
    store.create_pool("tree", ["main"])
    return "tree"


def token(store: Store) -> int:
    return store.create_token("ann", Role.VIEWER, DEFAULT, uuid4().bytes * 2).id


def nothing(_: Store) -> None: ...


ADMINS = [
    Verb("pause_dispatch", lambda _: control_calls.pause_dispatch("queue", "slow"), nothing),
    Verb("pause_dispatch", lambda _: control_calls.pause_dispatch("tenant"), nothing),
    Verb("resume_dispatch", lambda _: control_calls.resume_dispatch("target", "site"), nothing),
    Verb("clear", lambda _: control_calls.clear(target="site"), nothing),
    Verb("create_pool", lambda _: control_calls.create_pool("other"), nothing),
    Verb("change_slots", lambda pool: control_calls.change_slots(pool, add=["b"]), pool),
    Verb("release_slot", lambda pool: control_calls.release_slot(pool, "main"), pool),
    Verb("drain", worker_calls.drain, worker),
    Verb("recover", lambda _: upkeep.recover(), nothing),
    Verb("set_strategy", lambda _: control_calls.set_strategy("slow", {"grace": 60}), nothing),
    Verb("drop_strategy", lambda _: control_calls.drop_strategy("slow"), nothing),
    Verb(
        "create_token",
        lambda _: control_calls.create_token("x", Role.VIEWER, DEFAULT, bytes(32)),
        nothing,
    ),
    Verb("revoke_token", control_calls.revoke_token, token),
]


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


def rows(store: Store) -> tuple[AuditRow, ...]:
    return store.audit_log(n=1000)


def content(sql: psycopg.Connection) -> dict[str, list[Any]]:
    """All that is in the database, but for the audit and its count of refusals."""
    tables = sql.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'tenure'::regnamespace"
        " AND relkind = 'r' AND relname NOT IN ('audit', 'refusal')"
    ).fetchall()
    return {
        name: sql.execute(f"SELECT t::text FROM tenure.{name} AS t ORDER BY 1".encode()).fetchall()
        for (name,) in tables
    }


def is_refused(
    store: Store, sql: psycopg.Connection, call: Call[Any], actor: str, verb: str, **more: Any
) -> AuditRow:
    """Refused with a sentence, on record in one row, and nothing else has changed."""
    before, seen = content(sql), rows(store)
    with pytest.raises(NotAllowed) as refusal:
        more.get("through", store).send(call)
    after = rows(store)
    assert len(after) == len(seen) + 1
    row = after[0]
    assert (row.verb, row.actor, row.reason) == ("refuse", actor, str(refusal.value))
    assert row.after == {"verb": verb}
    assert content(sql) == before
    return row


# What only an owner or an admin may


@pytest.mark.parametrize("verb", OWNERS, ids=lambda verb: verb.name)
@pytest.mark.parametrize("who", [ANN, ROOT, None], ids=["owner", "admin", "trusted"])
def test_an_owner_and_an_admin_may(store: Store, verb: Verb, who: Principal | None) -> None:
    call = verb.call(verb.make(store))
    store.send(call if who is None else call.asked_by(who))
    row = rows(store)[0]
    assert row.verb == verb.name
    assert (row.actor, row.via) == (
        ("db:postgres", "python") if who is None else (who.name, "rest")
    )


@pytest.mark.parametrize("verb", OWNERS, ids=lambda verb: verb.name)
def test_another_operator_may_not(store: Store, sql: psycopg.Connection, verb: Verb) -> None:
    call = verb.call(verb.make(store)).asked_by(BOB)
    row = is_refused(store, sql, call, "bob", verb.name)
    assert row.reason == f"job 1 belongs to ann; only ann or an admin may {verb.name} it"
    assert (row.subject, row.name, row.via) == ("job", "1", "rest")


@pytest.mark.parametrize("who", [EVE, OWNER_WHO_VIEWS], ids=["another", "owner"])
@pytest.mark.parametrize("verb", OWNERS, ids=lambda verb: verb.name)
def test_a_viewer_may_not_even_with_a_job_of_its_own(
    store: Store, sql: psycopg.Connection, verb: Verb, who: Principal
) -> None:
    row = is_refused(store, sql, verb.call(verb.make(store)).asked_by(who), who.name, verb.name)
    assert row.reason == f"{who.name} is a viewer and may not {verb.name}; an operator may"


def test_a_job_that_is_not_there_is_not_found_and_nobodys(store: Store) -> None:
    for verb in OWNERS[:-1]:
        with pytest.raises(TenureError, match="there is no job 4711"):
            store.send(verb.call(4711).asked_by(BOB))
    with pytest.raises(TenureError, match="there is no cancellation"):
        store.send(control_calls.rollback("cancel-00ffff").asked_by(BOB))
    assert rows(store) == ()


# What only an admin may


@pytest.mark.parametrize("verb", ADMINS, ids=lambda verb: verb.name)
def test_an_operator_and_a_viewer_may_not(
    store: Store, sql: psycopg.Connection, verb: Verb
) -> None:
    call = verb.call(verb.make(store))
    for who, kind in ((ANN, "an operator"), (EVE, "a viewer")):
        row = is_refused(store, sql, call.asked_by(who), who.name, verb.name)
        words = verb.name.replace("_", " ")
        assert row.reason == f"{who.name} is {kind} and may not {words}; an admin may"


@pytest.mark.parametrize("verb", ADMINS, ids=lambda verb: verb.name)
def test_an_admin_may(store: Store, verb: Verb) -> None:
    made = verb.make(store)
    if verb.name == "drop_strategy":
        store.set_strategy("slow", {})
    store.send(verb.call(made).asked_by(ROOT))
    assert not any(row.verb == "refuse" for row in rows(store))


# Enqueueing


def test_an_operator_enqueues_in_its_own_name(store: Store, sql: psycopg.Connection) -> None:
    for owner in (None, "ann"):
        (job,) = store.send(enqueue_calls.enqueue(NewJob(task="work", owner=owner)).asked_by(ANN))
        assert store.show(job.id).owner == "ann"
        (many,) = store.send(
            enqueue_calls.enqueue_many(NewJob(task="work", owner=owner), [{}]).asked_by(ANN)
        )
        assert store.show(many).owner == "ann"
    theirs = NewJob(task="work", owner="bob")
    for call in (
        enqueue_calls.enqueue([NewJob(task="work"), theirs]),
        enqueue_calls.enqueue_many(theirs, [{}]),
        enqueue_calls.enqueue_many(
            NewJob(task="work", owner="bob", unique="k", idempotency="i"), [{}]
        ),
    ):
        row = is_refused(store, sql, call.asked_by(ANN), "ann", "enqueue")
        assert row.reason == "a job of bob is enqueued by bob or an admin; ann is neither"


def test_a_viewer_enqueues_nothing_and_an_admin_for_anybody(
    store: Store, sql: psycopg.Connection
) -> None:
    draft = NewJob(task="work", owner="bob")
    for call in (
        enqueue_calls.enqueue(NewJob(task="work")),
        enqueue_calls.enqueue_many(draft, [{}]),
    ):
        is_refused(store, sql, call.asked_by(EVE), "eve", "enqueue")
    (job,) = store.send(enqueue_calls.enqueue(draft).asked_by(ROOT))
    assert store.show(job.id).owner == "bob"


def test_tasks_are_added_to_a_job_by_its_owner_and_are_its(
    store: Store, sql: psycopg.Connection
) -> None:
    job = make_job(store, owner="ann")
    child = enqueue_calls.enqueue(NewJob(task="work", parent=job))
    row = is_refused(store, sql, child.asked_by(BOB), "bob", "enqueue")
    assert row.reason == f"job {job} belongs to ann; only ann or an admin may add tasks to it"
    assert (row.subject, row.name) == ("job", str(job))
    for who in (ANN, ROOT, Principal("job:1", Role.ADMIN, via="worker")):
        (born,) = store.send(child.asked_by(who))
        assert store.show(born.id).owner == "ann", "so that ann may stop it"
    assert store.send(control_calls.stop(born.id).asked_by(ANN)).initiated_by == "ann"


def test_another_owners_job_is_not_replaced(store: Store) -> None:
    """The key of another owner is another key; an admin reaches it by naming the owner."""
    old = make_job(store, owner="ann", unique="k")
    newer = NewJob(task="work", unique="k", when_taken="replace")
    (his,) = store.send(enqueue_calls.enqueue(newer).asked_by(BOB))
    assert his.created
    assert store.show(old).state is State.PENDING
    (mine,) = store.send(enqueue_calls.enqueue(newer).asked_by(ANN))
    assert mine.created
    assert store.show(old).cancelled_by == "ann"
    for_ann = msgspec.structs.replace(newer, owner="ann")
    (theirs,) = store.send(enqueue_calls.enqueue(for_ann).asked_by(ROOT))
    assert theirs.created
    assert store.show(mine.id).cancelled_by == "root"


# How far a stop reaches


def test_a_cascade_leaves_what_belongs_to_others(store: Store) -> None:
    first = make_job(store, owner="ann")
    hers = make_job(store, owner="ann", after=[first])
    his = make_job(store, owner="bob", after=[first])
    promote(store)
    record = store.send(control_calls.stop(first).asked_by(ANN))
    assert record.tasks_cancelled == (hers,)
    assert store.show(his).state is State.PENDING


def test_a_cascade_of_an_admin_takes_all(store: Store) -> None:
    first = make_job(store, owner="ann")
    his = make_job(store, owner="bob", after=[first])
    promote(store)
    assert store.send(control_calls.stop(first).asked_by(ROOT)).tasks_cancelled == (his,)


def test_what_is_below_goes_with_it_whosever_it_is(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root", owner="ann"),
            NewJob(key="task", task="work", parent="root", owner="bob"),
        ],
    )
    record = store.send(control_calls.stop(ids["root"]).asked_by(ANN))
    assert record.tasks_cancelled == (ids["task"],)


def test_a_rerun_by_an_admin_is_still_its_owners(store: Store) -> None:
    job = make_job_in(store, State.COMPLETED, owner="ann")
    assert store.send(control_calls.rerun(job).asked_by(ROOT)).owner == "ann"


# Database users


def own_job(caller: Store) -> int:
    (job,) = caller.enqueue(NewJob(task="work"))
    return job.id


def test_an_operator_of_the_database_controls_what_is_its_own(
    store: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    name, operator = roles.make("operator")
    theirs, mine = make_job(store, owner="ann"), own_job(operator)
    row = is_refused(
        store, sql, control_calls.stop(theirs), f"db:{name}", "cancel", through=operator
    )
    assert row.reason == f"job {theirs} belongs to ann; only ann or an admin may cancel it"
    assert operator.stop(mine).initiated_by == f"db:{name}"
    again = operator.rerun(mine)
    assert again.owner == f"db:{name}"


@pytest.mark.parametrize("kind", ["admin", "worker"])
def test_an_admin_and_a_worker_of_the_database_stop_anything(
    store: Store, roles: Roles, kind: Kind
) -> None:
    name, caller = roles.make(kind)
    assert caller.stop(make_job(store, owner="ann")).initiated_by == f"db:{name}"


def test_an_admin_of_the_database_reruns_for_the_owner(store: Store, roles: Roles) -> None:
    _, admin = roles.make("admin")
    assert admin.rerun(make_job(store, owner="ann")).owner == "ann"


def test_a_name_and_a_role_from_somebody_who_is_not_trusted_count_for_nothing(
    store: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    name, operator = roles.make("operator")
    job = make_job(store, owner="ann")
    for forged in (ANN, ROOT, Principal("db:postgres", Role.ADMIN, via="rest")):
        stop = control_calls.stop(job).asked_by(forged)
        is_refused(store, sql, stop, f"db:{name}", "cancel", through=operator)
        enqueue = enqueue_calls.enqueue(NewJob(task="work", parent=job)).asked_by(forged)
        is_refused(store, sql, enqueue, f"db:{name}", "enqueue", through=operator)
    (mine,) = operator.send(enqueue_calls.enqueue(NewJob(task="work", owner="ann")).asked_by(ANN))
    assert store.show(mine.id).owner == f"db:{name}"
    assert operator.send(control_calls.stop(mine.id).asked_by(EVE)).initiated_by == f"db:{name}"


def test_settings_of_a_session_make_nobody_trusted(
    store: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    name, _ = roles.make("operator")
    job = make_job(store, owner="ann")
    connection = roles.connection(name)
    for setting in ("role", "session_authorization"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SET {setting} = postgres".encode())
    connection.execute("SET search_path = pg_temp, pg_catalog")
    connection.execute("CREATE FUNCTION pg_temp.trusted() RETURNS boolean LANGUAGE sql RETURN true")
    (told,) = connection.execute(
        "SELECT tenure.stop(%s, by => 'ann', role => 'admin')", (job,)
    ).fetchone() or ({},)
    assert "belongs to ann" in told["forbidden"]
    assert store.show(job).state is State.PENDING


def test_a_delegate_acts_for_whom_it_names_with_the_role_it_names(
    store: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    _, delegate = roles.make("operator", delegate=True)
    job = make_job(store, owner="ann")
    stop = control_calls.stop(job)
    is_refused(store, sql, stop.asked_by(BOB), "bob", "cancel", through=delegate)
    assert delegate.send(stop.asked_by(ANN)).initiated_by == "ann"


def test_a_member_of_an_admitted_role_has_its_role(
    store: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    group, _ = roles.make("admin")
    name, member = roles.make()
    sql.execute(f"GRANT {group} TO {name}".encode())
    assert member.stop(make_job(store, owner="ann")).initiated_by == f"db:{name}"
    assert member.whoami() == {"name": f"db:{name}", "role": "admin", "tenant": "default"}


def test_who_was_given_a_verb_without_an_admission_controls_its_own(
    store: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    name, caller = roles.make()
    sql.execute(f"GRANT USAGE ON SCHEMA tenure TO {name}".encode())
    sql.execute(
        "GRANT EXECUTE ON FUNCTION tenure.stop, tenure.pause_dispatch, tenure.enqueue "
        f"TO {name}".encode()
    )
    assert caller.stop(own_job(caller)).initiated_by == f"db:{name}"
    theirs = control_calls.stop(make_job(store, owner="ann"))
    is_refused(store, sql, theirs, f"db:{name}", "cancel", through=caller)
    queue = control_calls.pause_dispatch("queue", "slow")
    is_refused(store, sql, queue, f"db:{name}", "pause_dispatch", through=caller)


@pytest.mark.parametrize(
    ("kind", "role"),
    [("viewer", "viewer"), ("producer", "operator"), ("operator", "operator"), ("admin", "admin")],
)
def test_whoever_is_connected_can_ask_who_that_is(
    store: Store, roles: Roles, kind: Kind, role: str
) -> None:
    name, caller = roles.make(kind)
    assert caller.whoami() == {"name": f"db:{name}", "role": role, "tenant": "default"}
    assert store.whoami() == {"name": "db:postgres", "role": "admin", "tenant": "default"}


def test_an_unknown_role_is_refused(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store)
    with pytest.raises(psycopg.Error, match="a role is viewer, operator or admin; 'emperor' is"):
        sql.execute("SELECT tenure.stop(%s, role => 'emperor')", (job,))
    forged = {"jobs": '{"task": "work"}', "role": ""}
    types = {"jobs": "pg_catalog.jsonb", "role": "pg_catalog.text"}
    with pytest.raises(InputRefused, match="a role is viewer, operator or admin; '' is none"):
        store.send(Call("enqueue", forged, types, str))


# What is kept


def test_a_refusal_that_was_decided_elsewhere_is_on_record(store: Store) -> None:
    store.send(control_calls.refuse("drain", "bob may not drain").asked_by(BOB))
    (row,) = rows(store)
    assert (row.verb, row.actor, row.via) == ("refuse", "bob", "rest")
    assert (row.subject, row.name, row.reason) == ("tenant", "", "bob may not drain")
    assert row.after == {"verb": "drain"}


def test_who_recovers_by_hand_is_on_record_and_sweeps_are_not(store: Store) -> None:
    store.recover()
    store.send(upkeep.recover(dry_run=True).asked_by(ROOT))
    assert rows(store) == ()
    store.send(upkeep.recover(ids=[4711]).asked_by(ROOT))
    (row,) = rows(store)
    assert (row.verb, row.actor, row.before) == ("recover", "root", {"ids": [4711]})
