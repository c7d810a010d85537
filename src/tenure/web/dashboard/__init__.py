"""The dashboard: watch jobs, stop them, and see the proof."""

from tenure.web.dashboard.middleware import Dashboard
from tenure.web.dashboard.sessions import Sessions

__all__ = ["Dashboard", "Sessions"]
