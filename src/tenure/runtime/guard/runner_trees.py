"""All runners of the guard: killing them, freezing them, clearing away what they leave."""

import os
import signal
import time
from collections.abc import Callable, Iterator

from .processes import RUNNER, all_pids, children_of, environment, family, send, stat
from .tree import Tree, named

PATIENCE = 2.0  # then it is said what could not be killed
SLICE = 0.02  # the longest stretch of killing before others are heard

Left = list[dict[str, object]]


class RunnerTrees:
    """The trees, and the strays: children of the guard that are no runners."""

    def __init__(
        self, answer: Callable[[int, Left], None], tell_exit: Callable[[Tree, Left], None]
    ) -> None:
        self.trees: dict[int, Tree] = {}
        self._answer = answer
        self._tell_exit = tell_exit
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
        """How long to rest before the next stretch of killing."""
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
        """See who has ended, take in orphans, and let go of dead ones."""
        for pid in children_of(self._guard):
            tree = self.trees.get(pid)
            if tree is not None:
                tree.look_for_death()
                if tree.death is not None:
                    tree.doom(time.monotonic())
                continue
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._strays.pop(pid, None)
            elif pid not in self._strays:
                # Asked before it is killed: the dead tell nothing.
                self._strays[pid] = self._origin(pid)
                send(pid, signal.SIGKILL)

    def kill_on(self) -> None:
        """Go on killing for a while, and tell of what has ended."""
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
        yield from self._sweep({t.mark: t for t in self.trees.values() if self._seems_gone(t)})

    def _sweep(self, gone: dict[str, Tree]) -> Iterator[None]:
        """Look whether anything carries the mark of a tree of which nothing else is left."""
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
        """The mark of the tree that a process comes from, if that can be known."""
        mark, seen = environment(stray).get(RUNNER), stat(stray)
        for tree in self.trees.values():
            if stray in tree.known or mark == tree.mark or (seen and seen.session == tree.pid):
                tree.known.add(stray)
                return tree.mark
        return None

    def _strays_of(self, tree: Tree) -> list[int]:
        """Its orphans; one of unknown origin counts for every tree."""
        return [pid for pid, mark in self._strays.items() if mark in (tree.mark, None)]

    def _settle(self) -> None:
        now = time.monotonic()
        for tree in list(self.trees.values()):
            if tree.doomed_at is None:
                continue
            if tree.was_swept and self._seems_gone(tree):
                self._tell(tree, [])
                tree.reap()
                del self.trees[tree.pid]
            elif now - tree.doomed_at > PATIENCE:
                self._tell(tree, named({*tree.members(), *self._strays_of(tree)}))

    def _tell(self, tree: Tree, left: Left) -> None:
        if tree.death is not None and not tree.was_told:
            tree.was_told = True
            self._tell_exit(tree, left)
        while tree.waiting:
            self._answer(tree.waiting.pop(), left)
