"""Folders and files that only their owner may read, whatever the umask is."""

import os
from pathlib import Path
from typing import IO


def make_private_folder(path: Path, mode: int = 0o700) -> None:
    """Make a folder and its missing parents; existing folders keep their mode."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=mode, exist_ok=True)


def open_private(path: Path, mode: str) -> IO[bytes]:
    """Open a file for writing bytes; a new file is readable by its owner only."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read."""
    with open_private(path, "wb") as file:
        file.write(data)
