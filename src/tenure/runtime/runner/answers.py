"""What the keeper answers to the questions of jobs."""

from tenure import errors
from tenure.errors import IllegalTransition, TenureError
from tenure.runtime.control_exceptions import Interrupted
from tenure.runtime.runner.attempt import Attempt


def refusal_of(attempt: Attempt | None, about: str, refusal: tuple[str, str]) -> BaseException:
    """What a refusal raises in the code that asked."""
    error = error_of(refusal)
    if attempt is not None and about == "spawn" and isinstance(error, IllegalTransition):
        # No child is born to a job that is being stopped: it learns of its stop in this way.
        attempt.asked = attempt.heard = True
        return Interrupted(str(error))
    return error


def error_of(refusal: tuple[str, str]) -> TenureError:
    """The error that a refusal stands for, as it was raised in the keeper."""
    name, sentence = refusal
    kind = getattr(errors, name, TenureError)
    error: TenureError = kind.__new__(kind)
    Exception.__init__(error, sentence)
    return error
