"""The program of a runner: import the app, say what it can run, then be what the keeper asks for.

It is started by the guard, with a socket to the keeper, shared memory and a file for its stack.
"""

import ctypes
import faulthandler
import os
import signal
import socket
import sys
import traceback

from tenure.errors import TenureError
from tenure.runtime.executors.rollback import bring_along
from tenure.runtime.messages import ANNOUNCE, Begin, Broken, Hello, Quit
from tenure.runtime.runner import forks
from tenure.runtime.runner.app_loader import AppNotFound, load
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.shared_state import SharedState
from tenure.runtime.wire import PlainChannel, from_keeper

WIRE, SHARED, STACK = 3, 4, 5  # the descriptors that the guard hands down
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    _, path, *asked = sys.argv
    del sys.argv[2:]  # what the app finds there is the same in every runner
    # What daemons of a job leave behind becomes ours, not init's, and so ends with us.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    faulthandler.register(signal.SIGUSR2, file=STACK, all_threads=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for descriptor in (WIRE, SHARED, STACK):
        os.set_inheritable(descriptor, False)
    forks.watch(WIRE)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    channel = PlainChannel(from_keeper, socket.socket(fileno=WIRE))
    ownership = Ownership()
    ownership.watch()  # before the app is imported, which may keep os.fork under its own name
    try:
        app = forks.leaving(load, path)
        bring_along(app)
        announcement = app.announcement() if ANNOUNCE in asked else {}
    except BaseException as error:  # noqa: BLE001 - whatever a module does at import, it is told
        sentence = (
            str(error) if isinstance(error, TenureError) else f"{type(error).__name__}: {error}"
        )
        found = not isinstance(error, AppNotFound)  # else nothing of the app has run
        channel.send(Broken(sentence, traceback.format_exc() if found else ""))
        return 1
    channel.send(Hello(announcement, app.known_url, app.settings.dump()))
    match channel.receive():
        case [Begin(kind="process") as begin]:
            from tenure.runtime.runner.process import ProcessRunner

            return ProcessRunner(app, channel, SharedState(SHARED), begin, ownership).run()
        case [Begin() as begin]:
            from tenure.runtime.runner.loop import run_loop

            return run_loop(app, channel.sock, SharedState(SHARED), begin, ownership)
        case [] | [Quit()]:
            return 0
        case other:
            raise AssertionError(f"before Begin came {other}")


if __name__ == "__main__":
    sys.exit(main())
