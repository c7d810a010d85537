"""One task whose functions are quick, unless they are told otherwise."""

import os
import signal
import threading
import time
from pathlib import Path

from tenure import Context, Tenure

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))


@app.task(name="step", retry=0)
def step(ctx: Context, how: str = "") -> int:
    """Write when it began and in which process; then do as told, and return its process."""
    with (FOLDER / f"began-{ctx.job.id}").open("a") as file:
        file.write(f"{time.time()} {os.getpid()}\n")
    match how:
        case "hold":
            while not (FOLDER / "go").exists():
                time.sleep(0.01)
        case "minute":
            time.sleep(60)
        case "nap":
            time.sleep(0.01)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "print":
            print(f"{ctx.job.id} says", end=" ")
            os.write(1, f"what {ctx.job.id} says".encode())
        case "thread":
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return os.getpid()
