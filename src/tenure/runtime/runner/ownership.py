"""The owners of everything that runs in a runner and below it."""

from tenure.runtime.runner.owners import RUNNER, enter
from tenure.runtime.runner.pools import Pools
from tenure.runtime.runner.processes import Processes
from tenure.runtime.runner.threads import Threads


class Ownership:
    """Make it before the app is imported: whatever the import starts belongs to the runner."""

    def __init__(self) -> None:
        self.threads = Threads()
        self.processes = Processes()
        self.pools = Pools(self.processes.note)

    def watch(self) -> None:
        """Note the owner of everything that Python starts from now on."""
        enter(RUNNER)
        self.threads.watch()
        self.processes.watch()
        self.pools.watch()

    def begin(self) -> None:
        """Begin as a runner that was forked: all that runs in it is this thread."""
        self.threads.begin()
        self.processes.begin()
