"""An agent that ignores SIGTERM and starts a helper in its own session."""

import os
import signal
import subprocess
import sys
import time


def main(steps: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    helper = subprocess.Popen(sleeper, start_new_session=True)  # noqa: S603
    print_line(f"{os.getpid()} {helper.pid}")
    for step in range(steps):
        time.sleep(0.2)
        print_line(str(step + 1))


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
