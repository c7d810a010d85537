"""Whether all is well: the database, the workers, the jobs, and what they stand on, as findings.

``ready`` is one quick look, for whoever asks every few seconds; ``examine`` looks at everything.
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

_HEARS_WITHIN = 3.0  # seconds, for a notice to come through


async def ready(client: Client, tenant: Tenant = DEFAULT) -> Finding:
    """Whether the database answers, and is what this version needs."""
    began = time.monotonic()
    try:
        server = await (await client.astore_of(tenant)).server()
    except TenureError as error:
        return unreachable(error)
    took = time.monotonic() - began
    schema = await _schema(client, tenant)
    return schema if schema.level is Level.WRONG else checks.of_postgresql(server, took)


def unreachable(error: TenureError) -> Finding:
    """What it means that nothing can be asked."""
    if isinstance(error, SchemaMismatch):
        return wrong("schema", str(error), "run: tenure migrate")
    return wrong("postgresql", str(error), "see to the server, the URL, and the way there")


async def examine(caller: AuthorizedClient) -> AsyncIterator[Finding]:
    """Look at everything, one finding after the other; without a database there is but one."""
    client, settings = caller.client, caller.client.settings
    schema = await _schema(client, caller.principal.tenant)
    if schema.check == "postgresql" or schema.level == "wrong":
        yield schema
        return
    await caller.asend(diagnosis.server())  # to connect is no part of what is measured
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
        yield await _look(caller, "tokens", queries.tokens(), checks.of_tokens)
    yield _artifacts(settings.artifacts, settings.folder)
    if client.known_url is None:
        usage = await asyncio.to_thread(shutil.disk_usage, settings.folder)
        yield checks.of_disk(usage.free, usage.total, str(settings.folder))


async def _jobs(caller: AuthorizedClient, server: ServerInfo) -> AsyncIterator[Finding]:
    settings = caller.client.settings
    yield await _look(caller, "workers", queries.workers(), checks.of_workers)
    ailments: Diagnosis = await caller.asend(diagnosis.diagnose())
    yield checks.of_queues(ailments.unserved)
    yield checks.of_tasks(ailments.unrunnable)
    yield checks.of_leases(ailments.lost, settings)
    yield await _look(
        caller, "stops", diagnosis.stops(), lambda stops: checks.of_stops(stops, settings)
    )
    yield checks.of_cleanup(ailments.unclean)
    yield checks.of_vacuum(server)
    yield checks.of_bloat(ailments.tables)
    yield checks.of_retention(ailments, settings)


async def _look(
    caller: AuthorizedClient, check: str, call: Call[T], judge: Callable[[T], Finding]
) -> Finding:
    try:
        return judge(await caller.asend(call))
    except NotAllowed as error:
        return warning(check, f"nobody looked: {error}", "ask as somebody who may")


async def _schema(client: Client, tenant: Tenant) -> Finding:
    """Whether it is what this version needs; under another name if nothing can be asked."""
    try:
        plans = await asyncio.to_thread(lambda: Migrator(client.url).pending(tenant))
    except NotAllowed:
        return warning("schema", "this database user may not look", "ask as the owner")
    except SchemaMismatch as error:
        return wrong("schema", str(error), "upgrade Tenure here, or look from where it is newer")
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
        prove_within=_HEARS_WITHIN,
    )
    began = time.monotonic()
    listening = asyncio.create_task(notices.listen())
    try:
        async with asyncio.timeout(_HEARS_WITHIN * 1.5):
            await heard.wait()
        seconds = time.monotonic() - began
    except TimeoutError:
        trouble: Any = notices.trouble or f"no notification arrived within {_HEARS_WITHIN:g} s"
        return checks.of_notices(None, trouble, client.settings)
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
    return checks.of_notices(seconds, None, client.settings)


def _artifacts(url: str | None, folder: Path) -> Finding:
    if url is not None and "://" in url and not url.startswith("file://"):
        # No more of it: there may be a password in it.
        return fine("artifacts", f"they go to {url.partition(':')[0]}, where nobody looked")
    place = Path((url or str(folder / "artifacts")).removeprefix("file://"))
    existing = next(path for path in (place, *place.absolute().parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        return wrong(
            "artifacts",
            f"{place} cannot be written",
            "give the user of the worker the right to, or set TENURE_ARTIFACTS to another place",
        )
    return fine("artifacts", f"{place} can be written")
