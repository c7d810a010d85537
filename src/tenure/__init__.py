"""Tenure: a job orchestrator for Python on PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenure.app import Tenure
    from tenure.config import Settings
    from tenure.control.handle import Handle
    from tenure.control.task import Task
    from tenure.domain.job import NEVER, After, Job, NewJob
    from tenure.domain.retry import Retry
    from tenure.errors import TenureError
    from tenure.runtime.context import Context
    from tenure.runtime.control_exceptions import Discard, Pause, Snooze

_HOMES = {
    "NEVER": "tenure.domain.job",
    "After": "tenure.domain.job",
    "Context": "tenure.runtime.context",
    "Discard": "tenure.runtime.control_exceptions",
    "Handle": "tenure.control.handle",
    "Job": "tenure.domain.job",
    "NewJob": "tenure.domain.job",
    "Pause": "tenure.runtime.control_exceptions",
    "Retry": "tenure.domain.retry",
    "Settings": "tenure.config",
    "Snooze": "tenure.runtime.control_exceptions",
    "Task": "tenure.control.task",
    "Tenure": "tenure.app",
    "TenureError": "tenure.errors",
}

__all__ = [
    "NEVER",
    "After",
    "Context",
    "Discard",
    "Handle",
    "Job",
    "NewJob",
    "Pause",
    "Retry",
    "Settings",
    "Snooze",
    "Task",
    "Tenure",
    "TenureError",
]


def __getattr__(name: str) -> Any:
    """Each name from its home at first use: a keeper needs little of this, and starts sooner."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tenure' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
