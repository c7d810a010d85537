"""Folders and files that nobody but their owner may read, whatever the umask says."""

import os
from pathlib import Path
from typing import IO


def make_private_folder(path: Path, mode: int = 0o700) -> None:
    """Make a folder, and those above it that are missing; what is there keeps its rights."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=mode, exist_ok=True)


def open_private(path: Path, mode: str) -> IO[bytes]:
    """Open a file to write bytes to; if it is made here, its owner alone may read it."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def write_private(path: Path, data: bytes) -> None:
    """Write a whole file that its owner alone may read."""
    with open_private(path, "wb") as file:
        file.write(data)
