"""``manage.py`` of a project, as a developer runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent / "project"


class Manager:
    """``manage.py`` of the project, or of a copy of it."""

    def __init__(self, databases: dict[str, Any], folder: Path, project: Path = PROJECT) -> None:
        kept = {name: it for name, it in os.environ.items() if not name.startswith("TENURE_")}
        self.databases = databases
        self.env = {**kept, "PYTHONDONTWRITEBYTECODE": "1"}
        self.folder = folder
        self.command = [sys.executable, "-W", "error", str(project / "manage.py")]

    def variables(self, **more: Any) -> dict[str, str]:
        given = {"SHOP_DATABASES": self.databases, **more}
        return {**self.env, **{name: json.dumps(value) for name, value in given.items()}}

    def run(self, *words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self.command, *words],
            cwd=self.folder,
            env=self.variables(**more),
            capture_output=True,
            text=True,
            timeout=110,
        )
