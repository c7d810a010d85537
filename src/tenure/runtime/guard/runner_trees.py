"""All runners of the guard: kill them, and reap everything they leave."""

import os
import signal
import time
from collections.abc import Callable, Iterator

from .processes import RUNNER, all_pids, children_of, environment, family, send, stat
from .tree import Tree, named

PATIENCE = 2.0  # seconds until processes that could not be killed are reported
SLICE = 0.02  # seconds of killing before the guard handles other events

Left = list[dict[str, object]]


class RunnerTrees:
    """The trees, and the strays: children of the guard that are not runners."""

    def __init__(
        self, answer: Callable[[int, Left], None], report_exit: Callable[[Tree, Left], None]
    ) -> None:
        self.trees: dict[int, Tree] = {}
        self._answer = answer
        self._report_exit = report_exit
        self._strays: dict[int, str | None] = {}
        self._pass: Iterator[None] | None = None
        self._guard = os.getpid()

    @property
    def is_killing(self) -> bool:
        return bool(self._strays) or any(tree.is_doomed for tree in self.trees.values())

    @property
    def living(self) -> list[Tree]:
        return [tree for tree in self.trees.values() if not tree.is_doomed]

    def pace(self, now: float) -> float:
        """Return how long to pause before the next slice of killing."""
        if self._pass is not None:
            return 0.0
        dooms = [tree.doomed_at for tree in self.trees.values() if tree.doomed_at is not None]
        if not dooms:
            return 0.02
        age = now - max(dooms)
        return 0.002 if age < 0.1 else 0.02 if age < PATIENCE else 0.2

    def doom_all(self) -> None:
        now = time.monotonic()
        for tree in self.trees.values():
            tree.doom(now)

    def reap(self) -> None:
        """Notice ended runners, adopt orphans, and reap dead ones."""
        for pid in children_of(self._guard):
            tree = self.trees.get(pid)
            if tree is not None:
                tree.check_death()
                if tree.death is not None:
                    tree.doom(time.monotonic())
                continue
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._strays.pop(pid, None)
            elif pid not in self._strays:
                # Before the kill: a dead process has no environment to read.
                self._strays[pid] = self._origin(pid)
                send(pid, signal.SIGKILL)

    def continue_killing(self) -> None:
        """Kill for one slice, and report what has ended."""
        if not self.is_killing:
            self._pass = None
            return
        if self._pass is None:
            self._pass = self._kill_pass()
        until = time.monotonic() + SLICE
        for _ in self._pass:
            if time.monotonic() > until:
                return
        self._pass = None
        self.reap()
        self._settle()

    def _kill_pass(self) -> Iterator[None]:
        for tree in [tree for tree in self.trees.values() if tree.is_doomed]:
            yield from tree.kill_pass()
        for stray in list(self._strays):
            for pid in family(stray):
                send(pid, signal.SIGKILL)
                yield
        yield from self._sweep(
            {tree.mark: tree for tree in self.trees.values() if self._seems_gone(tree)}
        )

    def _sweep(self, gone: dict[str, Tree]) -> Iterator[None]:
        """Kill processes that carry the mark of a tree of which nothing else is left."""
        unswept = {mark: tree for mark, tree in gone.items() if not tree.was_swept}
        if not unswept:
            return
        found: set[str] = set()
        for pid in all_pids():
            mark = environment(pid).get(RUNNER)
            if mark in unswept:
                found.add(mark)
                unswept[mark].known.add(pid)
                send(pid, signal.SIGKILL)
            yield
        for mark in unswept.keys() - found:
            unswept[mark].was_swept = True

    def _seems_gone(self, tree: Tree) -> bool:
        return (
            tree.death is not None
            and not self._strays_of(tree)
            and (tree.group is None or tree.group.is_empty())
        )

    def _origin(self, stray: int) -> str | None:
        """Return the mark of the tree that a process comes from; None if it is unknown."""
        mark, seen = environment(stray).get(RUNNER), stat(stray)
        for tree in self.trees.values():
            if stray in tree.known or mark == tree.mark or (seen and seen.session == tree.pid):
                tree.known.add(stray)
                return tree.mark
        return None

    def _strays_of(self, tree: Tree) -> list[int]:
        """Return its orphans; an orphan of unknown origin counts for every tree."""
        return [pid for pid, mark in self._strays.items() if mark in (tree.mark, None)]

    def _settle(self) -> None:
        now = time.monotonic()
        for tree in list(self.trees.values()):
            if tree.doomed_at is None:
                continue
            if tree.was_swept and self._seems_gone(tree):
                self._notify(tree, [])
                tree.reap()
                del self.trees[tree.pid]
            elif now - tree.doomed_at > PATIENCE:
                self._notify(tree, named({*tree.members(), *self._strays_of(tree)}))

    def _notify(self, tree: Tree, left: Left) -> None:
        if tree.death is not None and not tree.is_reported:
            tree.is_reported = True
            self._report_exit(tree, left)
        while tree.waiting:
            self._answer(tree.waiting.pop(), left)
