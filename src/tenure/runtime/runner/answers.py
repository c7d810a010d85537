"""What the keeper answers to the questions of jobs."""

from tenure import errors
from tenure.errors import TenureError


def error_of(refusal: tuple[str, str]) -> TenureError:
    """The error that a refusal stands for, as it was raised in the keeper."""
    name, sentence = refusal
    kind = getattr(errors, name, TenureError)
    error: TenureError = kind.__new__(kind)
    Exception.__init__(error, sentence)
    return error
