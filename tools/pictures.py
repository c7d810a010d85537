"""Take the pictures of the README: a real job, stopped by a real worker, in a real browser.

Needs Chromium on PATH. What is shown has happened a moment before; nothing is drawn.
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.animation import Animation

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
PATIENCE = 60.0  # seconds
STRIP = 386  # pixels: the height of the animated part
APP = '''
import subprocess
import time

from tenure import Context, Tenure

app = Tenure()


@app.task(pools=["worktrees"])
def agent(ctx: Context, goal: str) -> None:
    """Has a child process, leaves things behind, and does not want to stop."""
    subprocess.Popen(["sleep", "3600"])
    ctx.artifact("notes.md", f"# {goal}")
    for step in range(1000):
        try:
            ctx.progress(step, 1000, f"step {step}")
            ctx.emit({"step": step})
            time.sleep(0.2)
        except BaseException:
            ctx.log.warning("somebody wants me to stop")
'''


def main() -> int:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "agents.py").write_text(APP)
        with everything_up(folder) as address:
            tenure(folder, "pool", "create", "worktrees", "tree-1", "tree-2")
            args = ("agents.agent", "goal=chat-app", "--key", "chat-app", "--app", "agents:app")
            tenure(folder, "job", "enqueue", *args)
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            context = browser.new_context(viewport={"width": 1280, "height": 740}, base_url=address)
            page = context.new_page()
            page.goto("/jobs/1")
            page.get_by_label("Token").fill((folder / ".tenure" / "token").read_text().strip())
            page.get_by_role("button", name="Log in").click()
            page.locator(".progress-line", has_text="step").wait_for()
            how = ("--reason", "wrong design", "--grace", "8s", "--no-wait")
            tenure(folder, "job", "cancel", "chat-app", *how)
            page.locator(".rungs li.now .name", has_text="Interrupted").wait_for()
            stop = Animation(page, ".strip", STRIP)
            stop.take_until("Proven", PATIENCE)
            stop.save(PICTURES / "stop.png")
            browser.close()
    return 0


def tenure(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "tenure", *words], cwd=folder, check=True)  # noqa: S603


@contextmanager
def everything_up(folder: Path) -> Iterator[str]:
    """Run ``tenure up``, and yield the address of its dashboard."""
    log = folder / "up.log"
    with log.open("wb") as output:
        up = subprocess.Popen(
            [sys.executable, "-m", "tenure", "up", "agents:app", "--port", "0"],
            cwd=folder,
            stdout=output,
            stderr=output,
        )
    try:
        until = time.monotonic() + PATIENCE
        while " runs " not in log.read_text() or "serving on" not in log.read_text():
            if time.monotonic() > until:
                raise SystemExit(f"it did not come up:\n{log.read_text()}")
            time.sleep(0.1)
        served = re.search(r"serving on (\S+)", log.read_text())
        assert served is not None
        yield served[1]
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(PATIENCE)


if __name__ == "__main__":
    sys.exit(main())
