"""What the demo runs: a crawl that obeys, an agent that does not, and a small job beside them."""

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
    """Count the words of a site; goes on behind the last page that was saved."""
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
    """Let an agent work; its first line names its processes, the others count its steps."""
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
    """Tell which attempt this was, after a while."""
    ctx.progress(0, 1, "thinking")
    await asyncio.sleep(seconds)
    return ctx.attempt
