"""The guard's loop: one thread that waits for its keeper, its children and the clock."""

import errno
import os
import select
import signal
import socket
import time
from collections import deque

from . import wire
from .cgroups import ControlGroup, open_for
from .freezer import Freezer, Phase
from .guard_state import GuardState, boottime
from .processes import RUNNER, WORKER, inherit_orphans
from .runner_trees import Left, RunnerTrees
from .spawn import spawn_runner
from .tree import MOST_NAMED, Tree

LONGEST_SLEEP = 0.5
GIVE_UP = 5.0  # what still lives then has its SIGKILL, and nobody is left to tell
_IGNORED = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM,
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
)  # fmt: skip


class GuardProgram:
    """What the guard knows, and what it does on each round."""

    def __init__(
        self,
        control: socket.socket,
        keeper: int,
        state: GuardState,
        marker: str,
        freeze_max: float,
        groups: ControlGroup | None,
    ) -> None:
        self._control = control
        self._state = state
        self._marker = marker
        self._groups = groups
        self._trees = RunnerTrees(self._answer_left, self._tell_exit)
        self._freezer = Freezer(self._trees, state, freeze_max)
        self._freeze_waiting: list[int] = []
        self._awaited: dict[int, tuple[int, Left]] = {}
        self._starting: dict[int, tuple[int, Tree]] = {}
        self._born = 0
        self._outbox: deque[wire.Message] = deque()
        self._ending_since: float | None = None
        self._keeper = keeper
        self._wake = _wake_by_signals()
        self._poll = select.poll()
        for fd in (control.fileno(), keeper, self._wake):
            self._poll.register(fd, select.POLLIN)

    def run(self) -> None:
        how = "walk" if self._groups is None else "cgroup"
        self._send({"tell": "ready", "kills_by": how})
        while not self._is_over():
            self._wait()
            self._state.stamp = boottime()
            self._trees.reap()
            self._watch_trust()
            self._trees.kill_on()
        if self._groups is not None:
            self._groups.remove()

    def _is_over(self) -> bool:
        if self._ending_since is None:
            return False
        too_long = time.monotonic() - self._ending_since > GIVE_UP
        return too_long or not (self._trees.trees or self._trees.is_killing)

    def _wait(self) -> None:
        sleep = min(LONGEST_SLEEP, self._freezer.pause_before_look())
        if self._trees.is_killing:
            sleep = min(sleep, self._trees.pace(time.monotonic()))
        for fd, events in self._poll.poll(max(sleep, 0) * 1000):
            if fd == self._keeper:
                self._end()
            elif fd == self._wake:
                os.read(self._wake, 4096)
            elif fd in self._starting:
                self._hear_of_start(fd)
            elif events & select.POLLOUT:
                self._send_waiting()
            else:
                self._hear_keeper()

    def _watch_trust(self) -> None:
        before = self._freezer.phase
        after = self._freezer.look()
        if after is Phase.FROZEN and before is not Phase.FROZEN:
            self._send({"tell": "frozen"})
        if after is not Phase.FREEZING:
            while self._freeze_waiting:
                self._answer(self._freeze_waiting.pop())

    def _end(self) -> None:
        """Nobody is left to work for: kill all, then leave."""
        if self._ending_since is None:
            self._ending_since = time.monotonic()
            self._poll.unregister(self._keeper)
            self._poll.unregister(self._control)
        self._trees.doom_all()

    def _hear_keeper(self) -> None:
        try:
            request, fds = wire.receive(self._control)
        except BlockingIOError:
            return
        except ConnectionError:
            request, fds = None, []
        try:
            if request is None:
                self._end()
            else:
                self._do(request, fds)
        finally:
            for fd in fds:
                os.close(fd)

    def _do(self, request: wire.Message, fds: list[int]) -> None:
        number, tree = request["id"], self._trees.trees.get(request.get("pid", 0))
        match request["do"]:
            case "spawn":
                self._spawn(number, request, fds)
            case "kill" if tree is not None:
                tree.waiting.append(number)
                tree.doom(time.monotonic())
            case "kill":
                self._answer(number, left=[])
            case "kill_all":
                self._kill_all(number)
            case "terminate":
                self._answer(number, count=tree.terminate() if tree is not None else 0)
            case "freeze":
                self._freezer.freeze()
                self._freeze_waiting.append(number)
            case "thaw":
                self._answer(number, thawed=self._freezer.thaw())
            case "close":
                self._end()
            case unknown:
                self._answer(number, refused=f"the guard does not know how to {unknown}")

    def _kill_all(self, number: int) -> None:
        trees = self._trees.trees.values()
        if not trees:
            self._answer(number, left=[])
            return
        self._awaited[number] = (len(trees), [])
        for tree in trees:
            tree.waiting.append(number)
        self._trees.doom_all()

    def _spawn(self, number: int, request: wire.Message, fds: list[int]) -> None:
        if request["incomplete"]:
            self._answer(number, errno=errno.EMFILE)
            return
        if not self._freezer.keeper_is_trusted or self._freezer.phase is not Phase.RUNNING:
            self._answer(number, refused="nothing is started while trust has run out")
            return
        plan, stdout, stderr, *passed = fds
        what = wire.read_apart(plan)
        self._born += 1
        mark = f"{self._marker}.{self._born}"
        env = {**what["env"], WORKER: self._marker, RUNNER: mark}
        group = self._groups.below(str(self._born)) if self._groups else None
        try:
            if group is not None:
                group.make()
            pid, told = spawn_runner(what["argv"], env, (stdout, stderr), passed, group)
        except OSError as error:
            if group is not None:
                group.remove()
            self._answer(number, errno=error.errno)
            return
        self._trees.trees[pid] = Tree(pid, mark, group)
        self._starting[told] = (number, self._trees.trees[pid])
        self._poll.register(told, select.POLLIN)

    def _hear_of_start(self, told: int) -> None:
        number, tree = self._starting.pop(told)
        self._poll.unregister(told)
        problem = os.read(told, 16)
        os.close(told)
        if problem:
            tree.never_ran = True
            self._answer(number, errno=int(problem))
        else:
            self._answer(number, pid=tree.pid)

    def _tell_exit(self, tree: Tree, left: Left) -> None:
        assert tree.death is not None
        # A program that ends at once may be dead before its start was heard of.
        for told in [told for told, (_, one) in self._starting.items() if one is tree]:
            self._hear_of_start(told)
        if tree.never_ran:
            return
        gone = tree.gone({one["pid"] for one in left})
        message = {"tell": "exited", "pid": tree.pid, **tree.death._asdict(), "left": left}
        self._send({**message, "gone": gone[:MOST_NAMED], "count": len(gone)})

    def _answer_left(self, number: int, left: Left) -> None:
        """One tree is gone, or given up; answer if it was the last that the request waits for."""
        trees, so_far = self._awaited.pop(number, (1, []))
        if trees == 1:
            self._answer(number, left=[*so_far, *left][:MOST_NAMED])
        else:
            self._awaited[number] = (trees - 1, [*so_far, *left])

    def _answer(self, number: int, **content: object) -> None:
        self._send({"id": number, **content})

    def _send(self, message: wire.Message) -> None:
        self._outbox.append(message)
        self._send_waiting()

    def _send_waiting(self) -> None:
        """Send what can be sent; a keeper that does not listen must not hold up the guard."""
        if self._ending_since is not None:
            return
        try:
            while self._outbox:
                wire.send(self._control, self._outbox[0])
                self._outbox.popleft()
        except BlockingIOError:
            self._poll.modify(self._control, select.POLLIN | select.POLLOUT)
        except ConnectionError:
            self._end()
        else:
            self._poll.modify(self._control, select.POLLIN)


def _wake_by_signals() -> int:
    """A descriptor that becomes readable when a child has ended or changed."""
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def main(arguments: list[str]) -> None:
    """Arguments: control socket, keeper's pidfd, state, marker, seconds of freeze_max, cgroups."""
    control, keeper, state, marker, freeze_max, cgroups = arguments
    for each in _IGNORED:
        signal.signal(each, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    inherit_orphans()
    end = socket.socket(fileno=int(control))
    end.setblocking(False)
    for fd in (end.fileno(), int(keeper), int(state)):
        os.set_inheritable(fd, False)
    groups = open_for(marker) if cgroups == "cgroups" else None
    GuardProgram(end, int(keeper), GuardState(int(state)), marker, float(freeze_max), groups).run()
