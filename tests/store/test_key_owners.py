"""Whose keys are whose: each owner has its own, admins may share some, Tenure has its own."""

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any, Literal

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.principal import Principal, Role
from tenure.errors import InputRefused, KeyTaken, NotAllowed
from tenure.store.calls import enqueue_calls
from tenure.store.results import Enqueued
from tenure.store.store import Store
from tests.factories import make_job, make_job_in
from tests.store.roles import Roles

ANN = Principal("ann", Role.OPERATOR, via="rest")
BOB = Principal("bob", Role.OPERATOR, via="rest")
ROOT = Principal("root", Role.ADMIN, via="rest")

Kind = Literal["unique", "idempotency"]
KINDS: tuple[Kind, ...] = ("unique", "idempotency")


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


def enqueue(store: Store, who: Principal | None = None, **fields: Any) -> Enqueued:
    call = enqueue_calls.enqueue(NewJob(task="work", **fields))
    (answer,) = store.send(call if who is None else call.asked_by(who))
    return answer


# Of owners


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when_taken", ["return", "replace", "refuse"])
def test_the_same_key_of_another_owner_is_another_key(
    store: Store, kind: Kind, when_taken: Literal["return", "replace", "refuse"]
) -> None:
    hers = enqueue(store, ANN, **{kind: "order 7"})
    his = enqueue(store, BOB, when_taken=when_taken, **{kind: "order 7"})
    assert his.created
    assert his.id != hers.id
    assert store.show(hers.id).state is State.PENDING
    again = enqueue(store, ANN, **{kind: "order 7"})
    assert (again.id, again.created) == (hers.id, False)


@pytest.mark.parametrize("kind", KINDS)
def test_database_roles_have_keys_of_their_own(store: Store, roles: Roles, kind: Kind) -> None:
    _, shop = roles.make("producer")
    _, other = roles.make("producer")
    first = enqueue(shop, None, **{kind: "order 7"})
    assert enqueue(other, None, **{kind: "order 7"}).created
    assert enqueue(shop, None, **{kind: "order 7"}).id == first.id
    assert enqueue(store, None, **{kind: "order 7"}).created, "nor has the owner of the schema it"


def test_a_name_that_reads_like_two_is_not_taken_apart_wrongly(store: Store) -> None:
    """The owner's name and the key are stored in one text."""
    names = [("a", "b:c"), ("a:b", "c"), ("1:a", "b:c"), ("tenant", "b"), ("tenure", "b")]
    made = [enqueue(store, ROOT, owner=owner, idempotency=key) for owner, key in names]
    made.append(enqueue(store, ROOT, key_scope="tenant", idempotency="b"))
    assert all(one.created for one in made)


def test_the_longest_owner_with_the_longest_key_is_stored(store: Store) -> None:
    """Together they are longer than an entry of an index may be, which is compressed first."""
    draw = Random(1)
    owner, key = ("".join(chr(draw.randint(0x10000, 0x10FFFF)) for _ in range(500)) for _ in "ab")
    first = enqueue(store, ROOT, owner=owner, idempotency=key)
    assert enqueue(store, ROOT, owner=owner, idempotency=key).id == first.id
    assert enqueue(store, ROOT, owner=owner[:-1] + "x", idempotency=key).created


@pytest.mark.parametrize("kind", KINDS)
def test_a_child_has_the_keys_of_its_parents_owner(store: Store, kind: Kind) -> None:
    """No matter who adds it: a worker does so in the name of the job."""
    parent = make_job(store, owner="ann")
    child = enqueue(store, Principal("job:1", Role.ADMIN), parent=parent, **{kind: "order 7"})
    again = enqueue(store, ANN, **{kind: "order 7"})
    assert (again.id, again.created) == (child.id, False)
    assert enqueue(store, ROOT, **{kind: "order 7"}).created


def test_a_task_named_by_key_in_the_call_has_the_keys_of_its_parents_owner(store: Store) -> None:
    whole = [
        NewJob(key="root", owner="ann"),
        NewJob(key="leaf", task="work", parent="root", idempotency="order 7"),
    ]
    _, leaf = store.enqueue(whole)
    assert enqueue(store, ANN, idempotency="order 7").id == leaf.id


def test_schedules_share_their_keys_with_the_application(store: Store) -> None:
    """Both are the code that runs as the owner of the schema."""
    ours = enqueue(store, unique="site a")
    (fired,) = store.enqueue(NewJob(task="work", unique="site a"), by="schedule:nightly")
    assert (fired.id, fired.created) == (ours.id, False)
    (child,) = store.enqueue(
        NewJob(
            task="work",
            parent=make_job(store, owner="schedule:nightly"),
            unique="site a",
        ),
        by="job:2",
    )
    assert child.id == ours.id
    assert enqueue(store, ROOT, unique="site a").created, "an admin by name has its own"


# Of admins


@pytest.mark.parametrize("kind", KINDS)
def test_an_admin_reaches_the_key_of_an_owner_whom_it_names(store: Store, kind: Kind) -> None:
    hers = enqueue(store, ANN, **{kind: "order 7"})
    assert enqueue(store, ROOT, **{kind: "order 7"}).created, "not by accident"
    named = enqueue(store, ROOT, owner="ann", **{kind: "order 7"})
    assert (named.id, named.created) == (hers.id, False)


@pytest.mark.parametrize("kind", KINDS)
def test_admins_share_keys_by_choice(store: Store, kind: Kind) -> None:
    first = enqueue(store, ROOT, key_scope="tenant", **{kind: "import"})
    other = Principal("eva", Role.ADMIN)
    again = enqueue(store, other, key_scope="tenant", **{kind: "import"})
    assert (again.id, again.created) == (first.id, False)
    assert enqueue(store, other, **{kind: "import"}).created, "those of its own are others"


@pytest.mark.parametrize("kind", KINDS)
def test_an_operator_takes_no_key_of_the_whole_tenant(store: Store, kind: Kind) -> None:
    shared = enqueue(store, ROOT, key_scope="tenant", **{kind: "import"})
    for draft in (
        NewJob(task="work", key_scope="tenant", **{kind: "import"}),  # type: ignore[arg-type]
        NewJob(task="work", key_scope="tenant", **{kind: "new"}),  # type: ignore[arg-type]
    ):
        with pytest.raises(NotAllowed, match="ann is an operator and may not share keys"):
            store.send(enqueue_calls.enqueue(draft).asked_by(ANN))
        with pytest.raises(NotAllowed, match="ann is an operator and may not share keys"):
            store.send(enqueue_calls.enqueue_many(draft, [{}]).asked_by(ANN))
    assert store.audit_log(n=1)[0].actor == "ann", "the refusal is on record"
    assert store.show(shared.id).state is State.PENDING
    assert len(store.list_jobs()) == 1


def test_keys_are_an_owners_or_the_tenants_and_nothing_else(sql: psycopg.Connection) -> None:
    for scope in ("tenure", "", "Tenant", "ann"):
        with pytest.raises(psycopg.Error, match=r"key_scope .* it can be owner or tenant"):
            sql.execute(
                "SELECT tenure.enqueue(jsonb_build_object('task', 'work', 'idempotency', 'k',"
                " 'key_scope', %s::text))",
                (scope,),
            )


# Of Tenure itself


def reserved(store: Store, **fields: Any) -> Enqueued:
    """As a worker enqueues what Tenure itself wants."""
    keys = {name: fields.pop(f"own_{name}", None) for name in ("idempotency", "unique")}
    (answer,) = store.enqueue_reserved(
        NewJob(task="work", **fields), **keys, by="job:1", via="worker"
    )
    return answer


NAMES = ["spawn:5:1:child", "tenure.undo 11", "undo:11", "schedule:nightly", "tenure:undo:11"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("who", [ANN, ROOT, None], ids=["operator", "admin", "owner"])
def test_nobody_can_take_a_key_of_tenures_own(
    store: Store, name: str, who: Principal | None
) -> None:
    for scope in ("owner", "tenant") if who is not ANN else ("owner",):
        enqueue(store, who, idempotency=name, unique=name, key_scope=scope)
    ours = reserved(store, own_idempotency=name, own_unique=name)
    assert ours.created
    assert reserved(store, own_idempotency=name).id == ours.id
    assert reserved(store, own_unique=name).id == ours.id


def test_a_child_of_another_owners_job_cannot_be_pretended(store: Store) -> None:
    parent = make_job(store, owner="ann")
    enqueue(store, BOB, idempotency=f"spawn:{parent}:1:child")
    child = reserved(store, parent=parent, own_idempotency=f"spawn:{parent}:1:child")
    assert child.created
    seen = store.show(child.id)
    assert (seen.parent_id, seen.owner) == (parent, "ann")


def test_a_schedule_cannot_be_stopped_by_its_key(store: Store) -> None:
    enqueue(store, BOB, unique="schedule:nightly", delay=timedelta(days=3650))
    enqueue(store, None, unique="schedule:nightly", delay=timedelta(days=3650))
    assert reserved(
        store, own_unique="schedule:nightly", own_idempotency="schedule:nightly:1"
    ).created


def test_the_keys_that_a_spawned_job_brings_are_its_owners(store: Store) -> None:
    parent = make_job(store, owner="ann")
    hers = enqueue(store, ANN, unique="site a")
    child = reserved(store, parent=parent, unique="site a", own_idempotency="spawn:1:1:child")
    assert (child.id, child.taken) == (hers.id, "unique")


def test_a_reserved_job_is_checked_like_any_other(store: Store) -> None:
    over = make_job_in(store, State.COMPLETED)
    with pytest.raises(InputRefused, match="it takes a text of 1 to 500 characters"):
        store.enqueue_reserved(NewJob(task=""))
    reserved(store, own_unique="k")
    with pytest.raises(KeyTaken, match="unique key"):
        reserved(store, own_unique="k", when_taken="refuse")
    needs = reserved(store, after=[over])
    assert [need["job_id"] for need in store.show(needs.id).needs] == [over]
