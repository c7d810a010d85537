"""The garbage collector of processes with thousands of short-lived objects and few cycles.

At its default threshold it takes a sixth of the time of a busy keeper or loop runner.
"""

import gc

_DEFAULT = gc.get_threshold()
_RARE = (20_000, *_DEFAULT[1:])


def collect_rarely() -> None:
    """Exempt everything imported so far, and raise the threshold unless job code has set it."""
    gc.freeze()
    if gc.get_threshold() == _DEFAULT:
        gc.set_threshold(*_RARE)
