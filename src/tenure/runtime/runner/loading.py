"""Find the app of a worker: "package.module:app", or "path/to/file.py:app"."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tenure.config import Settings
from tenure.control.task import Task
from tenure.errors import SettingInvalid


@runtime_checkable
class App(Protocol):
    """What a runner needs of an app."""

    tasks: Mapping[str, Task[..., Any]]
    schedules: Mapping[str, Any]
    settings: Settings
    known_url: str | None

    def announcement(self) -> Mapping[str, Any]: ...
    def task(self, *, name: str) -> Any: ...


def load(path: str) -> App:
    module_name, _, name = path.partition(":")
    if not module_name:
        raise SettingInvalid(f"{path!r} names no module; write package.module:app")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    module = _from_file(module_name) if module_name.endswith(".py") else _by_name(module_name)
    if not name:
        found = [one for one, value in vars(module).items() if isinstance(value, App)]
        if len(found) != 1:
            raise SettingInvalid(
                f"{module_name} holds {len(found)} apps; say which: {module_name}:name"
            )
        [name] = found
    app = getattr(module, name, None)
    if not isinstance(app, App):
        raise SettingInvalid(
            f"{name!r} in {module_name} is not an app; write `app = Tenure()` there"
        )
    return app


def _by_name(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SettingInvalid(
                f"there is no module {name!r} in {Path.cwd()} or among what is installed"
            ) from None
        raise


def _from_file(name: str) -> object:
    path = Path(name).resolve()
    if not path.is_file():
        raise SettingInvalid(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module
