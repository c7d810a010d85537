"""Real processes that open a folder of the embedded PostgreSQL, and what there is to see of them.

TENURE_TEST_BINARIES=system leaves the wheel out, so that the system's PostgreSQL is used.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import psutil
import psycopg
import pytest

import tenure
from tenure.store.embedded import Binaries, Embedded, binaries
from tests.workers import command_of, eventually, is_gone

WITHOUT_WHEEL = os.environ.get("TENURE_TEST_BINARIES") == "system"
STRANGER = 54321  # a user id that nobody has

USER = """
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & ignores it
{prelude}
from tenure.store.embedded import Binaries, Embedded, binaries
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
