"""A PostgreSQL server in a folder, shared by all processes that open the folder.

The first process to open the folder starts the server, and the last to close it stops the server.
There is no list of users, which would be wrong as soon as a user is killed. Instead there are five
locks, files in `locks/` under flock, which the kernel releases when their holder is gone.

    turn      held while a process starts or stops the server; everything below happens under it
    users     shared by all users; a process that gets it exclusively is the last user
    pulse     shared by all users; the watcher waits to get it exclusively
    watcher   held by the watcher, inherited from the user that started it
    server    held by the postmaster and its children, inherited in the same way

The watcher stops the server if the last user is killed. It waits on a lock of its own, because a
user that leaves must not mistake it for another user. Afterwards it takes the turn and checks
again, so a user that arrived meanwhile is safe.

`server` is free only when the last process of the server is gone, whatever pid files contain, and
is held from before the server has written a pid file.

The postmaster must outlive the process that started it: never open a folder under a process that
kills its orphans. A forked child is not a user: its copies of the locks are closed at the fork. It
may use the URL as long as its parent is a user, or open the folder itself.
"""

import fcntl
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tenure.errors import EmbeddedUnavailable, StoreUnavailable
from tenure.store.embedded import server, watcher
from tenure.store.embedded.account import ROOT
from tenure.store.embedded.binaries import Binaries, find_binaries
from tenure.store.embedded.cluster import Cluster
from tenure.store.embedded.watcher import Lock, is_held, turn
from tenure.store.private_files import make_private_folder, write_private

__all__ = ["Binaries", "Embedded", "find_binaries", "require_database"]

TURN_PATIENCE = server.START_PATIENCE + 60.0


class Embedded:
    """A user of the PostgreSQL server in a folder."""

    url: str

    def __init__(self, folder: Path) -> None:
        """Register as a user. Only `open` may call this, under the turn."""
        self.folder = folder
        self._process = os.getpid()
        self._is_open = True
        self._users = Lock(folder, "users")
        self._users.acquire(fcntl.LOCK_SH)
        self._pulse = Lock(folder, "pulse")
        self._pulse.acquire(fcntl.LOCK_SH)

    @classmethod
    def open(cls, folder: Path, binaries: Binaries | None = None) -> Self:
        """Open the folder; create the data and start the server if needed."""
        folder = folder.resolve()
        with _refusals(folder):
            _prepare(folder)
            with turn(folder, TURN_PATIENCE) as our_turn:
                user = cls(folder)
                try:
                    _start(folder, binaries, our_turn)
                    user.url = server.url(folder)
                except BaseException:
                    user._leave()
                    raise
                return user

    @property
    def is_alive(self) -> bool:
        """Return whether the server runs; it may not be ready yet."""
        return watcher.postmaster(self.folder) is not None

    def revive(self) -> None:
        """Start the server again if it has died, under the same URL."""
        with _refusals(self.folder), turn(self.folder, TURN_PATIENCE) as our_turn:
            _start(self.folder, None, our_turn)

    def close(self) -> None:
        """Close the folder; the last user stops the server. Calling it again does nothing."""
        if self._is_open and self._process == os.getpid():
            with _refusals(self.folder), turn(self.folder, TURN_PATIENCE):
                self._leave()

    def _leave(self) -> None:
        self._is_open = False
        try:
            if self._users.try_acquire(fcntl.LOCK_EX):
                watcher.stop(self.folder)
        finally:
            self._users.release()
            self._pulse.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_running(folder: Path) -> bool:
    """Return whether a server runs in this folder, without starting one."""
    return watcher.postmaster(folder) is not None


def require_database(folder: Path) -> None:
    """Refuse a folder without a database, for commands that only read."""
    if not Cluster.is_in(folder):
        raise StoreUnavailable(
            f"there is no database in {folder.absolute()}; start one with tenure up, go to the "
            f"folder where it was started, or name yours with --url or TENURE_DATABASE_URL",
            may_pass=False,
        )


def _prepare(folder: Path) -> None:
    if not folder.exists():
        # Root runs PostgreSQL as another user, who must be able to reach the data.
        mode = 0o711 if os.geteuid() == ROOT else 0o700
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(folder, mode)
        write_private(folder / ".gitignore", b"*\n")
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise EmbeddedUnavailable(
            f"{folder} belongs to {_name(owner)}: only {_name(owner)} can keep a PostgreSQL in it"
        )
    (folder / "locks").mkdir(mode=0o700, exist_ok=True)


def _start(folder: Path, binaries: Binaries | None, our_turn: Lock) -> None:
    if is_held(folder, "server") and server.settled(folder):
        _start_watcher(folder)
        return
    cluster = Cluster.at(folder, binaries)
    if not cluster.data.exists():
        cluster.make(our_turn)
    _start_watcher(folder)
    server.start(cluster)


def _start_watcher(folder: Path) -> None:
    existence = Lock(folder, "watcher")
    try:
        if existence.try_acquire(fcntl.LOCK_EX):
            watch = [sys.executable, "-I", "-S", watcher.__file__, str(folder), str(existence.fd)]
            subprocess.run(  # noqa: S603
                ["/bin/sh", "-c", '"$@" &', "sh", *watch],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                pass_fds=[existence.fd],
            )
    finally:
        existence.hand_over()


@contextmanager
def _refusals(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise EmbeddedUnavailable(f"cannot keep a PostgreSQL in {folder}: {reason}") from error


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
