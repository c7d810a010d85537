"""By which means a worker on this host stops code."""

import os
import sys

from tenure.control.checks import Finding, fine


def means_of_stopping() -> Finding:
    """Return what a worker here can use, found out by trying."""
    if sys.platform != "linux":
        return fine(
            "stopping", "workers need Linux; jobs that run elsewhere can be stopped from here"
        )
    from tenure.runtime.guard import cgroups, processes

    group = cgroups.open_for(f"doctor-{os.getpid()}")
    if group is not None:
        group.remove()
    trees = "by control groups" if group else "by walking /proc, for want of control groups"
    tells = "tells" if processes.read("/proc/self/syscall") else "does not tell"
    sentence = f"a worker on this host ends process trees {trees}; the kernel {tells} which threads"
    return fine("stopping", f"{sentence} wait")
