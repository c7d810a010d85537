"""What a killed worker leaves behind is cleared away by the next, once."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tenure.errors import InputRefused, SettingInvalid
from tenure.runtime import leftovers
from tenure.runtime.guard import processes
from tenure.runtime.leftovers import WorkerFolder, kill_marked, reap
from tenure.runtime.temporary import temp_dir
from tests.runtime.guarded import PARENT, SLEEPER, Ground, Tree, python, until

CLAIM = """
import sys, time
from pathlib import Path
from tenure.runtime.leftovers import WorkerFolder
from tenure.runtime.temporary import temp_dir
place = WorkerFolder.claim(sys.argv[1], Path(sys.argv[2]))
secret = temp_dir(place.folder, sensitive=True) / "secret"
secret.write_text("secret")
print(secret, flush=True)
time.sleep(600)
"""

REAP = """
import sys
from pathlib import Path
from tenure.runtime.leftovers import reap
print("ready", flush=True)
sys.stdin.readline()
for one in reap(Path(sys.argv[1])):
    print(one.marker, *one.processes.killed, flush=True)
"""

REAP_ON = """
import sys
from pathlib import Path
from tenure.runtime.leftovers import reap
print("ready", flush=True)
sys.stdin.readline()
while True:
    for one in reap(Path(sys.argv[1])):
        print(one.marker, flush=True)
"""


@contextmanager
def reaper(root: Path, code: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that reaps when it is told to go."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def say_go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "host"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path, "walk")
    yield ground
    ground.leave()


def dead_worker(marker: str, root: Path) -> Path:
    """Have a worker killed; give the path of a secret it left."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLAIM, marker, str(root)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    secret = Path(process.stdout.readline().strip())
    process.kill()
    process.wait()
    process.stdout.close()
    return secret


def orphan(ground: Ground, code: str) -> tuple[Tree, "subprocess.Popen[bytes]"]:
    tree = ground.tree()
    env = {**tree.env, processes.WORKER: ground.marker}
    process = subprocess.Popen(python(code), env=env, start_new_session=True)
    until(lambda: tree.is_ready or (code is SLEEPER and tree.pids))
    return tree, process


def test_a_place_is_private_and_removed_with_all_that_is_in_it(root: Path) -> None:
    with WorkerFolder.claim("mine", root) as place:
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700
        (temp_dir(place.folder) / "file").write_text("")
        assert reap(root) == []
        assert place.folder.exists()
    assert not place.folder.exists()
    with WorkerFolder.claim("mine", root):
        pass


def test_a_dead_workers_processes_and_folders_are_reaped(ground: Ground, root: Path) -> None:
    secret = dead_worker(ground.marker, root)
    tree, process = orphan(ground, PARENT)
    watched = os.open(secret, os.O_RDONLY)
    with WorkerFolder.claim("living", root) as living:
        (one,) = reap(root)
        assert living.folder.exists()
    process.wait()
    assert one.marker == ground.marker
    assert set(one.processes.killed) == set(tree.pids)
    assert one.processes.left == ()
    assert one.files.overwritten == 1
    assert one.files.failed == ()
    assert not one.folder.exists()
    assert os.pread(watched, 6, 0) == bytes(6)
    os.close(watched)
    assert reap(root) == []


def test_a_frozen_guard_is_killed_after_all_that_it_holds(ground: Ground, root: Path) -> None:
    tree = ground.tree()
    with ground.keeper(PARENT, tree) as keeper:
        until(lambda: tree.is_ready)
        os.kill(keeper.guard, signal.SIGSTOP)
        keeper.send(signal.SIGKILL)
        dead_worker(ground.marker, root)
        (one,) = reap(root)
        assert {keeper.guard, *tree.pids} <= set(one.processes.killed)
        until(lambda: not ground.living())


def test_several_reapers_at_once_share_the_work(ground: Ground, root: Path) -> None:
    markers = {ground.marker, *(f"dead-{uuid4().hex[:8]}" for _ in range(20))}
    dead_worker(ground.marker, root)
    for marker in markers - {ground.marker}:
        os.close(WorkerFolder.claim(marker, root)._lock)
    _, process = orphan(ground, PARENT)
    with ExitStack() as stack:
        reapers = [stack.enter_context(reaper(root, REAP)) for _ in range(4)]
        for each in reapers:
            say_go(each)
        reaped = [line.split()[0] for each in reapers for line in each.stdout or ()]
        assert [each.wait() for each in reapers] == [0, 0, 0, 0]
    process.wait()
    assert sorted(reaped) == sorted(markers)
    assert [path for path in root.iterdir() if path.is_dir()] == []


def test_a_worker_that_starts_while_others_reap_keeps_its_place(root: Path) -> None:
    with reaper(root, REAP_ON) as one, reaper(root, REAP_ON) as two:
        for each in (one, two):
            say_go(each)
        for number in range(200):
            with WorkerFolder.claim(f"w{number}", root) as place:
                assert temp_dir(place.folder).exists()
        assert one.poll() is two.poll() is None
        for each in (one, two):
            each.kill()
            assert each.stdout is not None
            assert each.stdout.read() == "", "something that was held has been reaped"


def test_a_folder_without_lock_is_reaped_too(root: Path) -> None:
    WorkerFolder.claim("whole", root).release()
    (root / "half").mkdir()
    (root / "not-a-folder").write_text("")
    assert [one.marker for one in reap(root)] == ["half"]
    assert (root / "not-a-folder").exists()


def test_nothing_that_has_another_marker_is_killed(ground: Ground) -> None:
    tree, process = orphan(ground, SLEEPER)
    assert kill_marked(ground.marker[:-1]).killed == ()
    assert kill_marked(ground.marker + "x").killed == ()
    assert tree.alive == [process.pid]
    assert kill_marked(ground.marker).killed == (process.pid,)
    process.wait()


def test_a_reaper_that_carries_the_marker_spares_itself_and_its_parents(
    ground: Ground,
) -> None:
    code = """
import subprocess, sys
from tenure.runtime.leftovers import kill_marked
print(*kill_marked(sys.argv[1]).killed)
"""
    nested = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}, sys.argv[1]])"
    )
    tree, process = orphan(ground, SLEEPER)
    output = subprocess.run(
        [sys.executable, "-c", nested, ground.marker],
        env={**os.environ, processes.WORKER: ground.marker},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    process.wait()
    assert output.split() == [str(process.pid).encode()]
    assert not tree.alive


@pytest.mark.parametrize("marker", ["", "../up", ".hidden", "a/b", "x" * 101])
def test_a_marker_that_is_no_name_is_refused(root: Path, marker: str) -> None:
    with pytest.raises(InputRefused, match="cannot be the marker"):
        WorkerFolder.claim(marker, root)


def test_a_folder_of_someone_else_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.raises(SettingInvalid, match=f"belongs to user {uid}"):
        reap(root)


def test_a_link_or_a_file_in_place_of_the_folder_is_refused(root: Path, tmp_path: Path) -> None:
    root.symlink_to(tmp_path)
    with pytest.raises(SettingInvalid, match="is not a directory"):
        reap(root)
    root.unlink()
    root.write_text("")
    with pytest.raises(SettingInvalid, match="is not a directory"):
        WorkerFolder.claim("mine", root)


def test_a_folder_that_others_can_open_is_closed_to_them(root: Path) -> None:
    root.mkdir()
    root.chmod(0o755)
    assert reap(root) == []
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_without_a_root_it_is_the_users_own_below_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with WorkerFolder.claim("mine") as place:
        assert place.folder == tmp_path / f"tenure-{os.getuid()}" / "mine"
        assert leftovers.reap() == []


DATABASE = "a database"


def dead_place(root: Path, *, note: bytes | None = None) -> tuple[str, UUID]:
    """The folder of a worker that is dead, and which worker it was."""
    marker, worker = f"dead-{uuid4()}", uuid4()
    place = WorkerFolder.claim(marker, root)
    place.belongs_to(worker, DATABASE)
    if note is not None:
        (place.folder / "worker").write_bytes(note)
    os.close(place._lock)
    return marker, worker


def test_whose_place_it_was_is_known_when_nothing_is_left(tmp_path: Path) -> None:
    marker, worker = dead_place(tmp_path)
    assert [(one.marker, one.worker) for one in reap(tmp_path)] == [(marker, worker)]


def test_a_note_that_cannot_be_read_names_nobody(tmp_path: Path) -> None:
    for note in (b"", b'{"worker": "', b'{"worker": "no id", "database": "", "namespace": ""}'):
        dead_place(tmp_path, note=note)
    assert [one.worker for one in reap(tmp_path)] == [None, None, None]


def test_who_was_seen_from_elsewhere_alone_is_not_known_to_be_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_place(tmp_path)
    monkeypatch.setattr(leftovers, "_namespace", lambda: "pid:[1]")
    assert [one.worker for one in reap(tmp_path)] == [None]


def test_who_left_a_process_that_cannot_be_killed_is_not_known_to_be_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_place(tmp_path)
    left = leftovers.Survivor(1, "stuck", "in the kernel")
    monkeypatch.setattr(leftovers, "kill_marked", lambda _marker: leftovers.Swept((), (left,)))
    assert [one.worker for one in reap(tmp_path)] == [None]


def test_of_one_database_only_its_own_dead_are_reaped(tmp_path: Path) -> None:
    marker, _ = dead_place(tmp_path)
    dead_place(tmp_path, note=b"")
    assert reap(tmp_path, of="another") == []
    assert [one.marker for one in reap(tmp_path, of=DATABASE)] == [marker]
    assert len(reap(tmp_path)) == 1


def test_who_clears_old_files_out_of_the_folder_takes_no_lock_away(tmp_path: Path) -> None:
    with WorkerFolder.claim("mine", tmp_path) as place:
        place.belongs_to(uuid4(), DATABASE)
        for old in (tmp_path, place.folder):
            for file in old.iterdir():
                file.unlink() if file.is_file() else None
        assert reap(tmp_path) == []
        assert place.folder.exists()


def test_a_living_worker_is_never_reaped_by_itself(tmp_path: Path) -> None:
    with WorkerFolder.claim("mine", tmp_path) as place:
        place.belongs_to(uuid4(), DATABASE)
        assert reap(tmp_path, of=DATABASE) == []
        assert place.folder.exists()
