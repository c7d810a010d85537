"""Close what a job holds when the job ends: clients, browsers, processes."""

from tenure.runtime.resources import (
    BrowserResourceManager,
    CleanupCoordinator,
    CleanupReport,
    ClosableResourceManager,
    EnteredResourceManager,
    Failure,
    HeldResourceManager,
    HTTPResourceManager,
    ProcessResourceManager,
    ResourceManager,
    resource_for,
)

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
