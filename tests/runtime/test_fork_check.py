"""Obstacles to a fork that the import of an app may leave."""

import subprocess
import sys

import pytest

from tenure.runtime.runner import fork_check

# The check runs in a process of its own, around code as a module of a user may have it.
AROUND = """
from tenure.runtime.runner.fork_check import ForkCheck
check = ForkCheck()
{code}
print(check.obstacle())
import os; os._exit(0)
"""

OBSTACLES = {
    "a thread": (
        (
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(60,), name='ticker', daemon=True).start()"
        ),
        "importing the app left 1 thread (ticker)",
    ),
    "two threads": (
        (
            "import threading, time\n"
            "for n in 'ab': threading.Thread(target=time.sleep, args=(60,), name=n).start()"
        ),
        "2 threads (",
    ),
    "a process": (
        "import subprocess\nchild = subprocess.Popen(['sleep', '1'])",
        "1 process (sleep",
    ),
    "a zombie": ("import os\nif not os.fork(): os._exit(0)", "1 process ("),
    "a socket": ("import socket\nhere = socket.socket()", "an open socket"),
    "a pipe": ("import os\nends = os.pipe()", "2 times an open pipe"),
    "an event loop": ("import asyncio\nloop = asyncio.new_event_loop()", "an event loop"),
    "a file that is read": ("file = open(__import__('os').__file__)", "1 open file (/"),
    "a locked file": (
        (
            "import fcntl, tempfile\nfile = open(tempfile.mktemp(), 'a')\n"
            "fcntl.flock(file, fcntl.LOCK_EX)"
        ),
        "1 open file (/",
    ),
    "shared memory": ("import mmap\nmemory = mmap.mmap(-1, 4096)", "1 shared memory mapping ("),
    "a signal handler": (
        "import signal\nsignal.signal(signal.SIGTERM, lambda *_: None)",
        "1 signal handler (SIGTERM)",
    ),
    "a blocked signal": (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])",
        "blocked signals",
    ),
    "a timer": ("import signal\nsignal.setitimer(signal.ITIMER_REAL, 60)", "1 running timer ("),
    "a random generator": ("import random\nmine = random.Random()", "1 random generator ("),
    "a temporary directory": (
        "import tempfile\nmine = tempfile.TemporaryDirectory()",
        "1 temporary directory (",
    ),
}

HARMLESS = {
    "nothing": "",
    "a log that is appended to": (
        "import logging, tempfile\n"
        "logging.basicConfig(filename=tempfile.mktemp())\nlogging.warning('begun')"
    ),
    "a thread that has ended": (
        "import threading\nit = threading.Thread(target=int); it.start(); it.join()"
    ),
    "a process that was waited for": "import subprocess\nsubprocess.run(['true'])",
    "a loop that was closed": "import asyncio\nasyncio.run(asyncio.sleep(0))",
    "what nobody holds any more": "import socket\nsocket.socket()",
    "random numbers of the system": "import random\nmine = random.SystemRandom(); random.random()",
    "an executor without threads": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()"
    ),
}


def obstacle(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AROUND.format(code=code)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("what", OBSTACLES)
def test_what_does_not_survive_a_fork_is_named(what: str) -> None:
    code, sentence = OBSTACLES[what]
    assert sentence in obstacle(code)


@pytest.mark.parametrize("what", HARMLESS)
def test_what_survives_a_fork_is_no_obstacle(what: str) -> None:
    assert obstacle(HARMLESS[what]) == ""


def test_a_thread_that_is_still_listed_for_a_moment_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel lists a thread for a moment after Python has joined it."""
    seen = [["python"], ["python"], []]
    monkeypatch.setattr(fork_check, "_listed_threads", lambda: seen.pop(0))
    monkeypatch.setattr("threading.active_count", lambda: 1)
    assert fork_check._threads() == []
