"""An agent that cannot be asked: it ignores SIGTERM and has a helper in a session of its own."""

import os
import signal
import subprocess
import sys
import time


def main(steps: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    helper = subprocess.Popen(sleeper, start_new_session=True)  # noqa: S603
    say(f"{os.getpid()} {helper.pid}")
    for step in range(steps):
        time.sleep(0.2)
        say(str(step + 1))


def say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
