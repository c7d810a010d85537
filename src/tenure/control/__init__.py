"""What one does to jobs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenure.control.behalf import Behalf
    from tenure.control.cancellation import CancellationService
    from tenure.control.client import Client
    from tenure.control.looks import Event, event_id
    from tenure.control.watching import Watching
    from tenure.domain.cancellation import (
        CancellationMember,
        CancellationRecord,
        CancellationResult,
        CancellationStatus,
        CancellationStep,
    )
    from tenure.domain.principal import Principal, Role

_HOMES = {
    "Behalf": "tenure.control.behalf",
    "CancellationMember": "tenure.domain.cancellation",
    "CancellationRecord": "tenure.domain.cancellation",
    "CancellationResult": "tenure.domain.cancellation",
    "CancellationService": "tenure.control.cancellation",
    "CancellationStatus": "tenure.domain.cancellation",
    "CancellationStep": "tenure.domain.cancellation",
    "Client": "tenure.control.client",
    "Event": "tenure.control.looks",
    "Principal": "tenure.domain.principal",
    "Role": "tenure.domain.principal",
    "Watching": "tenure.control.watching",
    "event_id": "tenure.control.looks",
}

__all__ = [
    "Behalf",
    "CancellationMember",
    "CancellationRecord",
    "CancellationResult",
    "CancellationService",
    "CancellationStatus",
    "CancellationStep",
    "Client",
    "Event",
    "Principal",
    "Role",
    "Watching",
    "event_id",
]


def __getattr__(name: str) -> Any:
    """Each name from its home at first use: a keeper needs little of this, and starts sooner."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tenure.control' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
