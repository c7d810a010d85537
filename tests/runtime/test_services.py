"""What a keeper does again and again ends when it is cancelled."""

import asyncio
from datetime import timedelta

import pytest

from tenure.errors import StoreUnavailable
from tenure.runtime.keeper.services import every


def test_a_cancel_that_ends_a_call_with_an_error_ends_the_service_too() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def call() -> None:
            asked.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                raise StoreUnavailable("the query was cancelled") from None

        service = asyncio.create_task(every(timedelta(0), call))
        await asked.wait()
        service.cancel()
        done, _ = await asyncio.wait([service], timeout=5)
        assert done, "it goes on"
        with pytest.raises(asyncio.CancelledError):
            service.result()

    asyncio.run(main())
