"""The garbage collector, where thousands of small things come and go and hardly any is a cycle.

Left as it comes, it takes a sixth of the time of a keeper or a loop runner that has much to do.
"""

import gc

_AS_IT_COMES = gc.get_threshold()
_SELDOM = (20_000, *_AS_IT_COMES[1:])


def collect_rarely() -> None:
    """What was imported stays and is passed over from now on. A rhythm of the job code's own is
    left as it is."""
    gc.freeze()
    if gc.get_threshold() == _AS_IT_COMES:
        gc.set_threshold(*_SELDOM)
