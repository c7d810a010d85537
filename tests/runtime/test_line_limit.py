"""Lines about jobs are written one by one up to a limit, and counted beyond it."""

import asyncio
import logging

import pytest

from tenure.runtime.keeper.runs.attempt_log import LineLimit


def test_what_is_beyond_the_limit_is_counted_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "tenure.worker")
    limit = LineLimit(limit=5)

    async def log() -> None:
        assert limit.allow("began", 3, now=100.0) == 3
        assert limit.allow("completed", 30_000, now=100.5) == 2
        assert limit.allow("began", 7, now=100.9) == 0
        assert caplog.messages == []
        assert limit.allow("began", 1, now=101.0) == 1, "a new second has room again"

    asyncio.run(log())
    limit.summarize()
    assert caplog.messages == [
        "more jobs within a second than are logged one by one: 29,998 completed, 7 began"
    ]
