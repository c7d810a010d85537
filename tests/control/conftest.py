"""Fixtures that record the verbs sent by async code and slow down its polling."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tenure.control import hub, polling
from tenure.store.call import Call
from tenure.store.store import AsyncStore
from tests.waiting import soon

Answered = Callable[[int], Awaitable[None]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the verbs that async code sends."""
    verbs: list[str] = []
    send = AsyncStore.send

    async def noted(self: AsyncStore, call: Call[Any]) -> Any:
        verbs.append(call.verb)
        return await send(self, call)

    monkeypatch.setattr(AsyncStore, "send", noted)
    return verbs


@pytest.fixture
def rare_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll so rarely that only a notification can explain a change that is seen."""
    monkeypatch.setattr(polling, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(hub, "EVERY", 600.0)
    monkeypatch.setattr(hub, "EVERYTHING_EVERY", 600.0)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Answered:
    """Wait until this many stops have been answered."""
    answers: list[str] = []
    send = AsyncStore.send

    async def noted(self: AsyncStore, call: Call[Any]) -> Any:
        answer = await send(self, call)
        answers.append(call.verb)
        return answer

    monkeypatch.setattr(AsyncStore, "send", noted)

    async def wait(count: int) -> None:
        await soon(lambda: answers.count("stop") >= count, f"{count} answers")

    return wait
