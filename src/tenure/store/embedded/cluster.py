"""The data folder of an embedded PostgreSQL, created atomically and opened by its own version."""

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tenure.errors import EmbeddedUnavailable
from tenure.store.embedded.account import Account, account_for
from tenure.store.embedded.binaries import Binaries, all_binaries, find_binaries
from tenure.store.embedded.watcher import Lock
from tenure.store.private_files import open_private

_MIN_FREE = 1_000_000  # bytes
_DISK_FULL = re.compile(r"No space left on device|Check free disk space|Disk quota exceeded")
SETTINGS = """
# Written by Tenure. You may change it, except port and sockets, which are set at the start.
shared_buffers = 128MB
max_connections = 200
fsync = on
synchronous_commit = on
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_checkpoints = off
"""


@dataclass(frozen=True)
class Cluster:
    folder: Path
    binaries: Binaries
    account: Account

    @classmethod
    def at(cls, folder: Path, binaries: Binaries | None) -> Self:
        fitting = _fitting(folder, binaries)
        return cls(folder, fitting, account_for(folder, fitting))

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Return whether this folder contains the data of a server."""
        return (folder / "data").exists()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def make(self, turn: Lock) -> None:
        """Create the data in a temporary folder, and rename that when it is complete."""
        new = self.folder / "data.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        os.chown(new, self.account.uid, self.account.gid)
        try:
            self._fill(new, turn)
            new.rename(self.data)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        _sync(self.folder)

    def _fill(self, new: Path, turn: Lock) -> None:
        options = "--username=postgres --auth-local=trust --auth-host=reject"
        options += " --encoding=UTF8 --locale=C --no-sync"
        self._do(turn, ["initdb", "-D", new, *options.split()])
        with (new / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        # A standalone backend: the database must exist before the data is moved to its place.
        options = "--single -F -c exit_on_error=on"
        creation = "CREATE DATABASE tenure;\n"
        self._do(turn, ["postgres", *options.split(), "-D", new, "postgres"], given=creation)
        self._do(turn, ["initdb", "-D", new, "--sync-only"])

    def _do(self, turn: Lock, command: Sequence[str | Path], given: str = "") -> None:
        # The command inherits the turn, which lasts until it ends, even if this process is killed.
        program = self.binaries.folder / command[0]
        done = self.account.run([program, *command[1:]], given=given, keep=[turn.fd])
        if done.returncode != 0:
            with suppress(OSError), open_private(self.log, "ab") as log:
                log.write(done.stdout.encode())
            raise self.refusal("set up", done.stdout)

    def refusal(self, verb: str, output: str) -> EmbeddedUnavailable:
        reports_full = _DISK_FULL.search(output) and "shared memory segment" not in output
        if reports_full or shutil.disk_usage(self.folder).free < _MIN_FREE:
            reason = "the disk is full"
        else:
            reason = f"{_error_line(output)}; see {self.log}"
        return EmbeddedUnavailable(f"PostgreSQL cannot be {verb} in {self.folder}: {reason}")


def _fitting(folder: Path, binaries: Binaries | None) -> Binaries:
    version = folder / "data" / "PG_VERSION"
    if not version.exists():
        return binaries or find_binaries()
    major = int(version.read_text())
    candidates = [binaries] if binaries else list(all_binaries()) or [find_binaries()]
    for candidate in candidates:
        if candidate.major == major:
            return candidate
    found = ", ".join(str(candidate.major) for candidate in candidates)
    raise EmbeddedUnavailable(
        f"the data in {folder} is of PostgreSQL {major}, and the programs found here are of "
        f"PostgreSQL {found}: install PostgreSQL {major}, or move the data with pg_dump"
    )


def _error_line(output: str) -> str:
    lines = output.strip().splitlines()
    for line in lines:
        for mark in ("FATAL:", "PANIC:", "ERROR:", "error:"):
            if mark in line:
                return line.partition(mark)[2].strip()
    return lines[-1] if lines else "it ended without any output"


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
