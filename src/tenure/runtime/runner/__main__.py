"""The program of a runner: import the app, announce it, then take the role that the keeper assigns.

The guard starts it, with a socket to the keeper, shared memory, a file for its stack and a pipe
with the order in which a process runner begins its runs.
"""

import faulthandler
import os
import signal
import socket
import sys
import traceback

from tenure.errors import TenureError
from tenure.runtime.executors.rollback import add_rollback
from tenure.runtime.guard.processes import inherit_orphans
from tenure.runtime.messages import ANNOUNCE, FORKS, Begin, Broken, Hello, Quit, ServeForks
from tenure.runtime.runner import forks
from tenure.runtime.runner.app_loader import AppNotFound, load
from tenure.runtime.runner.fork_check import ForkCheck
from tenure.runtime.runner.fork_server import ForkServer
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.shared_state import SharedState
from tenure.runtime.tickets import Tickets
from tenure.runtime.wire import PlainChannel, from_keeper

WIRE, SHARED, STACK, TICKETS = 3, 4, 5, 6  # descriptors from the guard
REQUESTS = 7  # in a fork server


def main() -> int:
    _, path, *asked = sys.argv
    del sys.argv[2:]  # so that the app sees the same arguments in every runner
    # Orphans of a job become children of this process, not of init, and end with it.
    inherit_orphans()
    faulthandler.register(signal.SIGUSR2, file=STACK, all_threads=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for descriptor in (WIRE, SHARED, STACK, TICKETS, *[REQUESTS] * (FORKS in asked)):
        os.set_inheritable(descriptor, False)
    forks.watch(WIRE)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    channel = PlainChannel(from_keeper, socket.socket(fileno=WIRE))
    ownership = Ownership()
    ownership.watch()  # before the import of the app, which may keep a reference to os.fork
    server = ForkServer(REQUESTS, WIRE) if FORKS in asked else None
    check = ForkCheck() if server is not None else None
    try:
        app = forks.leaving(load, path)
        add_rollback(app)
        announcement = app.announcement() if ANNOUNCE in asked else {}
    except BaseException as error:  # noqa: BLE001 - an import may raise anything
        is_refusal = isinstance(error, TenureError)
        message = str(error) if is_refusal else f"{type(error).__name__}: {error}"
        has_run = not isinstance(error, AppNotFound)  # some code of the app
        channel.send(Broken(message, traceback.format_exc() if has_run else ""))
        return 1
    obstacle = _obstacle(server, check)
    channel.send(Hello(announcement, app.known_url, app.settings.dump(), obstacle))
    received = channel.receive()
    if server is not None and received == [ServeForks()]:
        channel.sock.detach()
        if not server.serve(ownership):
            return 0
        channel = PlainChannel(from_keeper, socket.socket(fileno=WIRE))
        channel.send(Hello({}, None, {}))
        received = channel.receive()
    elif server is not None:
        os.close(REQUESTS)
    match received:
        case [Begin(kind="process") as begin]:
            from tenure.runtime.runner.process import ProcessRunner

            shared, tickets = SharedState(SHARED), Tickets(TICKETS)
            return ProcessRunner(app, channel, shared, tickets, begin, ownership).run()
        case [Begin() as begin]:
            from tenure.runtime.runner.loop import run_loop

            return run_loop(app, channel.sock, SharedState(SHARED), begin, ownership)
        case [] | [Quit()]:
            return 0
        case other:
            raise AssertionError(f"expected Begin, got {other}")


def _obstacle(server: ForkServer | None, check: ForkCheck | None) -> str:
    """Return why this process cannot be forked; empty if it can, or was not asked."""
    if server is None or check is None:
        return ""
    if not server.can_mark:
        return "importing the app changed the environment that the kernel shows"
    return check.obstacle()


if __name__ == "__main__":
    sys.exit(main())
