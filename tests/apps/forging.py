"""Jobs that speak to their keeper as no context of a job would."""

from typing import Any

from tenure import Context, Tenure
from tenure.errors import TenureError

app = Tenure()

REQUESTS: dict[str, tuple[str, Any]] = {
    "reserve nothing": ("reserve", {"number": 1, "reserve": {"tokens": None}}),
    "reserve less than nothing": ("reserve", {"number": 1, "reserve": {"tokens": -100}}),
    "a negative grant": ("grant", {"number": 1, "limit": "api", "amounts": {"tokens": -100}}),
    "no number": ("grant", {"limit": "api"}),
    "no limit": ("grant", {"number": 1}),
    "no wait": ("wait", {"name": "x", "digest": "d", "kind": "king"}),
    "no step": ("flush", None),
}


@app.task(retry=0)
async def neighbour(ctx: Context, steps: int) -> int:
    return sum(await ctx.gather("one", [_one] * steps, limit=1))


async def _one() -> int:
    return 1


@app.task(retry=0, budget={"tokens": 10})
async def forges(ctx: Context, what: str) -> str:
    """Return the sentence with which a request is refused."""
    if what == "no step":
        ctx._attempt.report(steps=(b'{"name": "x"}',))
    try:
        await ctx._attempt.arequest(*REQUESTS[what])
    except TenureError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    return "granted"


@app.task(retry=0)
async def emits(ctx: Context, value: str) -> str:
    """Return the sentence with which a partial result is refused."""
    ctx.emit(value)
    try:
        await ctx.aflush()
    except TenureError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    return "kept"


@app.task(retry=0)
async def misuses(ctx: Context, how: str) -> str:
    """Return the sentence with which a call is refused that makes no sense."""
    try:
        await _misuse(ctx, how)
    except TenureError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    return "fine"


async def _misuse(ctx: Context, how: str) -> None:
    grant = ctx.limit("api")
    match how:
        case "throttled before":
            grant.throttled(5)
        case "used before":
            grant.used(tokens=5)
        case "throttled after":
            async with grant:
                pass
            grant.throttled(5)
        case "entered twice":
            async with grant:
                pass
            async with grant:
                pass
        case "left twice":
            async with grant:
                pass
            await grant.__aexit__(None, None, None)
        case "throttled for no number":
            async with grant:
                grant.throttled(float("nan"))
        case "throttled for less than nothing":
            async with grant:
                grant.throttled(-1)
        case "throttled for a year":
            async with grant:
                grant.throttled(365 * 86_400)
        case "no call":
            ctx.limit("api", calls=0)
        case "a negative amount":
            ctx.limit("api", tokens=-1)
        case "reserve a negative amount":
            ctx.reserve(tokens=-1)
        case "no name":
            ctx.limit("")
