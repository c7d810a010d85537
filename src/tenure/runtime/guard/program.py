"""The guard's loop: a single thread that waits for its keeper, its children and the clock."""

import errno
import os
import select
import signal
import socket
import time
from collections import deque
from contextlib import suppress

from . import wire
from .cgroups import ControlGroup, open_for
from .freezer import Freezer, Phase
from .guard_state import GuardState, boottime
from .processes import FORKED, MARK_DIGITS, RUNNER, WORKER, inherit_orphans
from .runner_trees import Left, RunnerTrees
from .spawn import RunnerStart, fork_runner, spawn_runner
from .tree import MAX_NAMED, Tree

MAX_SLEEP = 0.5
GIVE_UP = 5.0  # seconds; processes that live longer have got SIGKILL, and nobody is left to tell
_IGNORED = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM,
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
)  # fmt: skip


class GuardProgram:
    """The state of the guard, and the steps of each round."""

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
        self._trees = RunnerTrees(self._answer_left, self._report_exit)
        self._freezer = Freezer(self._trees, state, freeze_max)
        self._starting: dict[int, RunnerStart] = {}  # by descriptor
        self._spawned = 0
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
        while not self._is_done():
            self._wait()
            self._state.stamp = boottime()
            self._trees.reap()
            self._freezer.check()
            self._trees.continue_killing()
        if self._groups is not None:
            self._groups.remove()

    def _is_done(self) -> bool:
        if self._ending_since is None:
            return False
        too_long = time.monotonic() - self._ending_since > GIVE_UP
        return too_long or not (self._trees.trees or self._trees.is_killing)

    def _wait(self) -> None:
        sleep = min(MAX_SLEEP, self._freezer.pause_before_check())
        if self._trees.is_killing:
            sleep = min(sleep, self._trees.pace(time.monotonic()))
        for fd, events in self._poll.poll(max(sleep, 0) * 1000):
            if fd == self._keeper:
                self._end()
            elif fd == self._wake:
                os.read(self._wake, 4096)
            elif fd in self._starting:
                self._read_start(fd)
            elif events & select.POLLOUT:
                self._send_waiting()
            else:
                self._read_keeper()

    def _end(self) -> None:
        """Kill everything, then exit: the keeper is gone."""
        if self._ending_since is None:
            self._ending_since = time.monotonic()
            self._poll.unregister(self._keeper)
            self._poll.unregister(self._control)
        self._trees.doom_all()

    def _read_keeper(self) -> None:
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
                self._handle(request, fds)
        finally:
            for fd in fds:
                os.close(fd)

    def _handle(self, request: wire.Message, fds: list[int]) -> None:
        number, tree = request["id"], self._trees.trees.get(request.get("pid", 0))
        match request["do"]:
            case "spawn":
                self._spawn(number, request, fds)
            case "kill" if tree is not None:
                tree.waiting.append(number)
                tree.doom(time.monotonic())
            case "kill":
                self._answer(number, left=[])
            case "thaw":
                self._answer(number, thawed=self._freezer.thaw())
            case "close":
                self._end()
            case unknown:
                self._answer(number, refused=f"the guard does not know how to {unknown}")

    def _spawn(self, number: int, request: wire.Message, fds: list[int]) -> None:
        if request["incomplete"]:
            self._answer(number, errno=errno.EMFILE)
            return
        if not self._freezer.keeper_is_trusted or self._freezer.phase is not Phase.RUNNING:
            self._answer(number, refused="nothing is started while trust has run out")
            return
        plan, stdout, stderr, *passed = fds
        program = wire.read_apart(plan)
        server = self._trees.trees.get(program.get("server", 0))
        self._spawned += 1
        # Of one length wherever it has to fit into the environment of a fork server.
        forks = program["forks"] or "server" in program
        mark = f"{self._marker}.{self._spawned:0{MARK_DIGITS if forks else 1}}"
        group = self._groups.below(str(self._spawned)) if self._groups else None
        start = RunnerStart(number, mark, group)
        try:
            if group is not None:
                group.make()
            if "server" in program:
                started = fork_runner(server, start, [stdout, stderr, *passed])
            else:
                env = {**program["env"], WORKER: self._marker, RUNNER: mark}
                argv, stdio = program["argv"], (stdout, stderr)
                started = spawn_runner(start, argv, env, stdio, passed, serves_forks=forks)
        except OSError as error:
            if group is not None:
                group.remove()
            self._answer(number, errno=error.errno)
            return
        if start.tree is not None:
            self._trees.trees[start.tree.pid] = start.tree
        self._starting[started] = start
        self._poll.register(started, select.POLLIN)

    def _read_start(self, started: int) -> None:
        start = self._starting[started]
        word = b""
        with suppress(ConnectionError):  # it has died
            word = os.read(started, 16)
        if word.startswith(FORKED):
            # Before it becomes a child of the guard, which kills children that it does not know.
            start.tree = Tree(int(word[1:]), start.mark, start.group)
            self._trees.trees[start.tree.pid] = start.tree
            with suppress(OSError):
                os.write(started, FORKED)
            return
        del self._starting[started]
        self._poll.unregister(started)
        os.close(started)
        if start.tree is None:
            if start.group is not None:
                start.group.remove()
            self._answer(start.number, errno=int(word or errno.ECHILD))
        elif word:
            start.tree.never_ran = True
            self._answer(start.number, errno=int(word))
        else:
            self._answer(start.number, pid=start.tree.pid)

    def _report_exit(self, tree: Tree, left: Left) -> None:
        assert tree.death is not None
        # A program that ends at once may be dead before its start was read.
        for fd in [fd for fd, start in self._starting.items() if start.tree is tree]:
            self._read_start(fd)
        if tree.never_ran:
            return
        gone = tree.gone({process["pid"] for process in left})
        message = {"tell": "exited", "pid": tree.pid, **tree.death._asdict(), "left": left}
        self._send({**message, "gone": gone[:MAX_NAMED], "count": len(gone)})

    def _answer_left(self, number: int, left: Left) -> None:
        self._answer(number, left=left[:MAX_NAMED])

    def _answer(self, number: int, **content: object) -> None:
        self._send({"id": number, **content})

    def _send(self, message: wire.Message) -> None:
        self._outbox.append(message)
        self._send_waiting()

    def _send_waiting(self) -> None:
        """Send as much as possible; a keeper that does not read must not block the guard."""
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
    """Return a descriptor that becomes readable when a child has ended or changed."""
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def main(arguments: list[str]) -> None:
    """Run the guard.

    Arguments: control socket, keeper's pidfd, shared state, marker, seconds of freeze_max, cgroups.
    """
    control, keeper, state, marker, freeze_max, cgroups = arguments
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    inherit_orphans()
    end = socket.socket(fileno=int(control))
    end.setblocking(False)
    for fd in (end.fileno(), int(keeper), int(state)):
        os.set_inheritable(fd, False)
    groups = open_for(marker) if cgroups == "cgroups" else None
    GuardProgram(end, int(keeper), GuardState(int(state)), marker, float(freeze_max), groups).run()
