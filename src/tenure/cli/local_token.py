"""The token that ``tenure up`` stores in its folder, for users who may read that."""

import os
import tempfile
from pathlib import Path

from tenure.cli.connection import TOKEN_FILE
from tenure.control.client import Client
from tenure.control.tokens import make_token, recognize
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.errors import NotRecognized
from tenure.store.private_files import make_private_folder

NAME = "local"


def local_token(client: Client, folder: Path) -> Path:
    """Return the path of the stored token; replace it if it is no longer valid."""
    path = folder / TOKEN_FILE
    if not _is_valid(client, path):
        secret, _ = make_token(client, NAME, Role.ADMIN, lifetime=TOKEN_LIFETIME)
        _write(path, secret)
    path.chmod(0o600)
    return path


def _is_valid(client: Client, path: Path) -> bool:
    try:
        recognize(client, path.read_text().strip())
    except (FileNotFoundError, UnicodeDecodeError, NotRecognized):
        return False
    return True


def _write(path: Path, secret: str) -> None:
    """Write the file atomically, and never readable by others."""
    make_private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secret}\n")
    Path(name).replace(path)
