"""The token that ``tenure up`` leaves in its folder, for whoever may read it."""

import os
import tempfile
from pathlib import Path

from tenure.cli.connecting import TOKEN_FILE
from tenure.control.client import Client
from tenure.control.tokens import make_token, recognize
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.errors import NotRecognized
from tenure.store.private_files import make_private_folder

NAME = "local"


def local_token(client: Client, folder: Path) -> Path:
    """Where the token is: the one from before, or a new one if that is not valid any more."""
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
    """Whole or not at all, and never readable by others, not even for a moment."""
    make_private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secret}\n")
    Path(name).replace(path)
