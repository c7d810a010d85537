"""For tests of programs that use Tenure: a sandbox that runs jobs on a database of its own."""

from typing import TYPE_CHECKING

from tenure._lazy import lazy

if TYPE_CHECKING:
    from tenure.testing.clock import Clock as Clock
    from tenure.testing.databases import Databases as Databases
    from tenure.testing.results import JobRun as JobRun
    from tenure.testing.sandbox import Sandbox as Sandbox

__getattr__, __all__ = lazy(
    __name__,
    {
        "tenure.testing.clock": ("Clock",),
        "tenure.testing.databases": ("Databases",),
        "tenure.testing.results": ("JobRun",),
        "tenure.testing.sandbox": ("Sandbox",),
    },
)
