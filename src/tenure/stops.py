"""Cancel, pause, resume and watch jobs, and read the records of stops."""

from typing import TYPE_CHECKING

from tenure._lazy import lazy

if TYPE_CHECKING:
    from tenure.control.bulk import rerun_many as rerun_many
    from tenure.control.bulk import resume_many as resume_many
    from tenure.control.bulk import stop_many as stop_many
    from tenure.control.cancellation import CancellationService as CancellationService
    from tenure.control.polling import Event as Event
    from tenure.control.polling import event_id as event_id
    from tenure.control.subscription import Subscription as Subscription
    from tenure.domain.cancellation import CancellationMember as CancellationMember
    from tenure.domain.cancellation import CancellationRecord as CancellationRecord
    from tenure.domain.cancellation import CancellationResult as CancellationResult
    from tenure.domain.cancellation import CancellationStatus as CancellationStatus
    from tenure.domain.cancellation import CancellationStep as CancellationStep
    from tenure.domain.lifecycle import Rung as Rung
    from tenure.domain.stop_options import StopOptions as StopOptions

__getattr__, __all__ = lazy(
    __name__,
    {
        "tenure.control.bulk": ("rerun_many", "resume_many", "stop_many"),
        "tenure.control.cancellation": ("CancellationService",),
        "tenure.control.polling": ("Event", "event_id"),
        "tenure.control.subscription": ("Subscription",),
        "tenure.domain.cancellation": (
            "CancellationMember",
            "CancellationRecord",
            "CancellationResult",
            "CancellationStatus",
            "CancellationStep",
        ),
        "tenure.domain.lifecycle": ("Rung",),
        "tenure.domain.stop_options": ("StopOptions",),
    },
)
