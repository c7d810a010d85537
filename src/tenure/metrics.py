"""List the metrics that workers and servers expose."""

from typing import TYPE_CHECKING

from tenure._lazy import lazy

if TYPE_CHECKING:
    from tenure.observe.series import SERIES as SERIES
    from tenure.observe.series import Series as Series

__getattr__, __all__ = lazy(
    __name__,
    {
        "tenure.observe.series": ("SERIES", "Series"),
    },
)
