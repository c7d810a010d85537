"""What Tenure writes is for its owner alone, also where the umask would let everybody read it."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.store.store import Store
from tests.cli.running import COMMAND
from tests.workers import eventually

APP = """
import pathlib
import time

from tenure import Context, Tenure

app = Tenure()


@app.task(name="keeps")
def keeps(ctx: Context) -> None:
    ctx.artifact("deep/er/report.txt", b"secret")
    folder = ctx.temp_dir(sensitive=True)
    (folder / "draft").write_text("secret")
    ctx.save_checkpoint(page=1)
    while not pathlib.Path("go-on").exists():
        time.sleep(0.05)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, because a socket is in it."""
    with tempfile.TemporaryDirectory(prefix="tenure-p-") as folder:
        Path(folder, "temporary").mkdir()
        Path(folder, "app.py").write_text(APP)
        yield Path(folder)


def open_to_others(folder: Path, draft: Path) -> list[str]:
    """List what others may read, write or enter; what a job writes itself is its own affair."""
    found = []
    for path in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        # As root the database runs as another user, who must come through; nobody may list it.
        through = 0o011 if path.name == ".tenure" and os.geteuid() == 0 else 0
        if mode & 0o077 & ~through and path.name != draft.name:
            found.append(f"{path} {mode:o}")
    return found


def test_nothing_is_open_to_others_under_a_umask_that_forbids_nothing(folder: Path) -> None:
    kept = {name: it for name, it in os.environ.items() if not name.startswith("TENURE_")}
    env = {**kept, "TENURE_FOLDER": ".tenure", "TMPDIR": str(folder / "temporary")}
    started = subprocess.Popen(
        [COMMAND, "up", "app.py", "--port", "0"],
        cwd=folder,
        env=env,
        umask=0,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: (folder / ".tenure" / "token").exists(), "it is up", within=60)
        enqueued = [str(COMMAND), "job", "enqueue", "keeps", "--key", "k", "--unannounced"]
        subprocess.run(enqueued, cwd=folder, env=env, umask=0, check=True, capture_output=True)
        artifacts = folder / ".tenure" / "artifacts"
        eventually(lambda: [*folder.rglob("draft")] and [*artifacts.rglob("report.txt")], within=60)
        [draft] = folder.rglob("draft")
        assert open_to_others(folder / ".tenure", draft) == []
        [root] = (folder / "temporary").glob("tenure-*[0-9]")
        assert open_to_others(root, draft) == []
        (folder / "go-on").touch()
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(60)


def test_the_token_of_up_on_another_database_is_in_a_private_folder(
    database: str, tmp_path: Path
) -> None:
    program = (
        "import os, pathlib; os.umask(0)\n"
        "from tenure.control.client import Client\n"
        "from tenure.cli.local_token import local_token\n"
        f"with Client({database!r}) as client:\n"
        f"    local_token(client, pathlib.Path({str(tmp_path / 'new')!r}))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "token").stat().st_mode) == 0o600
    with Store(database) as store:
        assert [it.name for it in store.tokens()] == ["local"]
