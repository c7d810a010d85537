"""Jobs that show what a forked runner has of its own."""

import os
import random
import time
import uuid
from pathlib import Path

from tenure import Tenure

FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
VERSION = (FOLDER / "version").read_text() if (FOLDER / "version").exists() else "old"

app = Tenure()


def _own() -> dict[str, object]:
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "mark": os.environ["TENURE_RUNNER"],
        "random": random.random(),
        "uuid": str(uuid.uuid4()),
        "version": VERSION,
        "descriptors": sorted(str(Path(f"/proc/self/fd/{fd}").readlink()) for fd in (3, 4, 5)),
    }


@app.task
def shows() -> dict[str, object]:
    """Return only when the other one runs too."""
    (FOLDER / f"shows-{os.getpid()}").touch()
    while len(list(FOLDER.glob("shows-*"))) < 2:
        time.sleep(0.01)
    return _own()


@app.task
async def ashows() -> dict[str, object]:
    return _own()


@app.task
def waits() -> int:
    (FOLDER / "waits").write_text(f"{os.getpid()}\n")
    while not (FOLDER / "go").exists():
        time.sleep(0.01)
    return os.getpid()
