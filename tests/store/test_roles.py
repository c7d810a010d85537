"""Database roles: one for each kind of caller, with the verbs it needs and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any, Literal
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql as compose

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import InputRefused, NotAllowed, TenureError
from tenure.store.store import Store
from tests.factories import make_job, make_worker

Kind = Literal["producer", "viewer", "operator", "worker"]
KINDS: tuple[Kind, ...] = ("producer", "viewer", "operator", "worker")

LOOKING = {
    "show",
    "list_jobs",
    "explain",
    "statistics",
    "cancellation",
    "cancellations",
    "trail",
    "kept",
    "pools",
    "workers",
}
MAY: dict[Kind, set[str]] = {
    "producer": {"enqueue", "enqueue_many", "queue", "show", "explain", "kept"},
    "viewer": LOOKING,
    "operator": LOOKING
    | {"stop", "resume", "clear", "rerun", "queue", "pause", "unpause"}
    | {"create_pool", "change_slots", "release_slot", "recover", "drain"},
    "worker": {"register", "renew", "leave", "claim", "held", "finish", "crash", "release"}
    | {"exchange", "report", "promote", "recover", "prune", "stop", "step", "close_record", "show"}
    | {"waiting_priority", "end_session"},
}
READ_BY_THE_VIEW = {"status", "cancellation_name"}  # PostgreSQL asks the reader of a view for them

VERBS: dict[str, Callable[[Store, int], object]] = {
    "enqueue": lambda s, _: s.enqueue(NewJob(task="work")),
    "enqueue_many": lambda s, _: s.enqueue_many(NewJob(task="work"), [{}]),
    "queue": lambda s, job: s.queue(job),
    "promote": lambda s, _: s.promote(),
    "register": lambda s, _: s.register(uuid4(), "host", 1, timedelta(seconds=1)),
    "renew": lambda s, _: s.renew(uuid4()),
    "leave": lambda s, _: s.leave(uuid4()),
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
    "stop": lambda s, job: s.stop(job),
    "step": lambda s, _: s.step("cancel-000001", "update_tasks", "completed"),
    "close_record": lambda s, _: s.close_record("cancel-000001", "partial"),
    "resume": lambda s, job: s.resume(job),
    "clear": lambda s, job: s.clear(job),
    "rerun": lambda s, job: s.rerun(job),
    "pause": lambda s, _: s.pause("queue", "slow"),
    "unpause": lambda s, _: s.unpause("queue", "slow"),
    "create_pool": lambda s, _: s.create_pool("tree"),
    "change_slots": lambda s, _: s.change_slots("tree"),
    "release_slot": lambda s, _: s.release_slot("tree", "main"),
    "recover": lambda s, _: s.recover(),
    "prune": lambda s, _: s.prune({State.COMPLETED: timedelta(days=1)}),
    "show": lambda s, job: s.show(job),
    "list_jobs": lambda s, _: s.list_jobs(),
    "explain": lambda s, job: s.explain(job),
    "statistics": lambda s, _: s.statistics(),
    "cancellation": lambda s, _: s.cancellation("cancel-000001"),
    "cancellations": lambda s, _: s.cancellations(),
    "trail": lambda s, _: s.trail(),
    "kept": lambda s, job: s.kept(job, "logs"),
    "pools": lambda s, _: s.pools(),
    "admit": lambda s, _: s.admit("postgres", "viewer"),
}


class Roles:
    """Roles of one test. They belong to the whole cluster, so they are dropped by their names."""

    def __init__(self, owner: Store, sql: psycopg.Connection, url: str) -> None:
        self._owner, self._sql, self._url = owner, sql, url
        self._opened = ExitStack()
        self._names: list[str] = []

    def make(self, kind: Kind | None = None, *, delegate: bool = False) -> tuple[str, Store]:
        name = f"test_{kind or 'nobody'}_{uuid4().hex[:12]}"
        self._run("CREATE ROLE {} LOGIN", name)
        self._names.append(name)
        if delegate:
            self._run("GRANT tenure_delegate TO {}", name)
        if kind is not None:
            self._owner.admit(name, kind)
        return name, self._opened.enter_context(Store(self.url(name)))

    def connection(self, name: str) -> psycopg.Connection:
        return self._opened.enter_context(psycopg.connect(self.url(name), autocommit=True))

    def url(self, name: str) -> str:
        return self._url.replace("//postgres@", f"//{name}@")

    def drop(self) -> None:
        self._opened.close()
        for name in self._names:
            self._run("DROP OWNED BY {}", name)
            self._run("DROP ROLE {}", name)

    def _run(self, statement: Any, name: str) -> None:
        self._sql.execute(compose.SQL(statement).format(compose.Identifier(name)))


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


def is_allowed(verb: str, store: Store, job: int) -> bool:
    try:
        VERBS[verb](store, job)
    except NotAllowed:
        return False
    except TenureError:
        pass  # it may ask, and was refused for what it asked
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_can_do_its_verbs_and_no_other(store: Store, roles: Roles, kind: Kind) -> None:
    job = make_job(store)
    _, caller = roles.make(kind)
    assert {verb for verb in VERBS if is_allowed(verb, caller, job)} == MAY[kind]


def test_a_role_that_was_not_admitted_can_do_nothing(store: Store, roles: Roles) -> None:
    job = make_job(store)
    _, caller = roles.make()
    assert {verb for verb in VERBS if is_allowed(verb, caller, job)} == set()


def test_no_function_behind_the_verbs_can_be_called(sql: psycopg.Connection, roles: Roles) -> None:
    for kind in KINDS:
        name, _ = roles.make(kind)
        rows = sql.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'tenure'::regnamespace"
            " AND has_function_privilege(%s, oid, 'EXECUTE')",
            (name,),
        ).fetchall()
        assert {verb for (verb,) in rows} - READ_BY_THE_VIEW == MAY[kind]


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
    assert [row.actor for row in store.trail("job")] == ["db:postgres"]


def test_a_worker_cannot_prune_the_audit_away(store: Store, roles: Roles) -> None:
    store.stop(make_job(store))
    _, keeper = roles.make("worker")
    with suppress(TenureError):  # refused is as good
        keeper.prune_records(keep_audit=timedelta(0))
    assert len(store.trail("job")) == 1


def test_only_a_delegate_may_name_the_actor(store: Store, roles: Roles) -> None:
    name, plain = roles.make("operator")
    _, delegate = roles.make("operator", delegate=True)
    for caller, actor in ((plain, f"db:{name}"), (delegate, "user:ann")):
        record = caller.stop(make_job(store), by="user:ann")
        assert record.initiated_by == actor
        assert store.trail(n=1)[0].actor == actor


def test_a_delegate_that_names_nobody_is_itself_on_record(store: Store, roles: Roles) -> None:
    name, delegate = roles.make("operator", delegate=True)
    assert delegate.stop(make_job(store)).initiated_by == f"db:{name}"
    assert delegate.stop(make_job(store), by="").initiated_by == f"db:{name}"


def test_a_name_that_looks_like_the_delegate_role_is_not_enough(store: Store, roles: Roles) -> None:
    name, _ = roles.make("operator")
    job = make_job(store)
    connection = roles.connection(name)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SET ROLE tenure_delegate")
    connection.execute("SET application_name = 'tenure_delegate'")
    connection.execute("SELECT tenure.stop(%s, by => 'user:ann')", (job,))
    assert store.trail()[0].actor == f"db:{name}"


def test_an_owner_of_a_job_is_named_by_a_delegate_only(store: Store, roles: Roles) -> None:
    name, plain = roles.make("producer")
    _, delegate = roles.make("producer", delegate=True)
    for caller, owner in ((plain, f"db:{name}"), (delegate, "ann")):
        (job,) = caller.enqueue(NewJob(task="work", owner="ann"))
        assert store.show(job.id).owner == owner


def test_unknown_kinds_and_roles_are_refused(store: Store, roles: Roles) -> None:
    name, _ = roles.make()
    with pytest.raises(InputRefused, match="a role is a producer, viewer, operator or worker"):
        store.admit(name, "emperor")  # type: ignore[arg-type]
    with pytest.raises(InputRefused, match="there is no database role"):
        store.admit(f"{name}_x", "viewer")
