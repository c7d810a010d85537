"""An agent: ``python agent.py LOCK SECONDS MANNER FILE ...`` works, then writes its files.

An agent that ``obeys`` ends at SIGTERM, one that ``ignores`` does not react to SIGTERM, and one
that ``forks`` starts a process in a session of its own.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main(lock: str, seconds: str, manner: str, *files: str) -> None:
    if manner == "ignores":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(lock).write_text(str(os.getpid()))
    pids = [os.getpid()]
    if manner == "forks":
        sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
        pids.append(subprocess.Popen(sleeper, start_new_session=True).pid)  # noqa: S603
    say(f"lock {lock}")
    say(f"pids {' '.join(map(str, pids))}")
    time.sleep(float(seconds))
    for name in files:
        Path(name).write_text(f"the contents of {name}\n")
    Path(lock).unlink()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
