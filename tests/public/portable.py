"""Run a file as if on another operating system: its modules and calls are hidden.

python -m tests.public.portable darwin|win32 FILE ...
"""

import asyncio
import importlib.abc
import logging.handlers
import multiprocessing.connection
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from typing import Any

import fsspec  # type: ignore[import-untyped]
import psutil
import psycopg
import rich.live
import rich.prompt
import typer
import uvicorn

# Imported above: they have other code on other systems, which is not to be tested here.
PREPARED = (asyncio, fsspec, logging, multiprocessing, psutil, psycopg, subprocess, tempfile)
PREPARED_TOO = (rich, typer, urllib.request, uvicorn)

MODULES = {
    "win32": {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty", "uvloop"},
    "darwin": {"uvloop"},
}
CALLS = {
    "win32": (
        *("chown", "fork", "forkpty", "getegid", "geteuid", "getpgid", "getuid", "killpg"),
        *("register_at_fork", "setsid", "sched_getaffinity", "waitid"),
    ),
    "darwin": ("pidfd_open", "sched_getaffinity", "eventfd", "memfd_create"),
}
SIGNALS = {
    "win32": (
        *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGSTOP", "SIGTSTP", "SIGTTIN"),
        *("SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGWINCH", "pthread_kill", "pthread_sigmask"),
    ),
    "darwin": ("pidfd_send_signal",),
}


class Hidden(importlib.abc.MetaPathFinder):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, *_: Any) -> None:
        if name in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide(platform: str) -> None:
    assert threading.active_count() == 1
    for name in MODULES[platform]:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Hidden(MODULES[platform]))
    for where, names in ((os, CALLS[platform]), (signal, SIGNALS[platform])):
        for name in names:
            if hasattr(where, name):
                delattr(where, name)
    if hasattr(os, "process_cpu_count"):  # it asks sched_getaffinity where there is one
        os.process_cpu_count = os.cpu_count
    sys.platform = platform
    if platform == "win32":  # the driver asks whether it runs in such a loop
        asyncio.ProactorEventLoop = type("ProactorEventLoop", (), {})  # type: ignore[attr-defined]


if __name__ == "__main__":
    _, platform, file, *sys.argv = sys.argv
    sys.argv.insert(0, file)
    hide(platform)
    runpy.run_path(file, run_name="__main__")
