"""The sizes and names of a job's artifacts."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable

from tenure.errors import InputRefused
from tenure.runtime.artifact_names import folded, folders_of
from tenure.store.outcomes import Artifact


class Ledger:
    """The sizes of a job's artifacts; read once, since a single worker at a time has the job."""

    def __init__(self, read: Callable[[], Iterable[Artifact]], limit: int | None) -> None:
        self._read = read
        self._limit = limit
        self._lock = threading.Lock()
        self._start()

    def forget(self) -> None:
        with self._lock:
            self._start()

    def _start(self) -> None:
        self._is_read = False
        self._total = 0
        self._sizes: dict[str, int] = {}
        self._names: dict[str, str] = {}  # by their folded form
        self._folders: Counter[str] = Counter()

    def reserve(self, name: str, size: int) -> int | None:
        """Count an artifact, or refuse it; return the size of the artifact that it replaces."""
        with self._lock:
            if not self._is_read:
                for kept in self._read():
                    self._enter(kept.name, kept.size)
                self._is_read = True
            self._refuse_conflicts(name)
            before = self._sizes.get(name)
            total = self._total - (before or 0) + size
            if self._limit is not None and total > self._limit:
                raise InputRefused(
                    f"with artifact {name!r} the artifacts of the job would take {total} bytes; "
                    f"the limit is {self._limit}"
                )
            self._enter(name, size)
            return before

    def release(self, name: str, before: int | None) -> None:
        """Undo a reservation: the artifact was not stored."""
        with self._lock:
            if before is not None:
                self._enter(name, before)
            elif name in self._sizes:
                self._total -= self._sizes.pop(name)
                del self._names[folded(name)]
                self._folders.subtract(folders_of(folded(name)))

    def _enter(self, name: str, size: int) -> None:
        if name not in self._sizes:
            self._names[folded(name)] = name
            self._folders.update(folders_of(folded(name)))
        self._total += size - self._sizes.get(name, 0)
        self._sizes[name] = size

    def _refuse_conflicts(self, name: str) -> None:
        """Refuse a name that some file system takes for another, or that is a folder of others."""
        own = folded(name)
        same = self._names.get(own, name)
        if same != name:
            raise InputRefused(
                f"artifact {name!r} differs from {same!r} only in a way that some file systems "
                f"ignore"
            )
        if self._folders[own] > 0:
            raise InputRefused(f"artifact {name!r} is a folder of other artifacts")
        for folder in folders_of(own):
            if folder in self._names:
                raise InputRefused(
                    f"artifact {name!r} cannot be below {self._names[folder]!r}, which is a file"
                )
