"""Health: findings about the database, the workers, the jobs and their surroundings.

``ready`` is one quick check, for a probe every few seconds; ``examine`` checks everything.
"""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from tenure.control import checks
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.checks import Finding, Level, fine, warning, wrong
from tenure.control.client import Client
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import (
    EmbeddedUnavailable,
    NotAllowed,
    SchemaMismatch,
    StoreUnavailable,
    TenureError,
)
from tenure.store.call import Call
from tenure.store.calls import diagnosis, queries
from tenure.store.diagnosis_results import Diagnosis, ServerInfo
from tenure.store.migrating import Migrator
from tenure.store.notices import Notices

T = TypeVar("T")

_NOTIFIED_WITHIN = 3.0  # seconds, for a notification to arrive


async def ready(client: Client, tenant: Tenant = DEFAULT) -> Finding:
    """Check that the database answers, and that its schema fits this version."""
    began = time.monotonic()
    try:
        server = await (await client.astore_of(tenant)).server()
    except TenureError as error:
        return unreachable(error)
    took = time.monotonic() - began
    schema = await _schema(client, tenant)
    return schema if schema.level is Level.WRONG else checks.of_postgresql(server, took)


def unreachable(error: TenureError) -> Finding:
    """Return the finding for a database that cannot be queried."""
    if isinstance(error, SchemaMismatch):
        return wrong("schema", str(error), "run: tenure migrate")
    return wrong("postgresql", str(error), "check the server, the URL, and the network between")


async def examine(caller: AuthorizedClient) -> AsyncIterator[Finding]:
    """Check everything and yield the findings; without a database there is only one."""
    client, settings = caller.client, caller.client.settings
    schema = await _schema(client, caller.principal.tenant)
    if schema.check == "postgresql" or schema.level == "wrong":
        yield schema
        return
    await caller.asend(diagnosis.server())  # connecting is not measured
    asked, began = datetime.now(UTC), time.monotonic()
    server = await caller.asend(diagnosis.server())
    took = time.monotonic() - began
    yield checks.of_postgresql(server, took)
    yield schema
    yield checks.of_durability(server)
    yield await _notices(client)
    yield checks.of_clock((asked - server.now).total_seconds() + took / 2)
    yield checks.of_connections(server)
    async for finding in _jobs(caller, server):
        yield finding
    if caller.principal.role is Role.ADMIN:
        yield await _check(caller, "tokens", queries.tokens(), checks.of_tokens)
    yield _artifacts(settings.artifacts, settings.folder)
    if client.known_url is None:
        usage = await asyncio.to_thread(shutil.disk_usage, settings.folder)
        yield checks.of_disk(usage.free, usage.total, str(settings.folder))


async def _jobs(caller: AuthorizedClient, server: ServerInfo) -> AsyncIterator[Finding]:
    settings = caller.client.settings
    yield await _check(caller, "workers", queries.workers(), checks.of_workers)
    diagnosed: Diagnosis = await caller.asend(diagnosis.diagnose())
    yield checks.of_queues(diagnosed.unserved)
    yield checks.of_tasks(diagnosed.unrunnable)
    yield checks.of_leases(diagnosed.lost, settings)
    yield await _check(
        caller, "stops", diagnosis.stops(), lambda stops: checks.of_stops(stops, settings)
    )
    yield checks.of_cleanup(diagnosed.unclean)
    yield checks.of_vacuum(server)
    yield checks.of_bloat(diagnosed.tables)
    yield checks.of_retention(diagnosed, settings)


async def _check(
    caller: AuthorizedClient, check: str, call: Call[T], judge: Callable[[T], Finding]
) -> Finding:
    try:
        return judge(await caller.asend(call))
    except NotAllowed as error:
        return warning(check, f"not checked: {error}", "use the token of an admin")


async def _schema(client: Client, tenant: Tenant) -> Finding:
    """Check the schema; the finding is about PostgreSQL if it cannot be queried."""
    try:
        plans = await asyncio.to_thread(lambda: Migrator(client.url).pending(tenant))
    except NotAllowed:
        return warning("schema", "not checked: this user may not read it", "ask as the owner")
    except SchemaMismatch as error:
        return wrong("schema", str(error), "upgrade Tenure here, or use a newer one")
    except (StoreUnavailable, EmbeddedUnavailable) as error:
        return unreachable(error)
    behind = [plan.scope or "control" for plan in plans if not plan.is_empty]
    if behind:
        return wrong("schema", f"behind this version: {', '.join(behind)}", "run: tenure migrate")
    return fine("schema", "up to date")


async def _notices(client: Client) -> Finding:
    heard = asyncio.Event()
    notices = Notices(
        client.url,
        f"tenure_doctor_{os.getpid()}",
        lambda _: heard.set(),
        client.settings,
        prove_within=_NOTIFIED_WITHIN,
    )
    began = time.monotonic()
    listening = asyncio.create_task(notices.listen())
    try:
        async with asyncio.timeout(_NOTIFIED_WITHIN * 1.5):
            await heard.wait()
        seconds = time.monotonic() - began
    except TimeoutError:
        trouble: Any = notices.trouble or f"no notification arrived for {_NOTIFIED_WITHIN:g} s"
        return checks.of_notices(None, trouble, client.settings)
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
    return checks.of_notices(seconds, None, client.settings)


def _artifacts(url: str | None, folder: Path) -> Finding:
    if url is not None and "://" in url and not url.startswith("file://"):
        # Not the whole URL: it may contain a password.
        return fine("artifacts", f"they go to {url.partition(':')[0]}, which is not checked")
    place = Path((url or str(folder / "artifacts")).removeprefix("file://"))
    existing = next(path for path in (place, *place.absolute().parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        return wrong(
            "artifacts",
            f"{place} cannot be written",
            "give the user of the worker the right to, or set TENURE_ARTIFACTS to another place",
        )
    return fine("artifacts", f"{place} can be written")
