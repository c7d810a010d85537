"""Database roles: one for each kind of caller, with the verbs it needs and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tenure.domain.inspection import InspectionAnswer
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, NotAllowed, TenureError
from tenure.store import schema
from tenure.store.calls import diagnosis, queries, task_calls
from tenure.store.store import Store
from tests.factories import announcement, make_job, make_worker
from tests.store.roles import KINDS, Kind, Roles

LOOKING = {
    "show",
    "list_jobs",
    "job_rows",
    "status_counts",
    "filter_values",
    "job_with_key",
    "runners",
    "explain",
    "statistics",
    "cancellation",
    "cancellations",
    "audit_log",
    "job_output",
    "pools",
    "workers",
    "targets",
    "strategies",
    "principal",
    "session_principal",
    "log_in",
    "log_in_by_code",
    "create_login_code",
    "log_out",
    "whoami",
    "totals",
    "history",
    "movements",
    "stops",
    "diagnose",
    "server",
    "policies",
    "bulk",
    "bulks",
    "bulk_preview",
    "tasks",
    "steps",
    "questions",
    "stream",
    "limits",
    "pauses",
    "leaks",
    "task_runs",
    "stop_summary",
    "family",
    "dependencies",
    "newest_output",
    "scale",
}
OWN = {"enqueue", "enqueue_many", "queue", "stop", "resume", "clear", "rerun", "rollback", "refuse"}
OWN |= {"set_policy", "drop_policy", "inspect", "inspection", "end_runner"}
OWN |= {"answer", "publish"}
OWN |= {"bulk_stop", "bulk_resume", "bulk_rerun", "advance_bulk"}
MAY: dict[Kind, set[str]] = {
    "producer": {"enqueue", "enqueue_many", "queue", "show", "explain", "job_output", "whoami"}
    | {"job_with_key", "tasks", "steps", "publish", "stream"},
    "viewer": LOOKING | {"refuse", "answer"},
    "operator": LOOKING | OWN,
    "admin": LOOKING
    | OWN
    | {
        "pause_dispatch",
        "resume_dispatch",
        "create_pool",
        "change_slots",
        "release_slot",
        "recover",
        "drain",
    }
    | {"step", "close_record", "prune", "tenants", "tokens", "create_token", "revoke_token"}
    | {"set_strategy", "drop_strategy", "announce_tasks"}
    | {"set_limit", "drop_limit", "close_limit", "open_limit"}
    | {"set_webhook", "rotate_webhook", "drop_webhook", "test_webhook", "redeliver"}
    | {"webhooks", "deliveries"},
    "worker": {
        "register",
        "renew",
        "read_signals",
        "leave",
        "claim",
        "held",
        "finish",
        "crash",
        "release",
    }
    | {
        "exchange",
        "report",
        "promote",
        "recover",
        "prune",
        "stop",
        "note_reached",
        "close_record",
        "fail_records",
        "show",
    }
    | {"waiting_priority", "end_session", "completed", "enforce_policies", "advance_bulk"}
    | {"roll_up", "tenant_activity", "sweep"}
    | {"discards", "discarded", "answer_inspection", "enqueue_reserved", "announce"}
    | {"kept_steps", "await_step"}
    | {"due_webhooks", "take_deliveries", "record_deliveries"},
}
OF_THE_OWNER = {"admit", "declare_dead", "prune_records"}
READ_BY_THE_VIEW = {"status", "cancellation_name"}  # PostgreSQL asks the reader of a view for them

VERBS: dict[str, Callable[[Store, int], object]] = {
    "enqueue": lambda s, _: s.enqueue(NewJob(task="work")),
    "enqueue_many": lambda s, _: s.enqueue_many(NewJob(task="work"), [{}]),
    "enqueue_reserved": lambda s, _: s.enqueue_reserved(NewJob(task="work")),
    "queue": lambda s, job: s.queue(job),
    "family": lambda s, job: s.family(job),
    "dependencies": lambda s, job: s.dependencies(job),
    "newest_output": lambda s, job: s.newest_output(job, "logs"),
    "promote": lambda s, _: s.promote(),
    "register": lambda s, _: s.register(uuid4(), "host", 1, timedelta(seconds=1)),
    "announce": lambda s, _: s.announce(uuid4(), []),
    "announce_tasks": lambda s, _: s.announce_tasks([announcement("work")]),
    "tasks": lambda s, _: s.tasks(),
    "renew": lambda s, _: s.renew(uuid4()),
    "read_signals": lambda s, _: s.read_signals(uuid4()),
    "leave": lambda s, _: s.leave(uuid4()),
    "tenant_activity": lambda s, _: s.tenant_activity(),
    "sweep": lambda s, _: s.sweep(),
    "drain": lambda s, _: s.drain(uuid4()),
    "claim": lambda s, _: s.claim(uuid4(), 1),
    "held": lambda s, _: s.held(uuid4()),
    "finish": lambda s, _: s.finish(uuid4(), []),
    "exchange": lambda s, _: s.exchange(uuid4()),
    "waiting_priority": lambda s, _: s.waiting_priority(uuid4()),
    "end_session": lambda s, job: s.end_session(uuid4(), job, 1),
    "workers": lambda s, _: s.workers(),
    "crash": lambda s, _: s.crash(uuid4(), []),
    "release": lambda s, _: s.release(uuid4(), []),
    "report": lambda s, _: s.report(uuid4(), []),
    "completed": lambda s, job: s.completed(uuid4(), job, 1),
    "stop": lambda s, job: s.stop(job),
    "inspect": lambda s, job: s.inspect(job),
    "inspection": lambda s, job: s.inspection(job),
    "runners": lambda s, job: s.runners(job),
    "end_runner": lambda s, _: s.end_runner("runner-none-1"),
    "answer_inspection": lambda s, job: s.answer_inspection(
        uuid4(), job, 1, 1, InspectionAnswer((), (), ())
    ),
    "rollback": lambda s, _: s.rollback("cancel-000001"),
    "step": lambda s, _: s.step("cancel-000001", "update_tasks", "completed"),
    "note_reached": lambda s, _: s.note_reached(uuid4(), "cancel-000001", {}),
    "close_record": lambda s, _: s.close_record("cancel-000001", "partial"),
    "fail_records": lambda s, job: s.fail_records(uuid4(), job, 1, "refused"),
    "resume": lambda s, job: s.resume(job),
    "clear": lambda s, job: s.clear(job),
    "rerun": lambda s, job: s.rerun(job),
    "steps": lambda s, job: s.steps(job),
    "questions": lambda s, job: s.questions(job),
    "pauses": lambda s, _: s.send(queries.pauses()),
    "leaks": lambda s, _: s.send(diagnosis.leaks()),
    "stop_summary": lambda s, job: s.send(queries.stop_summary(job=job)),
    "scale": lambda s, _: s.send(queries.scale()),
    "task_runs": lambda s, _: s.send(task_calls.task_runs()),
    "answer": lambda s, job: s.answer(job, "1"),
    "publish": lambda s, _: s.publish("paid"),
    "kept_steps": lambda s, job: s.kept_steps(uuid4(), job, 1),
    "await_step": lambda s, job: s.await_step(uuid4(), job, 1, {"name": "x"}),
    "pause_dispatch": lambda s, _: s.pause_dispatch("queue", "slow"),
    "resume_dispatch": lambda s, _: s.resume_dispatch("queue", "slow"),
    "create_pool": lambda s, _: s.create_pool("tree"),
    "change_slots": lambda s, _: s.change_slots("tree"),
    "release_slot": lambda s, _: s.release_slot("tree", "main"),
    "set_strategy": lambda s, _: s.set_strategy("slow", {}),
    "drop_strategy": lambda s, _: s.drop_strategy("slow"),
    "limits": lambda s, _: s.limits(),
    "set_webhook": lambda s, _: s.set_webhook("none", "https://example.org"),
    "rotate_webhook": lambda s, _: s.rotate_webhook("none"),
    "drop_webhook": lambda s, _: s.drop_webhook("none"),
    "test_webhook": lambda s, _: s.test_webhook("none"),
    "redeliver": lambda s, _: s.redeliver("none"),
    "webhooks": lambda s, _: s.webhooks(),
    "deliveries": lambda s, _: s.deliveries("none"),
    "due_webhooks": lambda s, _: s.due_webhooks(),
    "take_deliveries": lambda s, _: s.take_deliveries("none"),
    "record_deliveries": lambda s, _: s.record_deliveries("none", []),
    "set_limit": lambda s, _: s.set_limit("calls", at_once=1),
    "drop_limit": lambda s, _: s.drop_limit("calls"),
    "close_limit": lambda s, _: s.close_limit("calls"),
    "open_limit": lambda s, _: s.open_limit("calls"),
    "create_token": lambda s, _: s.create_token("ann", Role.VIEWER, DEFAULT, bytes(32)),
    "revoke_token": lambda s, _: s.revoke_token(1),
    "refuse": lambda s, _: s.refuse("stop", "no"),
    "recover": lambda s, _: s.recover(),
    "prune": lambda s, _: s.prune({State.COMPLETED: timedelta(days=1)}),
    "roll_up": lambda s, _: s.roll_up(),
    "show": lambda s, job: s.show(job),
    "list_jobs": lambda s, _: s.list_jobs(),
    "job_rows": lambda s, _: s.job_rows(),
    "status_counts": lambda s, _: s.status_counts({}, ["queued"]),
    "filter_values": lambda s, _: s.filter_values("queue"),
    "job_with_key": lambda s, _: s.job_with_key("k"),
    "explain": lambda s, job: s.explain(job),
    "statistics": lambda s, _: s.statistics(),
    "history": lambda s, _: s.history(),
    "cancellation": lambda s, _: s.cancellation("cancel-000001"),
    "cancellations": lambda s, _: s.cancellations(),
    "audit_log": lambda s, _: s.audit_log(),
    "job_output": lambda s, job: s.job_output(job, "logs"),
    "pools": lambda s, _: s.pools(),
    "targets": lambda s, _: s.targets(),
    "strategies": lambda s, _: s.strategies(),
    "tokens": lambda s, _: s.tokens(),
    "principal": lambda s, _: s.principal(bytes(32)),
    "session_principal": lambda s, _: s.session_principal(bytes(32)),
    "log_in": lambda s, _: s.log_in(bytes(32), bytes(32)),
    "log_in_by_code": lambda s, _: s.log_in_by_code(bytes(32), bytes(32)),
    "create_login_code": lambda s, _: s.create_login_code(bytes(32), bytes(32)),
    "log_out": lambda s, _: s.log_out(bytes(32)),
    "whoami": lambda s, _: s.whoami(),
    "tenants": lambda s, _: s.tenants(),
    "admit": lambda s, _: s.admit("postgres", "viewer"),
}


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


def is_allowed(verb: str, store: Store, job: int) -> bool:
    """Whether it may ask at all, whatever it is answered."""
    try:
        VERBS[verb](store, job)
    except TenureError as refusal:
        return "the database role may not do this" not in str(refusal)
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_can_do_its_verbs_and_no_other(store: Store, roles: Roles, kind: Kind) -> None:
    job = make_job(store)
    _, caller = roles.make(kind)
    assert {verb for verb in VERBS if is_allowed(verb, caller, job)} == MAY[kind] & VERBS.keys()


def test_a_role_that_was_not_admitted_can_do_nothing(store: Store, roles: Roles) -> None:
    job = make_job(store)
    _, caller = roles.make()
    assert {verb for verb in VERBS if is_allowed(verb, caller, job)} == set()


def test_every_file_outside_helpers_is_a_verb_that_a_role_or_the_owner_calls() -> None:
    verbs = Path(schema.__file__).with_name("verbs")
    public = {file.stem for file in verbs.rglob("*.sql") if "helpers" not in file.parts}
    granted = set[str]().union(*MAY.values())
    assert public == granted | OF_THE_OWNER | {"newest_migrations", "jobs"}


def test_no_function_behind_the_verbs_can_be_called(sql: psycopg.Connection, roles: Roles) -> None:
    for kind in KINDS:
        name, _ = roles.make(kind)
        rows = sql.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'tenure'::regnamespace"
            " AND has_function_privilege(%s, oid, 'EXECUTE')",
            (name,),
        ).fetchall()
        may = MAY[kind] | {"newest_migrations"}  # to see that the program is not too old
        assert {verb for (verb,) in rows} - READ_BY_THE_VIEW == may, kind


def test_no_kind_has_a_right_on_any_table(sql: psycopg.Connection, roles: Roles) -> None:
    for kind in KINDS:
        name, _ = roles.make(kind)
        rows = sql.execute(
            "SELECT c.relname FROM pg_class AS c"
            " WHERE c.relnamespace = 'tenure'::regnamespace AND c.relkind IN ('r', 'p') AND"
            " has_table_privilege(%s, c.oid,"
            " 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')",
            (name,),
        ).fetchall()
        assert rows == [], kind
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            roles.connection(name).execute("SELECT FROM tenure.job")


def test_a_producer_enqueues_and_nothing_more_is_needed(store: Store, roles: Roles) -> None:
    name, producer = roles.make("producer")
    (job,) = producer.enqueue(NewJob(task="work", args={"a": 1}))
    seen = store.show(job.id)
    assert (seen.args, seen.owner) == ({"a": 1}, f"db:{name}")
    with pytest.raises(NotAllowed, match="may not do this"):
        producer.stop(job.id)
    assert store.show(job.id).state is State.PENDING


def test_a_worker_does_a_job_from_claim_to_end(store: Store, roles: Roles) -> None:
    _, keeper = roles.make("worker")
    job = make_job(store)
    worker = make_worker(keeper)
    assert keeper.renew(worker.id).alive
    assert worker.finish(worker.claim_one(), value=1).accepted == {job: State.COMPLETED}


def test_a_viewer_reads_the_view_without_a_token(store: Store, roles: Roles) -> None:
    job = make_job(store)
    make_worker(store).claim_one()
    name, _ = roles.make("viewer")
    cursor = roles.connection(name).execute("SELECT * FROM tenure.jobs")
    assert [row[0] for row in cursor.fetchall()] == [job]
    assert "token" not in [column.name for column in cursor.description or ()]


def test_no_kind_can_change_the_audit(store: Store, roles: Roles) -> None:
    store.stop(make_job(store))
    for kind in KINDS:
        connection = roles.connection(roles.make(kind)[0])
        for statement in (
            "INSERT INTO tenure.audit (actor) VALUES ('nobody')",
            "UPDATE tenure.audit SET actor = 'nobody'",
            "DELETE FROM tenure.audit",
            "TRUNCATE tenure.audit",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
    assert [row.actor for row in store.audit_log("job")] == ["db:postgres"]


def test_a_worker_cannot_prune_the_audit_away(store: Store, roles: Roles) -> None:
    store.stop(make_job(store))
    _, keeper = roles.make("worker")
    with suppress(TenureError):  # refused is as good
        keeper.prune_records(keep_audit=timedelta(0))
    assert len(store.audit_log("job")) == 1


def test_only_a_delegate_may_name_the_actor(store: Store, roles: Roles) -> None:
    name, plain = roles.make("admin")
    _, delegate = roles.make("operator", delegate=True)
    for caller, actor in ((plain, f"db:{name}"), (delegate, "user:ann")):
        record = caller.stop(make_job(store), by="user:ann")
        assert record.initiated_by == actor
        assert store.audit_log(n=1)[0].actor == actor


def test_a_delegate_that_names_nobody_is_itself_on_record(store: Store, roles: Roles) -> None:
    name, delegate = roles.make("operator", delegate=True)
    assert delegate.stop(make_job(store)).initiated_by == f"db:{name}"
    assert delegate.stop(make_job(store), by="").initiated_by == f"db:{name}"


def test_a_name_that_looks_like_the_delegate_role_is_not_enough(store: Store, roles: Roles) -> None:
    name, _ = roles.make("admin")
    job = make_job(store)
    connection = roles.connection(name)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SET ROLE tenure_delegate")
    connection.execute("SET application_name = 'tenure_delegate'")
    connection.execute("SELECT tenure.stop(%s, by => 'user:ann')", (job,))
    assert store.audit_log()[0].actor == f"db:{name}"


def test_an_admin_of_another_tenant_has_no_say_over_what_all_share(
    store: Store, roles: Roles, sql: psycopg.Connection, database: str
) -> None:
    acme = Tenant("acme")
    schema.migrate(sql, acme)
    name, _ = roles.make()
    with Store(database, acme) as theirs:
        theirs.admit(name, "admin")
    with Store(roles.url(name), acme) as admin:
        assert admin.list_jobs() == ()
        assert admin.pause_dispatch("tenant") == {"paused": True}
        for refused in (lambda: admin.drain(uuid4()), admin.tenants):
            with pytest.raises(NotAllowed, match="the database role may not do this"):
                refused()
    with Store(roles.url(name)) as elsewhere, pytest.raises(NotAllowed):
        elsewhere.list_jobs()
    assert [seen.name for seen in store.tenants() if seen.paused] == ["acme"]


def test_an_owner_of_a_job_is_named_by_a_delegate_only(store: Store, roles: Roles) -> None:
    name, plain = roles.make("producer")
    _, delegate = roles.make("producer", delegate=True)
    for caller, owner in ((plain, f"db:{name}"), (delegate, "ann")):
        (job,) = caller.enqueue(NewJob(task="work", owner="ann"))
        assert store.show(job.id).owner == owner


def test_unknown_kinds_and_roles_are_refused(store: Store, roles: Roles) -> None:
    name, _ = roles.make()
    with pytest.raises(InputRefused, match="a producer, viewer, operator, admin or worker"):
        store.admit(name, "emperor")  # type: ignore[arg-type]
    with pytest.raises(InputRefused, match="there is no database role"):
        store.admit(f"{name}_x", "viewer")
