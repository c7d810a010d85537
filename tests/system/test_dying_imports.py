"""Apps that cannot be imported: a sentence, the traceback, a code of its own, nothing left."""

from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tenure.runtime.exit_code import ExitCode
from tenure.store.store import Store
from tests.system.scene import Scene
from tests.workers import RUNNER_STARTS, RunningWorker, eventually, is_gone

HEAD = "from tenure import Tenure\napp = Tenure()\n"


@pytest.fixture(autouse=True, params=RUNNER_STARTS)
def runner_start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_RUNNER_START", request.param)


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


def refused(scene: Scene, app: str, **settings: str) -> str:
    """What a worker that cannot import this app says."""
    with scene.starting(app=app, **settings) as worker:
        below = _below(worker)
        assert worker.ends() == ExitCode.NOT_IMPORTED
        eventually(lambda: all(map(is_gone, below)), "nothing of it is left", 5)
        return worker.log


def _below(worker: RunningWorker) -> list[psutil.Process]:
    """What it has started, as soon as there is something."""
    found: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        while worker.process.poll() is None and not found:
            found = worker.tree[1:]
    return found


def written(scene: Scene, code: str) -> str:
    place = scene.folder / "shop.py"
    place.write_text(HEAD + code)
    return str(place)


def test_a_module_that_is_not_there(scene: Scene) -> None:
    assert "there is no module 'no.such.shop'" in refused(scene, "no.such.shop:app")


def test_a_module_that_raises_is_shown_with_its_traceback(scene: Scene) -> None:
    log = refused(scene, written(scene, "raise RuntimeError('closed today')\n") + ":app")
    assert "raise RuntimeError('closed today')" in log
    assert "cannot be imported: RuntimeError: closed today" in log


def test_a_module_that_hangs_is_given_up_and_said_where_it_hangs(scene: Scene) -> None:
    reached = scene.folder / "reached"
    code = f"import time\nopen({str(reached)!r}, 'w').close(); time.sleep(3600)\n"
    app, seconds = written(scene, code) + ":app", 2
    while not reached.exists():  # on a busy machine even its beginning takes a while
        seconds *= 2
        log = refused(scene, app, TENURE_IMPORT_TIMEOUT=f"{seconds}s")
        assert f"was not imported within {seconds} s (import_timeout)" in log
    assert 'shop.py", line 4' in log


def test_a_module_that_dies(scene: Scene) -> None:
    log = refused(scene, written(scene, "import os\nos.abort()\n") + ":app")
    assert "it ended while it was imported: signal 6 (SIGABRT)" in log


def test_a_module_without_that_app(scene: Scene) -> None:
    log = refused(scene, written(scene, "") + ":shop")
    assert "'shop' in" in log
    assert "is not an app; name the one that is there" in log
    assert "shop.py:app" in log
