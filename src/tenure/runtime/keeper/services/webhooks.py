"""Deliver to webhooks. Any worker does, and a delivery is taken by one of them at a time.

A delivery is a row, written in the transaction in which the event happened. A worker takes it for a
minute, sends it and records what came of it. A worker that dies in between leaves a row that is due
again after that minute, under the same ``webhook-id``.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tenure.config import Settings
from tenure.errors import StoreUnavailable, TenureError
from tenure.observe.counting import Counting
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.services.chores import OpenTenants
from tenure.store.store import AsyncStore
from tenure.store.webhook_results import AttemptedDelivery, TakenDelivery

_log = logging.getLogger("tenure.worker")

AT_ONCE = 16  # requests to a receiver


@dataclass(eq=False)
class WebhookService:
    """Serves each webhook that has something due in a task of its own, so that none delays another.

    Without deliveries it waits for the next one and does nothing.
    """

    settings: Settings
    served: Collection[str]
    tenants: OpenTenants
    store: Callable[[str], AsyncStore]
    counts: Counting
    clock: DatabaseClock  # receivers refuse messages that are too old or too new
    _pending: set[str] = field(default_factory=set)  # tenants with something to deliver
    # Webhooks that have a task; the event is set when an attempt has ended, or more is due.
    _busy: dict[tuple[str, str], asyncio.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._backoff = Backoff()

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as senders:
            while True:
                self._pending |= self.tenants
                self.tenants.clear()
                self.tenants.added.clear()
                pause = await self._start_due(senders)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self.tenants.added.wait()

    async def _start_due(self, senders: asyncio.TaskGroup) -> float | None:
        """Start what is due; return the seconds until more is, None if nothing is known of."""
        pauses = []
        for tenant in [*self._pending]:
            if tenant not in self.served:
                self._pending.discard(tenant)
                continue
            try:
                due = await self.store(tenant).due_webhooks()
            except TenureError as problem:
                _log.debug("%s", problem, extra={"tenant": tenant})
                pauses.append(self._backoff.next())
                continue
            self._backoff.reset()
            for name in due.names:
                if (tenant, name) in self._busy:
                    self._busy[tenant, name].set()
                else:
                    self._busy[tenant, name] = asyncio.Event()
                    senders.create_task(self._deliver(senders, tenant, name))
            if due.next_due is not None:
                pauses.append(due.next_due)
            elif not due.names:
                self._pending.discard(tenant)
        return min(pauses, default=None)

    async def _deliver(self, senders: asyncio.TaskGroup, tenant: str, name: str) -> None:
        """Deliver what is due to a webhook until nothing is, some at a time.

        One that takes long holds up no other. Failures are recorded together with a success, or
        when no attempt is left: a receiver rests only if nothing gets through.
        """
        store, news = self.store(tenant), self._busy[tenant, name]
        sending: set[asyncio.Task[AttemptedDelivery]] = set()
        ended: list[AttemptedDelivery] = []
        try:
            while True:
                if not ended and len(sending) < AT_ONCE:
                    for taken in await self._take(store, name, AT_ONCE - len(sending)):
                        attempt = senders.create_task(self._attempt(tenant, taken))
                        attempt.add_done_callback(lambda _: news.set())
                        sending.add(attempt)
                if not sending:
                    return
                await news.wait()
                news.clear()  # before looking: what ends from here on is news again
                done = {attempt for attempt in sending if attempt.done()}
                sending -= done
                ended += [attempt.result() for attempt in done]
                if ended and (not sending or any(each.error is None for each in ended)):
                    await self._record(store, name, ended)
                    ended = []
        finally:
            del self._busy[tenant, name]
            self.tenants.add(tenant)  # look when it is due again

    async def _take(self, store: AsyncStore, name: str, n: int) -> Sequence[TakenDelivery]:
        """Take deliveries; none if the database is away, which ends no attempt."""
        try:
            return await store.take_deliveries(name, n)
        except TenureError as problem:
            _log.warning("webhook %s: %s", name, problem, extra={"tenant": store.tenant.name})
            await asyncio.sleep(self._backoff.next())
            return ()

    async def _record(
        self, store: AsyncStore, name: str, attempts: Sequence[AttemptedDelivery]
    ) -> None:
        """Record attempts, also after an outage: what is not recorded is sent again."""
        while True:
            try:
                await store.record_deliveries(name, attempts)
            except StoreUnavailable:
                await asyncio.sleep(self._backoff.next())
            except TenureError as problem:
                _log.warning("webhook %s: %s", name, problem, extra={"tenant": store.tenant.name})
                return
            else:
                return

    async def _attempt(self, tenant: str, delivery: TakenDelivery) -> AttemptedDelivery:
        # Imported here: a worker without webhooks does not need them.
        from tenure.runtime.webhooks.addresses import AllowedHosts
        from tenure.runtime.webhooks.request import RequestFailed, post
        from tenure.runtime.webhooks.signing import signed_headers

        body, now = delivery.body.encode(), int(self.clock.now().timestamp())
        status, error, wait = None, None, 0.0
        try:
            headers = signed_headers(delivery.message, now, body, delivery.secrets)
            allowed = AllowedHosts(self.settings.webhook_hosts)
            status, wait = await post(delivery.url, headers, body, allowed)
        except RequestFailed as problem:
            error = str(problem)
        except Exception as problem:  # noqa: BLE001 - no webhook ends a worker
            _log.warning("webhook delivery %d", delivery.id, exc_info=problem)
            error = repr(problem)
        else:
            if not 200 <= status < 300:
                hint = "; redirects are not followed" if status < 400 else ""
                error = f"the receiver answered {status}{hint}"
        self.counts.webhook_attempted(tenant, delivered=error is None)
        return AttemptedDelivery(delivery.id, delivery.attempt, status, error, wait)
