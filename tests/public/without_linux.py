"""Hide from Python what Linux alone has: as ``sitecustomize`` it applies to a whole worker.

psutil still reads /proc, as on Linux it must.
"""

import fcntl
import os
import resource
import signal
import socket
import time
from typing import Any

HIDDEN = {
    fcntl: ("F_SETPIPE_SZ", "F_GETPIPE_SZ"),
    os: (
        *("pidfd_open", "memfd_create", "pipe2", "waitid", "getresuid", "setresuid", "O_PATH"),
        *("sched_getaffinity", "sched_setaffinity", "sched_getscheduler", "sched_setscheduler"),
    ),
    resource: ("RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_SIGPENDING", "prlimit"),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo"),
    socket: ("SOCK_SEQPACKET", "MSG_CMSG_CLOEXEC", "SO_PEERCRED"),
    time: ("CLOCK_BOOTTIME",),
}
_open, _readlink, _listdir = os.open, os.readlink, os.listdir


def _is_proc(path: Any) -> bool:
    return isinstance(path, str | os.PathLike) and os.fspath(path).startswith("/proc/self")


def _hiding(call: Any) -> Any:
    def without_proc(path: Any = ".", *args: Any, **options: Any) -> Any:
        if _is_proc(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        return call(path, *args, **options)

    return without_proc


for module, names in HIDDEN.items():
    for name in names:
        delattr(module, name)
os.open, os.readlink, os.listdir = map(_hiding, (_open, _readlink, _listdir))
