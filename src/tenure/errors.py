"""Every exception of Tenure.

TenureError
├── SettingInvalid        a setting is wrong, or contradicts another
├── InputRefused          an argument, option or request is wrong
│   ├── NotFound          what was named does not exist
│   │   └── JobNotFound   there is no such job
│   ├── IllegalTransition the state of the job does not allow the verb
│   └── KeyTaken          another job holds the unique key, and "refuse" was asked for
├── NotAllowed            the caller may not do this
├── NotRecognized         the caller has no token, or one that is not valid
├── LeaseLost             the worker was declared dead; its reports are refused
├── SchemaMismatch        the database is older or newer than this code
├── StoreUnavailable      the database cannot be reached, or went away
├── QueryTimeout          a query took longer than its limit and was cancelled
├── GuardUnavailable      the guard of the runners is gone, or does not trust this process
├── EmbeddedUnavailable   the embedded PostgreSQL cannot be started here
├── JobFailed             the job whose result was asked for failed
├── JobCancelled          the job whose result was asked for was cancelled
├── JobNotEnded           the job had not ended when the time to wait for it was over
├── NotAnswered           a worker did not answer in time
├── ResourceClosed        the resource is closed, or is being closed, and takes nothing new
├── CloseFailed           the resource could not be closed
└── CommandFailed         the program of a command job did not end well
"""

from typing import Any, ClassVar, Self


class TenureError(Exception):
    """An error that a user can act on; its message is a whole sentence.

    Each class has its exit code and HTTP status, or those of its base class.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class SettingInvalid(TenureError):
    """A setting is wrong, or contradicts another."""


class InputRefused(TenureError):
    """An argument, option or request is wrong."""

    exit_code = 2
    http_status = 422


class NotFound(InputRefused):
    """What was named does not exist."""

    exit_code = 10
    http_status = 404


class JobNotFound(NotFound):
    """There is no such job."""


class IllegalTransition(InputRefused):
    """The state of the job does not allow the verb."""

    exit_code = 11
    http_status = 409


class KeyTaken(InputRefused):
    """Another job holds the unique key, and "refuse" was asked for."""

    exit_code = 11
    http_status = 409


class NotAllowed(TenureError):
    """The caller may not do this."""

    exit_code = 12
    http_status = 403


class NotRecognized(TenureError):
    """The caller has no token, or one that is not valid."""

    exit_code = 12
    http_status = 401


class LeaseLost(TenureError):
    """The worker was declared dead; its reports are refused."""


class SchemaMismatch(TenureError):
    """The database is older or newer than this code."""

    exit_code = 13
    http_status = 503


class StoreUnavailable(TenureError):
    """The database cannot be reached, or went away.

    ``may_pass`` is false where waiting does not help: a wrong password, an unknown host, no such
    database.
    """

    exit_code = 13
    http_status = 503

    def __init__(self, sentence: str = "", *, may_pass: bool = True) -> None:
        super().__init__(sentence)
        self.may_pass = may_pass


class WriteRefused(StoreUnavailable):
    """A constraint or a trigger of the database refused to have this written; nothing changed."""


class QueryTimeout(TenureError, TimeoutError):
    """A query took longer than its limit and was cancelled; nothing was changed."""

    exit_code = 14
    http_status = 504


class EmbeddedUnavailable(TenureError):
    """The embedded PostgreSQL cannot be started here."""

    exit_code = 13
    http_status = 503


class ResourceClosed(TenureError):
    """The resource is closed, or is being closed, and takes nothing new."""


class CloseFailed(TenureError):
    """The resource could not be closed."""


class GuardUnavailable(TenureError):
    """The guard of the runners is gone, or does not trust this process."""


class JobFailed(TenureError):
    """The job whose result was asked for failed; here is the error of its last attempt."""

    def __init__(
        self, job_id: int, error_type: str, error_message: str, error_traceback: str | None = None
    ) -> None:
        super().__init__(f"job {job_id} failed: {error_type}: {error_message}")
        self.job_id = job_id
        self.error_type = error_type
        self.error_message = error_message
        self.error_traceback = error_traceback  # as text

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        fields = (self.job_id, self.error_type, self.error_message, self.error_traceback)
        return type(self), fields


class JobCancelled(TenureError):
    """The job whose result was asked for was cancelled."""

    def __init__(self, job_id: int, reason: str | None = None, by: str | None = None) -> None:
        who, why = f" by {by}" if by else "", f": {reason}" if reason else ""
        super().__init__(f"job {job_id} was cancelled{who}{why}")
        self.job_id = job_id
        self.reason = reason
        self.by = by

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.job_id, self.reason, self.by)


class JobNotEnded(TenureError, TimeoutError):
    """The job had not ended when the time to wait for it was over."""

    exit_code = 14
    http_status = 504


class NotAnswered(TenureError, TimeoutError):
    """A worker did not answer in time."""

    exit_code = 14
    http_status = 504


class CommandFailed(TenureError):
    """The program of a command job did not end well."""
