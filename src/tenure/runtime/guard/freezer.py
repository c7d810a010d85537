"""Stop all runners when the keeper can no longer be trusted."""

from enum import Enum

from .guard_state import GuardState, boottime
from .runner_trees import RunnerTrees


class Phase(Enum):
    """The phase of a freeze."""

    RUNNING = "running"
    FREEZING = "freezing"
    FROZEN = "frozen"


class Freezer:
    """Stops the runners, keeps them stopped, and kills them after too long.

    A renewed deadline alone thaws nothing: only the keeper knows whether the frozen jobs are still
    its own.
    """

    def __init__(self, trees: RunnerTrees, state: GuardState, freeze_max: float) -> None:
        self.phase = Phase.RUNNING
        self._trees = trees
        self._state = state
        self._freeze_max = freeze_max
        self._since = 0.0

    @property
    def keeper_is_trusted(self) -> bool:
        return boottime() < self._state.deadline

    def pause_before_check(self) -> float:
        """Return for how long nothing needs to be done here."""
        match self.phase:
            case Phase.FREEZING:
                return 0.001
            case Phase.FROZEN:
                return self._since + self._freeze_max - boottime()
            case Phase.RUNNING:
                has_runners = bool(self._trees.living)
                return self._state.deadline - boottime() if has_runners else float("inf")

    def check(self) -> None:
        """Freeze when the deadline has passed, and keep frozen runners frozen."""
        if not self._trees.living:
            self._enter(Phase.RUNNING)
        elif self.phase is Phase.RUNNING and not self.keeper_is_trusted:
            self._since = boottime()
            self._enter(Phase.FREEZING)
        if self.phase is not Phase.RUNNING:
            self._hold()

    def thaw(self) -> bool:
        """Resume all runners; return False while the keeper is not trusted."""
        if not self.keeper_is_trusted:
            return False
        if self.phase is not Phase.RUNNING:
            self._enter(Phase.RUNNING)
            for tree in self._trees.living:
                tree.resume()
        return True

    def _hold(self) -> None:
        # Every tree in each pass, not only up to the first that still runs.
        stopped = [tree.stop_pass() for tree in self._trees.living]
        if all(stopped):
            self._enter(Phase.FROZEN)
        if boottime() > self._since + self._freeze_max:
            self._trees.doom_all()

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self._state.frozen = phase is Phase.FROZEN
