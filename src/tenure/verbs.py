"""Call the SQL verbs directly, for programs that claim and run jobs themselves.

``app.store`` has every verb as a method. The functions here return a call, which
``app.acting_as(principal).send(call)`` carries out in the name of a user.
"""

from typing import TYPE_CHECKING

from tenure._lazy import lazy

if TYPE_CHECKING:
    from tenure.store.call import Call as Call
    from tenure.store.calls.control_calls import clear as clear
    from tenure.store.calls.control_calls import resume as resume
    from tenure.store.calls.control_calls import stop as stop
    from tenure.store.calls.enqueue_calls import queue as queue
    from tenure.store.calls.queries import list_jobs as list_jobs
    from tenure.store.calls.queries import show as show
    from tenure.store.outcomes import Ending as Ending
    from tenure.store.results import Claimed as Claimed
    from tenure.store.results import Holding as Holding
    from tenure.store.store import AsyncStore as AsyncStore
    from tenure.store.store import Store as Store

__getattr__, __all__ = lazy(
    __name__,
    {
        "tenure.store.call": ("Call",),
        "tenure.store.calls.control_calls": ("clear", "resume", "stop"),
        "tenure.store.calls.enqueue_calls": ("queue",),
        "tenure.store.calls.queries": ("list_jobs", "show"),
        "tenure.store.outcomes": ("Ending",),
        "tenure.store.results": ("Claimed", "Holding"),
        "tenure.store.store": ("AsyncStore", "Store"),
    },
)
