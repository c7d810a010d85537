"""The sidebar: the pages of a user, and numbers of what needs attention, which change as it does.

All open pages of a tenant share one reading of these numbers, however many there are.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress

import msgspec

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.subscription import Subscription
from tenure.domain.tenant import Tenant
from tenure.errors import TenureError
from tenure.web.dashboard.attention import Attentions, SidebarCount

SIDEBARS = "tenure.sidebars"
EVERY = 5.0  # seconds: what no event reports, such as a pause of a queue
BREATH = 1.0  # seconds from one reading to the next, however much changes

Key = tuple[Tenant, asyncio.AbstractEventLoop]


class Sidebars:
    """The numbers of each tenant that has open pages."""

    def __init__(self, attentions: Attentions) -> None:
        self._attentions = attentions
        self._readings: dict[Key, _Reading] = {}

    async def changes(
        self, caller: AuthorizedClient, subscription: Subscription
    ) -> AsyncGenerator[bytes]:
        """Yield the numbers as an event, then again whenever they have changed."""
        key = caller.principal.tenant, asyncio.get_running_loop()
        reading = self._readings.get(key)
        if reading is None:
            reading = self._readings[key] = _Reading(self._attentions, caller, subscription)
        reading.viewers += 1
        shown = b""
        try:
            while True:
                changed = reading.changed
                if reading.event != shown:
                    shown = reading.event
                    yield shown
                await changed.wait()
        finally:
            reading.viewers -= 1
            if not reading.viewers:
                del self._readings[key]
                reading.end()


class _Reading:
    """Read the numbers of one tenant while somebody looks at them."""

    def __init__(
        self, attentions: Attentions, caller: AuthorizedClient, subscription: Subscription
    ) -> None:
        self.viewers = 0
        self.event = b""  # nothing was read yet
        self.changed = asyncio.Event()
        self._woken = asyncio.Event()
        self._attentions = attentions
        self._caller = caller
        self._tasks = [
            asyncio.create_task(self._read()),
            asyncio.create_task(self._listen(subscription)),
        ]

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _read(self) -> None:
        while True:
            self._woken.clear()
            with suppress(TenureError):  # an outage: the numbers stay as they are
                found = await self._attentions.of(self._caller, fresh=True)
                self._publish(encode_counts(found.counts))
            await asyncio.sleep(BREATH)
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY - BREATH):
                    await self._woken.wait()

    async def _listen(self, subscription: Subscription) -> None:
        with suppress(TenureError):  # it is read every few seconds all the same
            async with aclosing(subscription.pulse(self._caller)) as pulse:
                async for _ in pulse:
                    self._woken.set()

    def _publish(self, event: bytes) -> None:
        if event != self.event:
            self.event = event
            changed, self.changed = self.changed, asyncio.Event()
            changed.set()


def encode_counts(counts: Mapping[str, SidebarCount]) -> bytes:
    """Return numbers as an event without an id: the id of a stream is that of its last state."""
    data = {
        path: {"n": f"{count.n:,}", "tone": count.tone, "text": count.text}
        for path, count in counts.items()
    }
    return b"event: counts\ndata: %b\n\n" % msgspec.json.encode(data)
