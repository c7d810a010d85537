"""An agent: takes its lock, works for a while, says so, and leaves a file.

``obeys`` ends when it is asked to, ``ignores`` does not hear SIGTERM, ``forks`` has a grandchild in
a session of its own. With ``-at-once`` behind it, it is done soon; else it works until stopped.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main(step: str, how: str, lock: str) -> None:
    if how.startswith("ignores"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(lock).write_text(str(os.getpid()))
    pids = [os.getpid()]
    if how.startswith("forks"):
        sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
        pids.append(subprocess.Popen(sleeper, start_new_session=True).pid)  # noqa: S603
    say(f"lock {lock}")
    say(f"pids {' '.join(map(str, pids))}")
    while not how.endswith("at-once"):
        time.sleep(0.05)
    Path(f"{step}.txt").write_text(f"what {step} needs\n")
    say(f"{step} is done")
    Path(lock).unlink()


def say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
