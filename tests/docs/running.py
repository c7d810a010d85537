"""Programs from pages of the documentation, run as a reader would."""

import os
import subprocess
import sys
from pathlib import Path


def run(*command: str, folder: Path, **more: str) -> str:
    """Run Python in a folder, with warnings as errors and nothing of Tenure in its environment."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        env={**env, **more},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
