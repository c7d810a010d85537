"""A PostgreSQL under a folder, shared by every process that opens it.

The first to open the folder starts the server and the last to leave stops it. Nobody keeps
a list of who is there: a list is wrong as soon as somebody is killed. There are five locks
instead, files in `locks/` under flock, which the kernel lets go when their holder is gone.

    turn      held by whoever starts or stops the server; all that follows happens in it
    users     shared by all users; who can have it alone is the last
    pulse     shared by all users; the watcher waits to have it alone
    watcher   held by the watcher, inherited from the user who started it
    server    held by the postmaster and its children, inherited likewise

The watcher is for the case that the last user is killed and cannot stop the server. It
waits on a lock of its own, because a user who leaves must not mistake it for another user.
Having waited it takes its turn and looks again, so a user who came meanwhile is safe.

`server` is free only when the last process of the server is gone, whatever pid files say,
and is held from before the server has written one.

The postmaster must outlive its starter: never open a folder under a process that sweeps its
orphans. A forked child is no user, its copies of the locks are closed at the fork; it may
use the URL as long as its parent is one, or open the folder itself.
"""

import fcntl
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
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
    """One user of the PostgreSQL under a folder."""

    url: str

    def __init__(self, folder: Path) -> None:
        """Only `open` may call this: it needs the turn."""
        self.folder = folder
        self._process = os.getpid()
        self._is_open = True
        self._users = Lock(folder, "users")
        self._users.take(fcntl.LOCK_SH)
        self._pulse = Lock(folder, "pulse")
        self._pulse.take(fcntl.LOCK_SH)

    @classmethod
    def open(cls, folder: Path, binaries: Binaries | None = None) -> Self:
        """Come in; make the data and start the server if that has to be."""
        folder = folder.resolve()
        with _refusals(folder):
            _prepare(folder)
            with turn(folder, TURN_PATIENCE) as our_turn:
                user = cls(folder)
                try:
                    _bring_up(folder, binaries, our_turn)
                    user.url = server.url(folder)
                except BaseException:
                    user._leave()
                    raise
                return user

    @property
    def is_alive(self) -> bool:
        """Whether the server is there; it may be starting, and not ready yet."""
        return watcher.postmaster(self.folder) is not None

    def revive(self) -> None:
        """Start the server again if it has died, under the same URL."""
        with _refusals(self.folder), turn(self.folder, TURN_PATIENCE) as our_turn:
            _bring_up(self.folder, None, our_turn)

    def close(self) -> None:
        """Leave; the last one stops the server. Does nothing the second time."""
        if self._is_open and self._process == os.getpid():
            with _refusals(self.folder), turn(self.folder, TURN_PATIENCE):
                self._leave()

    def _leave(self) -> None:
        self._is_open = False
        try:
            if self._users.try_to_take(fcntl.LOCK_EX):
                watcher.stop(self.folder)
        finally:
            self._users.release()
            self._pulse.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def is_running(folder: Path) -> bool:
    """Return whether a database runs in this folder; nothing is started for it."""
    return watcher.postmaster(folder) is not None


def require_database(folder: Path) -> None:
    """Refuse a folder without a database, where somebody only wants to read one."""
    if not Cluster.is_in(folder):
        raise StoreUnavailable(
            f"there is no database in {folder.absolute()}; start one with tenure up, go to the "
            f"folder where it was started, or name yours with --url or TENURE_DATABASE_URL",
            may_pass=False,
        )


def _prepare(folder: Path) -> None:
    if not folder.exists():
        # Root runs PostgreSQL as somebody else, who must come through to the data.
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


def _bring_up(folder: Path, binaries: Binaries | None, our_turn: Lock) -> None:
    if is_held(folder, "server") and server.settled(folder):
        _be_watched(folder)
        return
    cluster = Cluster.at(folder, binaries)
    if not cluster.data.exists():
        cluster.make(our_turn)
    _be_watched(folder)
    server.start(cluster)


def _be_watched(folder: Path) -> None:
    existence = Lock(folder, "watcher")
    try:
        if existence.try_to_take(fcntl.LOCK_EX):
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
