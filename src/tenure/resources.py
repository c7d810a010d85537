"""Close what a job holds when the job ends: clients, browsers, processes."""

from tenure.runtime.resources.adapters import (
    ClosableResourceManager,
    EnteredResourceManager,
    HeldResourceManager,
)
from tenure.runtime.resources.browser import BrowserResourceManager
from tenure.runtime.resources.coordinator import CleanupCoordinator
from tenure.runtime.resources.http import HTTPResourceManager
from tenure.runtime.resources.manager import ResourceManager
from tenure.runtime.resources.process import ProcessResourceManager
from tenure.runtime.resources.report import CleanupReport, Failure
from tenure.runtime.resources.selection import resource_for

__all__ = [
    "BrowserResourceManager",
    "CleanupCoordinator",
    "CleanupReport",
    "ClosableResourceManager",
    "EnteredResourceManager",
    "Failure",
    "HTTPResourceManager",
    "HeldResourceManager",
    "ProcessResourceManager",
    "ResourceManager",
    "resource_for",
]
