"""Execution: the task function, the worker beside the server, and the graceful shutdown.

The worker has processes of its own. It claims jobs, runs them, renews its lease every 2 s and stops
what somebody cancels; the server only asks.
"""

import os
from collections.abc import Sequence

import httpx

from tenure import Context, Settings, Tenure

TENANTS = ("acme", "umbrella")  # each has a schema of its own
TOKEN_LIMIT = int(os.environ.get("TOKEN_LIMIT", "1000"))
SHUTDOWN_GRACE_PERIOD_SECONDS = int(os.environ.get("SHUTDOWN_GRACE_PERIOD_SECONDS", "300"))
SETTINGS = {  # unless the environment says otherwise
    "TENURE_BEAT": "2s",
    "TENURE_LEASE": "6s",
    "TENURE_RECOVER_EVERY": "2s",
    "TENURE_ON_DRAIN": "pause",
    "TENURE_ON_ORPHAN": "fail",
}

app = Tenure(settings=Settings.from_environment({**SETTINGS, **os.environ}))
worker = app.worker(tenants=TENANTS)


@app.task(
    name="execute_api",
    target="{target_id}",
    retry=0,
    cancel_pauses=True,
    budget={"tokens": TOKEN_LIMIT},
)
async def execute_api_in_background_with_tenant(
    ctx: Context,
    target_id: str,  # noqa: ARG001 - the target of the job
    urls: Sequence[str],
) -> list[str]:
    """Call one URL after the other, from the first that has not been answered."""
    answers: list[str] = ctx.checkpoint.get("answers", [])
    async with httpx.AsyncClient(timeout=60) as http:
        for url in urls[len(answers) :]:
            answer = await http.get(url)
            answers.append(answer.text)
            ctx.spend(tokens=len(answer.text.split()))
            ctx.save_checkpoint(answers=answers)
            ctx.progress(len(answers), len(urls))
            await ctx.aflush()  # stops here if that was too much, before more is spent
    return answers


async def initiate_graceful_shutdown(
    timeout_seconds: float = SHUTDOWN_GRACE_PERIOD_SECONDS,
) -> None:
    """Drain: claim nothing more, wait for the jobs that run, and pause those that take too long."""
    await worker.drain(timeout_seconds)
