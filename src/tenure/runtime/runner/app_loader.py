"""Load the app of a worker: "package.module:app", or "path/to/file.py:app"."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tenure.config import Settings
from tenure.control.task import Task
from tenure.domain.values import shown
from tenure.errors import SettingInvalid


class AppNotFound(SettingInvalid):
    """The path names no app; no code of the user has failed."""


@runtime_checkable
class App(Protocol):
    """The parts of an app that a runner uses."""

    tasks: Mapping[str, Task[..., Any]]
    schedules: Mapping[str, Any]
    settings: Settings

    @property
    def known_url(self) -> str | None: ...
    def announcement(self) -> Mapping[str, Any]: ...
    def task(self, *, name: str) -> Any: ...


def load(path: str) -> App:
    module_name, _, name = path.partition(":")
    is_file = module_name.endswith(".py")
    if not is_file and not all(part.isidentifier() for part in module_name.split(".")):
        raise AppNotFound(f"{shown(path)} names no module; write package.module:app or file.py:app")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    module = _from_file(module_name) if is_file else _by_name(module_name)
    found = [key for key, value in vars(module).items() if isinstance(value, App)]
    if not name:
        if len(found) != 1:
            raise AppNotFound(
                f"{module_name} holds {len(found)} apps; say which: {module_name}:name"
            )
        [name] = found
    app = getattr(module, name, None)
    if not isinstance(app, App):
        if found:
            raise AppNotFound(
                f"{shown(name)} in {module_name} is not an app; name the one that is there: "
                f"{module_name}:{found[0]}"
            )
        raise AppNotFound(
            f"{shown(name)} in {module_name} is not an app; write `app = Tenure()` there"
        )
    return app


def require_module(path: str) -> None:
    """Refuse an app whose module does not exist, without running any code of the user."""
    module_name = path.partition(":")[0]
    if module_name.endswith(".py"):
        _required_file(module_name)
        return
    sys.path.insert(0, str(Path.cwd()))
    try:
        paths: Sequence[str] | None = None
        parts = module_name.split(".")
        for end in range(1, len(parts) + 1):
            spec = _spec(".".join(parts[:end]), paths)
            paths = spec.submodule_search_locations if spec is not None else None
            if spec is None or (end < len(parts) and paths is None):
                raise _no_module(module_name)
    finally:
        sys.path.remove(str(Path.cwd()))


def _spec(name: str, paths: Sequence[str] | None) -> ModuleSpec | None:
    found = (finder.find_spec(name, paths) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)


def _no_module(name: str) -> AppNotFound:
    return AppNotFound(
        f"there is no module {shown(name)} in {Path.cwd()} or among what is installed"
    )


def _by_name(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise _no_module(name) from None
        raise


def _required_file(name: str) -> Path:
    path = Path(name).resolve()
    try:
        is_there = path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        is_there = False
    if not is_there:
        raise AppNotFound(f"there is no file {shown(str(path))}")
    return path


def _from_file(name: str) -> object:
    path = _required_file(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module
