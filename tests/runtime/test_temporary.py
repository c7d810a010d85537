"""Temporary directories: made for one user, gone without a trace outside."""

import os
import socket
import stat
from pathlib import Path

import pytest

from tenure.runtime import temporary
from tenure.runtime.temporary import Removed, remove, temp_dir


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A file outside that must stay as it is."""
    kept = tmp_path / "kept"
    kept.write_text("valuable")
    kept.chmod(0o400)
    return kept


@pytest.mark.parametrize("sensitive", [False, True])
def test_only_its_user_can_open_it(tmp_path: Path, sensitive: bool) -> None:
    made = temp_dir(tmp_path, sensitive)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert made.name.endswith(".sensitive") == sensitive
    assert made != temp_dir(tmp_path, sensitive)


def test_sensitive_files_are_overwritten_at_any_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary, "CHUNK", bytes(7))
    made = temp_dir(tmp_path, sensitive=True)
    deep = made / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (made / "top").write_bytes(b"secret" * 10)
    (deep / "low").write_bytes(b"secret" * 10)
    watched = [os.open(made / "top", os.O_RDONLY), os.open(deep / "low", os.O_RDONLY)]
    assert remove(made) == Removed(files=2, overwritten=2, failed=())
    for fd in watched:
        assert os.pread(fd, 100, 0) == bytes(60)
        os.close(fd)
    assert not made.exists()


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    made = temp_dir(tmp_path)
    (made / "plain").write_bytes(b"plain")
    watched = os.open(made / "plain", os.O_RDONLY)
    assert remove(made) == Removed(files=1, overwritten=0, failed=())
    assert os.pread(watched, 100, 0) == b"plain"
    os.close(watched)


def test_a_sensitive_directory_inside_another_is_overwritten(tmp_path: Path) -> None:
    inner = temp_dir(temp_dir(tmp_path), sensitive=True)
    (inner / "secret").write_bytes(b"secret")
    assert remove(tmp_path / inner.parent.name).overwritten == 1


def test_holes_cost_nothing(tmp_path: Path) -> None:
    made = temp_dir(tmp_path, sensitive=True)
    with (made / "sparse").open("wb") as file:
        file.write(b"secret")
        file.truncate(1 << 40)
    watched = os.open(made / "sparse", os.O_RDONLY)
    assert remove(made).failed == ()
    assert os.pread(watched, 6, 0) == bytes(6)
    os.close(watched)


@pytest.mark.parametrize("sensitive", [False, True])
def test_links_out_of_it_are_not_followed(tmp_path: Path, kept: Path, sensitive: bool) -> None:
    made = temp_dir(tmp_path, sensitive)
    (made / "symbolic").symlink_to(kept)
    (made / "folder").symlink_to(tmp_path)
    (made / "dangling").symlink_to("nowhere")
    (made / "hard").hardlink_to(kept)
    assert remove(made) == Removed(files=4, overwritten=0, failed=())
    assert kept.read_text() == "valuable"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o400


def test_two_names_of_one_file_are_overwritten_under_the_last(tmp_path: Path) -> None:
    made = temp_dir(tmp_path, sensitive=True)
    (made / "one").write_bytes(b"secret")
    (made / "two").hardlink_to(made / "one")
    watched = os.open(made / "one", os.O_RDONLY)
    assert remove(made) == Removed(files=2, overwritten=1, failed=())
    assert os.pread(watched, 100, 0) == bytes(6)
    os.close(watched)


def test_a_link_in_its_place_is_removed_and_not_followed(tmp_path: Path, kept: Path) -> None:
    made = temp_dir(tmp_path, sensitive=True)
    made.rmdir()
    made.symlink_to(kept.parent)
    assert remove(made) == Removed(files=1, overwritten=0, failed=())
    assert kept.read_text() == "valuable"


def test_pipes_sockets_and_read_only_entries_are_removed(tmp_path: Path) -> None:
    made = temp_dir(tmp_path, sensitive=True)
    os.mkfifo(made / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(made / "socket"))
    (made / "shut").mkdir()
    (made / "shut" / "secret").write_bytes(b"secret")
    (made / "shut" / "secret").chmod(0)
    (made / "shut").chmod(0)
    made.chmod(0o500)
    assert remove(made) == Removed(files=3, overwritten=1, failed=())
    assert not made.exists()


def test_no_depth_is_too_deep(tmp_path: Path) -> None:
    made = temp_dir(tmp_path, sensitive=True)
    here = os.open(made, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    secret = os.open("secret", os.O_RDWR | os.O_CREAT, dir_fd=here)
    os.write(secret, b"secret")
    os.close(here)
    assert remove(made) == Removed(files=1, overwritten=1, failed=())
    assert os.pread(secret, 100, 0) == bytes(6)
    os.close(secret)


def test_what_is_gone_already_is_no_failure(tmp_path: Path) -> None:
    assert remove(tmp_path / "never") == Removed(0, 0, ())


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = temp_dir(tmp_path)
    (made / "stubborn").write_text("")
    (made / "meek").write_text("")
    unlink = os.unlink

    def refuse(name: str, *, dir_fd: int) -> None:
        if name == "stubborn":
            raise PermissionError(1, "Operation not permitted", name)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse)
    removed = remove(made)
    assert removed.files == 1
    assert removed.failed == (
        f"{made}/stubborn: Operation not permitted",
        f"{made}: Directory not empty",
    )
