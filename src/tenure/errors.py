"""Every exception of Tenure; docs/reference/errors.md shows them as a tree."""

from typing import Any, ClassVar, Self

UNIX_MODULES = frozenset({"fcntl", "pwd", "resource", "termios", "tty"})  # not on Windows


class TenureError(Exception):
    """An error that a user can act on; its message is a whole sentence.

    Each class names its exit code and HTTP status, or has those of its base class.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init_subclass__(cls, exit_code: int = 0, http_status: int = 0) -> None:
        cls.exit_code = exit_code or cls.exit_code
        cls.http_status = http_status or cls.http_status


class SettingInvalid(TenureError):
    """A setting is wrong, or contradicts another."""


class InputRefused(TenureError, exit_code=2, http_status=422):
    """An argument, option or request is wrong."""


class NotFound(InputRefused, exit_code=10, http_status=404):
    """The named job, tenant or other thing does not exist."""


class JobNotFound(NotFound):
    """There is no such job."""


class IllegalTransition(InputRefused, exit_code=11, http_status=409):
    """The state of the job does not allow the verb."""


class KeyTaken(InputRefused, exit_code=11, http_status=409):
    """Another job holds the unique key, and "refuse" was asked for."""


class NotAllowed(TenureError, exit_code=12, http_status=403):
    """The caller may not do this."""


class NotRecognized(TenureError, exit_code=12, http_status=401):
    """The caller has no token, or one that is not valid."""


class BudgetExceeded(TenureError):
    """A budget does not suffice for what was to be reserved."""


class LeaseLost(TenureError):
    """The worker was declared dead; its reports are refused."""


class SchemaMismatch(TenureError, exit_code=13, http_status=503):
    """The database is older or newer than this code."""


class StoreUnavailable(TenureError, exit_code=13, http_status=503):
    """The database cannot be reached, or went away.

    ``may_pass`` is false where waiting does not help: a wrong password, an unknown host, no such
    database.
    """

    def __init__(self, sentence: str = "", *, may_pass: bool = True) -> None:
        super().__init__(sentence)
        self.may_pass = may_pass


class WriteRefused(StoreUnavailable):
    """A constraint or a trigger of the database refused to have this written; nothing changed."""


class QueryTimeout(TenureError, TimeoutError, exit_code=14, http_status=504):
    """A query took longer than its limit and was cancelled; nothing was changed."""


class EmbeddedUnavailable(TenureError, exit_code=13, http_status=503):
    """The embedded PostgreSQL cannot be started here."""


class Timeout(TenureError, TimeoutError):
    """A wait of a job was not answered in time, or a step took too long."""


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


class JobNotEnded(TenureError, TimeoutError, exit_code=14, http_status=504):
    """The job had not ended when the time to wait for it was over."""


class NotAnswered(TenureError, TimeoutError, exit_code=14, http_status=504):
    """A worker did not answer in time."""


class CommandFailed(TenureError):
    """The program of a command job did not end well."""
