"""What one does to jobs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenure.control.authorized_client import AuthorizedClient
    from tenure.control.cancellation import CancellationService
    from tenure.control.client import Client
    from tenure.control.polling import Event, event_id
    from tenure.control.subscription import Subscription
    from tenure.domain.cancellation import (
        CancellationMember,
        CancellationRecord,
        CancellationResult,
        CancellationStatus,
        CancellationStep,
    )
    from tenure.domain.principal import Principal, Role

_HOMES = {
    "AuthorizedClient": "tenure.control.authorized_client",
    "CancellationMember": "tenure.domain.cancellation",
    "CancellationRecord": "tenure.domain.cancellation",
    "CancellationResult": "tenure.domain.cancellation",
    "CancellationService": "tenure.control.cancellation",
    "CancellationStatus": "tenure.domain.cancellation",
    "CancellationStep": "tenure.domain.cancellation",
    "Client": "tenure.control.client",
    "Event": "tenure.control.polling",
    "Principal": "tenure.domain.principal",
    "Role": "tenure.domain.principal",
    "Subscription": "tenure.control.subscription",
    "event_id": "tenure.control.polling",
}

__all__ = [
    "AuthorizedClient",
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
    "Subscription",
    "event_id",
]


def __getattr__(name: str) -> Any:
    """Each name from its home at first use: a keeper needs little of this, and starts sooner."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tenure.control' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
