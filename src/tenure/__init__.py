"""Tenure: a job orchestrator for Python on PostgreSQL."""

from typing import TYPE_CHECKING

from tenure._lazy import lazy

if TYPE_CHECKING:
    from tenure.app import Tenure as Tenure
    from tenure.config import Settings as Settings
    from tenure.control.handle import Handle as Handle
    from tenure.control.job_stream import StreamItem as StreamItem
    from tenure.control.schedule import Schedule as Schedule
    from tenure.control.task import Task as Task
    from tenure.domain.job import NEVER as NEVER
    from tenure.domain.job import After as After
    from tenure.domain.job import Job as Job
    from tenure.domain.job import NewJob as NewJob
    from tenure.domain.lifecycle import Intent as Intent
    from tenure.domain.lifecycle import State as State
    from tenure.domain.lifecycle import Status as Status
    from tenure.domain.retry import Retry as Retry
    from tenure.domain.tenant import Tenant as Tenant
    from tenure.errors import TenureError as TenureError
    from tenure.runtime.context import Context as Context
    from tenure.runtime.control_exceptions import Discard as Discard
    from tenure.runtime.control_exceptions import Pause as Pause
    from tenure.runtime.control_exceptions import Snooze as Snooze
    from tenure.runtime.worker import Worker as Worker

__version__ = "0.1.0"

__getattr__, __all__ = lazy(
    __name__,
    {
        "tenure.app": ("Tenure",),
        "tenure.config": ("Settings",),
        "tenure.control.handle": ("Handle",),
        "tenure.control.job_stream": ("StreamItem",),
        "tenure.control.schedule": ("Schedule",),
        "tenure.control.task": ("Task",),
        "tenure.domain.job": ("NEVER", "After", "Job", "NewJob"),
        "tenure.domain.lifecycle": ("Intent", "State", "Status"),
        "tenure.domain.retry": ("Retry",),
        "tenure.domain.tenant": ("Tenant",),
        "tenure.errors": ("TenureError",),
        "tenure.runtime.context": ("Context",),
        "tenure.runtime.control_exceptions": ("Discard", "Pause", "Snooze"),
        "tenure.runtime.worker": ("Worker",),
    },
)
