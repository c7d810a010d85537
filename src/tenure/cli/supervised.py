"""A command that dies with its supervisor: ``python -m tenure.cli.supervised PID worker APP``.

The kernel sees to it, so it holds when the supervisor is killed too. What a worker has started then
goes by its guard.
"""

import os
import sys

from tenure.cli.main import run


def main() -> None:
    supervisor = int(sys.argv.pop(1))
    if sys.platform == "linux":
        from tenure.runtime.guard.processes import die_with_parent

        die_with_parent()
    if os.getppid() != supervisor:
        sys.exit(1)  # it was gone before it could be watched
    sys.argv[0] = "tenure"
    run()


if __name__ == "__main__":
    main()
