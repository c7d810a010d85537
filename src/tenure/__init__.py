"""Tenure: a job orchestrator for Python on PostgreSQL."""

from tenure.config import Settings
from tenure.control.client import Tenure
from tenure.domain.job import NEVER, After, Job, NewJob
from tenure.domain.retry import Retry
from tenure.errors import TenureError

__all__ = ["NEVER", "After", "Job", "NewJob", "Retry", "Settings", "Tenure", "TenureError"]
