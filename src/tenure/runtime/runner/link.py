"""The connection of a runner's attempts to the keeper; each kind of runner has its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenure import errors
from tenure.errors import IllegalTransition, TenureError
from tenure.runtime.control_exceptions import Interrupted
from tenure.runtime.messages import AttemptReport, Begin, RequestAnswer

if TYPE_CHECKING:
    from tenure.runtime.runner.app_loader import App
    from tenure.runtime.runner.attempt import Attempt

CANNOT_SERVE = 70  # the exit code of a runner that gives up


class Link(ABC):
    def __init__(self, app: "App", begin: Begin) -> None:
        self.app = app
        self.tenant = begin.tenant
        self.worker = begin.worker
        self.folder = Path(begin.folder)
        self.settings: Mapping[str, Any] = begin.settings
        self._requests_made = count(1)

    @abstractmethod
    def report(self, report: AttemptReport) -> None:
        """Send a report of an attempt."""

    def report_soon(self, attempt: "Attempt") -> None:  # noqa: B027
        """Call `attempt.flush_progress` soon, unless the thread at the wire does so when idle."""

    def is_in_loop(self) -> bool:
        """Tell whether the calling code must await instead of wait."""
        return False

    @abstractmethod
    def request(self, run: int, name: str, arguments: Any) -> Any:
        """Return the keeper's answer to a request; plain code waits for it."""

    async def arequest(self, run: int, name: str, arguments: Any) -> Any:
        """Return the keeper's answer to a request."""
        return self.request(run, name, arguments)

    async def drain(self) -> None:  # noqa: B027
        """Wait until everything that was reported has left this process."""

    def in_background(self, work: Callable[[], Any]) -> Coroutine[Any, Any, Any] | None:
        """Do blocking work; return what to await if it was passed to a thread."""
        work()
        return None

    @abstractmethod
    def interrupt_now(self, attempt: "Attempt") -> None:
        """Interrupt the code of an attempt that no shield protects."""

    def _value(self, answer: RequestAnswer, attempt: "Attempt | None", name: str) -> Any:
        """Return the value of an answer, or raise its refusal in the code that made the request."""
        if answer.refusal is None:
            return answer.value
        error = _error_of(answer.refusal)
        if attempt is not None and name == "spawn" and isinstance(error, IllegalTransition):
            # A job that is being stopped can have no new child; this is how it learns of its stop.
            attempt.asked = attempt.heard = True
            raise Interrupted(str(error))
        raise error


def _error_of(refusal: tuple[str, str]) -> TenureError:
    """Return the error that was raised in the keeper."""
    name, message = refusal
    kind = getattr(errors, name, TenureError)
    error: TenureError = kind.__new__(kind)
    Exception.__init__(error, message)
    return error
