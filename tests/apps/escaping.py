"""A job whose child leaves its tree and forgets its environment."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from tenure import Context, Tenure

app = Tenure()
FOLDER = Path(os.environ["TENURE_TEST_FOLDER"]) if "TENURE_TEST_FOLDER" in os.environ else Path()

_CHILD = (
    "import os, sys, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
    "time.sleep(600)\n"
)


@app.task(retry=0)
def escapes(ctx: Context) -> None:
    subprocess.run([sys.executable, "-c", _CHILD, _place(ctx)], env={}, check=True)
    time.sleep(600)


@app.task(retry=0)
async def leaves(ctx: Context) -> None:
    """Start a child that leaves its tree and keeps its environment."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _CHILD, _place(ctx))
    await process.wait()
    await asyncio.sleep(600)


def _place(ctx: Context) -> Path:
    return FOLDER / f"grandchild-{ctx.job.id}"
