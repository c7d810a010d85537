"""Stops that are asked for now and carried out later."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.handle import Handle
from tenure.control.policies import stop_at
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, JobNotFound, NotAllowed
from tenure.store.policy_results import Policy
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import make_job

HOUR = timedelta(hours=1)


@pytest.fixture
def client(database: str) -> Iterator[Client]:
    with Client(database) as client:
        yield client


def test_a_job_is_cancelled_at_a_time(client: Client, store: Store, clock: Clock) -> None:
    handle = Handle[None](client, make_job(store), DEFAULT)
    at = datetime.now(UTC) + HOUR
    first = handle.cancel_at(at, "closing time", by="ada")
    second = handle.cancel_at(at + HOUR, strategy="immediate")
    assert (first.name, first.created_by) == (second.name, "ada")
    clock.advance(HOUR + timedelta(minutes=1))
    assert store.enforce_policies().stopped == 0
    clock.advance(HOUR)
    assert store.enforce_policies().stopped == 1
    record = store.cancellation(job=handle.id)
    assert (record.initiated_by, record.force) == (f"policy:cancel-at:{handle.id}", True)
    assert handle.job().state is State.CANCELLED
    assert store.policies() == ()


def test_in_async_code_too_and_called_off(client: Client, store: Store) -> None:
    handle = Handle[None](client, make_job(store), DEFAULT)

    async def asked() -> Policy:
        async with client:
            return await handle.acancel_at(datetime.now(UTC) - HOUR)

    store.drop_policy(asyncio.run(asked()).name)
    assert store.enforce_policies().stopped == 0


def test_a_job_is_paused_at_a_time(client: Client, store: Store) -> None:
    job = make_job(store)
    client.perform(stop_at(job, datetime.now(UTC) - HOUR, Intent.PAUSE), DEFAULT)
    store.enforce_policies()
    assert store.show(job).state is State.PAUSED


def test_invalid_policies_are_refused(client: Client, store: Store) -> None:
    with pytest.raises(JobNotFound, match="there is no job 77"):
        Handle[None](client, 77, DEFAULT).cancel_at(datetime.now(UTC))
    with pytest.raises(InputRefused, match="has no time zone"):
        Handle[None](client, make_job(store), DEFAULT).cancel_at(datetime(2030, 1, 1))  # noqa: DTZ001


def test_only_the_owner_or_an_admin_may(client: Client, store: Store) -> None:
    job = make_job(store, owner="ann")
    at = datetime.now(UTC) + HOUR

    def asked_by(name: str, role: Role) -> str:
        return AuthorizedClient(client, Principal(name, role)).perform(stop_at(job, at)).created_by

    for role in (Role.OPERATOR, Role.VIEWER):
        with pytest.raises(NotAllowed):
            asked_by("bob", role)
    assert asked_by("ann", Role.OPERATOR) == "ann"
    assert asked_by("root", Role.ADMIN) == "ann"
