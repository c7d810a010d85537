"""The text of a model as partial results of its job, while the model writes it."""

import time
from collections.abc import AsyncIterable
from typing import Any

from pydantic_ai.messages import (
    AgentStreamEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.tools import RunContext

from tenure.runtime.runner.attempt import current

_EVERY = 0.05  # seconds between two partial results; what comes meanwhile is one


async def emit_text(_: RunContext[Any], events: AsyncIterable[AgentStreamEvent]) -> None:
    """Emit ``{"text": "..."}`` while the model writes.

    ``TenureDurability(event_stream_handler=emit_text)``; follow it with ``handle.stream()``.
    """
    attempt = current.get()
    context = None if attempt is None else attempt.make_context()
    written, emitted_at = "", time.monotonic()
    async for event in events:
        written += _text_of(event)
        now = time.monotonic()
        is_due = isinstance(event, PartEndEvent) or now - emitted_at >= _EVERY
        if context is not None and written and is_due:
            context.emit({"text": written})
            written, emitted_at = "", now
    if context is not None and written:
        context.emit({"text": written})


def _text_of(event: AgentStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""
