"""The embedded PostgreSQL: who may come in, and by which socket."""

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from tenure.errors import EmbeddedUnavailable
from tenure.store.embedded import Embedded, account
from tests.system.embedded.users import (
    STRANGER,
    Crowd,
    ask,
    is_deserted,
    is_stopped,
    needs_proc,
    needs_root,
    postmaster_of,
    python_for,
    sockets_of,
)
from tests.workers import eventually


@needs_root
@pytest.mark.parametrize("depth", [0, 6])
def test_other_users_of_the_machine_cannot_connect(folder: Path, depth: int) -> None:
    deep = folder.parent.joinpath(*["a-rather-long-name"] * depth, "f")
    deep.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(deep)
    with Embedded.open(deep) as user:
        door = sockets_of(user) / ".s.PGSQL.5432"
        knock = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        ours = subprocess.run([sys.executable, "-c", knock, door], check=False)
        theirs = subprocess.run(
            [python_for(STRANGER), "-c", knock, door],
            user=STRANGER,
            group=STRANGER,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert ours.returncode == 0
        assert "PermissionError" in theirs.stderr


def test_nothing_listens_on_the_network(folder: Path) -> None:
    with Embedded.open(folder):
        postmaster = psutil.Process(postmaster_of(folder))
        assert postmaster.net_connections("inet") == []


@needs_root
def test_a_plain_user_needs_no_root(empty: Path, crowd: Crowd) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    own = empty / "own"
    own.mkdir()
    os.chown(own, nobody, nobody)
    first = crowd.user(own / "new", uid=nobody)
    url = first.url()
    assert psutil.Process(postmaster_of(own / "new")).uids().real == nobody
    assert ask(url, "SELECT 1") == 1
    second = crowd.user(own / "new", uid=nobody)
    assert second.url() == url
    first.leave()
    second.kill()
    eventually(lambda: is_deserted(own))
    assert is_stopped(own / "new")


@needs_root
def test_root_has_its_server_run_by_somebody_without_its_powers(folder: Path) -> None:
    with Embedded.open(folder):
        assert psutil.Process(postmaster_of(folder)).uids().real != 0


@needs_root
@needs_proc
def test_root_can_use_a_folder_that_only_root_may_enter(empty: Path) -> None:
    if account._masked_root() is None:
        pytest.skip("user namespaces are forbidden here")
    empty.chmod(0o700)
    with Embedded.open(empty / "new") as user:
        assert ask(user.url, "SELECT 1") == 1
        status = Path(f"/proc/{postmaster_of(empty / 'new')}/status").read_text()
        assert "CapEff:\t0000000000000000" in status
    with Embedded.open(empty / "new") as user:
        assert ask(user.url, "SELECT 1") == 1


@needs_root
def test_root_is_told_if_nobody_can_run_its_server(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "_masked_root", lambda: None)
    empty.chmod(0o700)
    with pytest.raises(EmbeddedUnavailable, match="refuses to run as root, and no other user"):
        Embedded.open(empty / "new")


@pytest.mark.parametrize("name", ["long" * 40, "one,two"])
def test_a_path_no_socket_can_have_gets_a_private_folder_elsewhere(
    folder: Path, crowd: Crowd, name: str
) -> None:
    folder = folder.rename(folder.with_name(name))
    with Embedded.open(folder) as user:
        place = sockets_of(user)
        assert place.parent == Path(tempfile.gettempdir())
        assert place.stat().st_mode & 0o777 == 0o700
        assert ask(user.url, "SELECT 1") == 1
        elsewhere = crowd.user(folder, environment={"TMPDIR": str(folder.parent)})
        assert elsewhere.url() == user.url
        elsewhere.leave()
    assert not place.exists()


def test_a_socket_folder_laid_out_by_somebody_else_is_refused(folder: Path) -> None:
    folder = folder.rename(folder.with_name("long" * 40))
    with Embedded.open(folder) as user:
        place = sockets_of(user)
    place.mkdir(mode=0o755)
    try:
        with pytest.raises(EmbeddedUnavailable, match=r"is not a private folder"):
            Embedded.open(folder)
    finally:
        place.rmdir()
