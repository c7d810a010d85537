"""The worst of what is usual."""

import math
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed: of few, the largest."""
    return sorted(values)[max(math.ceil(len(values) * share), 1) - 1]
