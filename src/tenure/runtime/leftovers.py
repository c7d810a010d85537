"""The processes and files that a killed worker leaves on its host, and their removal.

Every worker has a folder of its own below `/tmp/tenure-<uid>`, named by its marker, and holds a
lock on it while it lives. A folder whose lock is free belonged to a dead worker: the next worker
kills what carries its marker, then removes the folder. A note in the folder names the worker and
its database.

The lock is on the folder itself, not on a file in it: a program that removes old files from /tmp
removes no lock, and systemd leaves a locked folder alone.
"""

import fcntl
import os
import re
import signal
import stat
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import msgspec

from tenure.errors import InputRefused, SettingInvalid
from tenure.runtime.guard import cgroups, processes
from tenure.runtime.temporary import Removed, remove
from tenure.store.private_files import write_private

PATIENCE = 5.0

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MARKER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NOTE = "worker"


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process that could not be killed, and why."""

    pid: int
    command: str
    why: str


@dataclass(frozen=True, slots=True)
class Swept:
    """The processes of a dead worker that were killed, and those that could not be."""

    killed: tuple[int, ...]
    left: tuple[Survivor, ...]


@dataclass(frozen=True, slots=True)
class Reaped:
    """One dead worker whose processes and files were removed."""

    marker: str
    folder: Path
    processes: Swept
    files: Removed
    worker: UUID | None = None  # None if some of it may be alive, here or elsewhere
    database: str | None = None  # None if it died before it wrote its note


def check_marker(marker: str) -> None:
    """Refuse a marker that cannot name a folder and an environment variable's value."""
    if not _MARKER.fullmatch(marker):
        raise InputRefused(f"{marker!r} cannot be the marker of a worker")


def kill_marked(marker: str, sessions: Collection[int] = (), patience: float = PATIENCE) -> Swept:
    """Kill every process that carries a worker's marker, and its descendants, until none is left.

    The guard comes last: while it exists, alive or frozen, a process that loses its parent becomes
    a child of the guard and can be found even without the marker. Processes of the given sessions
    are killed too. The marker is safe to trust: only this user and root can read it.
    """
    killed: set[int] = set()
    until = time.monotonic() + patience
    while True:
        guards, others = _find(marker, sessions)
        found = others or guards
        if not found or time.monotonic() > until:
            break
        killed.update(pid for pid in found if processes.send(pid, signal.SIGKILL))
        time.sleep(0.002)
    return Swept(tuple(sorted(killed)), tuple(map(_survivor, sorted(found))))


def _find(marker: str, sessions: Collection[int]) -> tuple[set[int], set[int]]:
    """Return the guard of a worker, and all its other processes."""
    guards: set[int] = set()
    roots: set[int] = set()
    for pid in processes.all_pids():
        if processes.carries(pid, processes.GUARD, marker):
            guards.add(pid)
        elif processes.carries(pid, processes.WORKER, marker) or _session(pid) in sessions:
            roots.add(pid)
    found = {pid for root in guards | roots for pid in processes.family(root)}
    living = set(filter(processes.is_alive, found - _self_and_ancestors()))
    return living & guards, living - guards


def _session(pid: int) -> int:
    seen = processes.stat(pid)
    return seen.session if seen else 0


def _self_and_ancestors() -> set[int]:
    """Return this process and those above it."""
    above = {os.getpid()}
    pid = os.getppid()
    while pid and pid not in above:
        above.add(pid)
        seen = processes.stat(pid)
        pid = seen.parent if seen else 0
    return above


def _survivor(pid: int) -> Survivor:
    return Survivor(pid, processes.command(pid), processes.why_alive(pid))


class WorkerFolder:
    """The folder of this worker, while it holds the lock."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    @classmethod
    def claim(cls, marker: str, root: Path | None = None) -> "WorkerFolder":
        """Make the folder of a new worker."""
        check_marker(marker)
        root = _open_root(root)
        # Under the root's lock: a folder without a lock looks like that of a dead worker.
        with _root_lock(root):
            folder = root / marker
            folder.mkdir(mode=0o700)
            lock = _try_lock(folder)
            if lock is None:
                raise BlockingIOError(f"{folder} is locked by another process")
        return cls(folder, lock)

    def belongs_to(self, worker: UUID, database: str, starts_by: str = "") -> None:
        """Write the note by which others know whose folder this is, and how runners start."""
        note = _Note(worker, database, _namespace(), starts_by)
        write_private(self.folder / _NOTE, msgspec.json.encode(note))

    def release(self) -> Removed:
        """Remove the folder and everything in it, and release the lock."""
        return _clear_folder(self.folder, self._lock)

    def __enter__(self) -> "WorkerFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class _Note(msgspec.Struct, frozen=True):
    worker: UUID
    database: str
    namespace: str  # of its pids
    starts_by: str = ""  # "fork", or "spawn: " and why


def reap(root: Path | None = None, *, of: str | None = None) -> list[Reaped]:
    """Remove what dead workers left on this host; several processes may do so at once.

    With ``of``, only workers of this database: workers of other databases reap their own.
    """
    root = _open_root(root)
    with _root_lock(root):
        dead = [
            (folder, lock)
            for folder in sorted(root.iterdir())
            if _MARKER.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink()
            if of is None or ((note := _note_in(folder)) is not None and note.database == of)
            if (lock := _try_lock(folder)) is not None
        ]
    return [_reap_folder(folder, lock) for folder, lock in dead]


def runner_starts(root: Path | None = None) -> dict[UUID, str]:
    """Return how each worker of this user on this host starts its runners: fork, or spawn and why.

    Workers that were killed may be among them, until they are reaped.
    """
    notes = [note for folder in _open_root(root).iterdir() if (note := _note_in(folder))]
    return {note.worker: note.starts_by for note in notes if note.starts_by}


def _reap_folder(folder: Path, lock: int) -> Reaped:
    note = _note_in(folder)
    swept = kill_marked(folder.name)
    cgroups.clear(folder.name)
    # Processes in another namespace cannot be seen from here, and may be alive.
    is_certain = note is not None and note.namespace == _namespace() and not swept.left
    worker = note.worker if note is not None and is_certain else None
    database = None if note is None else note.database
    return Reaped(folder.name, folder, swept, _clear_folder(folder, lock), worker, database)


def _note_in(folder: Path) -> _Note | None:
    try:
        return msgspec.json.decode((folder / _NOTE).read_bytes(), type=_Note)
    except (OSError, msgspec.MsgspecError):  # it died before it had written the note
        return None


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except FileNotFoundError:  # there are no namespaces here
        return ""


def _clear_folder(folder: Path, lock: int) -> Removed:
    """Remove a folder under its lock, so that a folder half removed is found again."""
    try:
        return remove(folder)
    finally:
        os.close(lock)


def _open_root(root: Path | None) -> Path:
    """Return the folder of all workers of this user on this host; it is private to the user."""
    root = root or Path(tempfile.gettempdir()) / f"tenure-{os.getuid()}"
    with suppress(FileExistsError):
        root.mkdir(mode=0o700)
    seen = root.lstat()
    if not stat.S_ISDIR(seen.st_mode):
        raise SettingInvalid(f"{root} is not a directory; remove it or set TMPDIR")
    if seen.st_uid != os.getuid():
        raise SettingInvalid(f"{root} belongs to user {seen.st_uid}; remove it or set TMPDIR")
    if seen.st_mode & 0o077:
        root.chmod(0o700)
    return root


@contextmanager
def _root_lock(root: Path) -> Iterator[None]:
    """Let no other process claim or choose folders meanwhile."""
    fd = os.open(root, _FOLDER)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _try_lock(folder: Path) -> int | None:
    """Lock a folder if it is not locked. Call this under the root's lock."""
    try:
        fd = os.open(folder, _FOLDER)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.lstat().st_ino == os.fstat(fd).st_ino:
            return fd
    except OSError:  # it is locked, or its holder removed it
        pass
    os.close(fd)
    return None
