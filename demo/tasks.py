"""The tasks of the demo: a cooperative crawl, a stubborn agent and a small job."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx

from tenure import Context, Tenure

app = Tenure()

AGENT = Path(__file__).with_name("agent.py")


@app.task(name="crawl")
async def crawl(ctx: Context, site: str, pages: int) -> int:
    """Count the words of a site, starting after the last saved page."""
    client = httpx.AsyncClient(base_url=site, timeout=600, trust_env=False)
    ctx.resources.add(client, name="connection to the site")
    first = (ctx.checkpoint or {}).get("page", 0)
    for page in range(first, pages):
        answer = await client.get(f"/{page}")
        ctx.emit({"page": page, "words": len(answer.text.split())})
        ctx.progress(page + 1, pages)
        ctx.save_checkpoint(page=page + 1)
    return pages


@app.task(name="agent")
def agent(ctx: Context, steps: int) -> int:
    """Run an agent. Its first line names its pids, the others count its steps."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, AGENT, str(steps)], stdout=subprocess.PIPE, text=True
    )
    ctx.resources.add(process, name="agent")
    assert process.stdout is not None
    ctx.emit({"pids": [int(pid) for pid in process.stdout.readline().split()]})
    ctx.artifact("plan.txt", f"{steps} steps\n")
    for line in process.stdout:
        ctx.progress(int(line), steps)
    return process.wait()


@app.task(name="note")
async def note(ctx: Context, seconds: float) -> int:
    """Return the attempt number after a while."""
    ctx.progress(0, 1, "thinking")
    await asyncio.sleep(seconds)
    return ctx.attempt
