"""Start the server of a cluster, wait for it and find it again; all of it under the turn."""

import fcntl
import hashlib
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from tenure.errors import EmbeddedUnavailable
from tenure.store.embedded.account import Account
from tenure.store.embedded.cluster import Cluster
from tenure.store.embedded.watcher import POLL, Lock, command_of, is_held, pid_file, postmaster

START_PATIENCE = 300.0  # seconds; recovery from a crash may take long
PORT = 5432
# macOS allows 104 bytes for the path of a socket.
_MAX_SOCKET_FOLDER = 104 - len("/.s.PGSQL.5432") - 1


def start(cluster: Cluster) -> None:
    folder = cluster.folder
    sockets = _socket_folder(folder, cluster.account)
    _remove_stale_pid_file(folder, sockets)
    stale = _last_written(folder)
    log = os.open(cluster.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    server = Lock(folder, "server")
    try:
        begin = os.fstat(log).st_size
        server.acquire(fcntl.LOCK_EX)
        _launch(cluster, sockets, log, server)
    finally:
        os.close(log)
        server.hand_over()
    if not settled(folder, stale):
        output = cluster.log.read_bytes()[begin:].decode(errors="replace")
        raise cluster.refusal("started", output)


def settled(folder: Path, stale: int | None = None) -> bool:
    """Wait until the server is ready or gone; return whether it is ready."""
    deadline = time.monotonic() + START_PATIENCE
    while is_held(folder, "server"):
        if _is_ready(folder) and _last_written(folder) != stale:
            return True
        if time.monotonic() > deadline:
            raise TimeoutError(f"the server is not ready after {START_PATIENCE:.0f} s")
        time.sleep(POLL)
    return False


def url(folder: Path) -> str:
    """Return the URL from the pid file: the temporary folder of another user may differ."""
    sockets = quote(pid_file(folder)[4])
    return f"postgresql://postgres@/tenure?host={sockets}&port={PORT}"


def _launch(cluster: Cluster, sockets: Path, log: int, server: Lock) -> None:
    settings = {
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": sockets,
        "unix_socket_permissions": "0700",
    }
    options = [f"--{name}={value}" for name, value in settings.items()]
    postgres = cluster.binaries.folder / "postgres"
    # The shell ends at once, so the postmaster is not a child of this process.
    command: list[str | Path] = ["/bin/sh", "-c", '"$@" &', "sh"]
    command += [postgres, "-D", cluster.data, *options]
    cluster.account.run(command, output=log, keep=[server.fd])


def _is_ready(folder: Path) -> bool:
    status = pid_file(folder)[7:8]
    return bool(status) and status[0].strip() == "ready" and postmaster(folder) is not None


def _last_written(folder: Path) -> int | None:
    try:
        return (folder / "data" / "postmaster.pid").stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _remove_stale_pid_file(folder: Path, sockets: Path) -> None:
    """Remove a pid file whose pid another program has by now: PostgreSQL would not start."""
    for leftover in sockets.glob(".s.PGSQL.*"):
        leftover.unlink()
    lines = pid_file(folder)
    command = command_of(int(lines[0])) if lines else None
    if command is None:
        return
    program = Path(command[0]).name if command else ""
    # A server that was started by hand: let PostgreSQL refuse.
    if not program.startswith(("postgres", "postmaster")):
        (folder / "data" / "postmaster.pid").unlink()


def _socket_folder(folder: Path, account: Account) -> Path:
    """Return a private folder: anyone who can enter it may connect as any database user."""
    sockets = folder / "socket"
    if len(os.fsencode(sockets)) > _MAX_SOCKET_FOLDER or "," in str(sockets):
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        sockets = Path(tempfile.gettempdir()).resolve() / f"tenure-{name}"
    with suppress(FileExistsError):
        sockets.mkdir(mode=0o700)
    found = sockets.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid in (os.geteuid(), account.uid)
    if not is_own or found.st_mode & 0o077:
        raise EmbeddedUnavailable(
            f"{sockets} is not a private folder of the user PostgreSQL runs as: remove it"
        )
    os.chown(sockets, account.uid, account.gid, follow_symlinks=False)
    return sockets
