"""Temporary directories of jobs, and their removal.

Whatever job code has done inside, removal never reaches outside: symbolic links are not followed,
files with another name elsewhere are not written to, and devices, sockets and pipes are not
opened.
"""

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

SENSITIVE = ".sensitive"  # directories whose names end so are overwritten first
CHUNK = bytes(1 << 20)

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Removed:
    """The result of a removal."""

    files: int
    overwritten: int
    failed: tuple[str, ...]


def temp_dir(base: Path, sensitive: bool = False) -> Path:
    """Make a directory below `base` that only this user can open."""
    suffix = SENSITIVE if sensitive else ""
    return Path(tempfile.mkdtemp(prefix="job-", suffix=suffix, dir=base))


def remove(path: Path) -> Removed:
    """Remove a directory with everything in it, sensitive files after overwriting them.

    It removes as much as it can and reports what failed.
    """
    removal = _Removal()
    try:
        _allow_access(path.parent, path.name)
        top = os.open(path, _DIRECTORY)
    except FileNotFoundError:
        return removal.result()
    except OSError as error:
        # A link or a file in place of the directory: only its name is ours to remove.
        with suppress(OSError):
            path.unlink()
            return Removed(1, 0, ())
        return Removed(0, 0, (f"{path}: {error.strerror}",))
    try:
        removal.empty(top, str(path))
    finally:
        os.close(top)
    try:
        path.rmdir()
    except OSError as error:
        removal.fail(str(path), error)
    return removal.result()


@dataclass
class _Removal:
    files: int = 0
    overwritten: int = 0
    failed: list[str] = field(default_factory=list)
    _moved: int = 0

    def result(self) -> Removed:
        return Removed(self.files, self.overwritten, tuple(self.failed))

    def fail(self, where: str, error: OSError) -> None:
        self.failed.append(f"{where}: {error.strerror}")

    def empty(self, top: int, where: str) -> None:
        """Empty a directory that is open.

        Directories further down are first moved up to the top, so that no depth of nesting
        costs more than two descriptors.
        """
        given_up: set[str] = set()
        while ahead := [name for name in os.listdir(top) if name not in given_up]:
            for name in ahead:
                before = len(self.failed)
                sensitive = where.endswith(SENSITIVE) or name.endswith(SENSITIVE)
                self._remove_entry(top, name, f"{where}/{name}", top, sensitive)
                if len(self.failed) > before:
                    given_up.add(name)

    def _remove_entry(self, parent: int, name: str, where: str, top: int, sensitive: bool) -> None:
        try:
            self._remove(parent, name, where, top, sensitive)
        except FileNotFoundError:
            pass
        except OSError as error:
            self.fail(where, error)

    def _remove(self, parent: int, name: str, where: str, top: int, sensitive: bool) -> None:
        seen = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISDIR(seen.st_mode):
            if parent == top:
                self._remove_directory(top, name, where, sensitive)
            else:
                self._move_up(parent, name, top, sensitive)
            return
        # A file with a second name may belong to anyone: only a last name is ours to write to.
        if sensitive and stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1:
            self._overwrite(parent, name, where)
        os.unlink(name, dir_fd=parent)
        self.files += 1

    def _remove_directory(self, top: int, name: str, where: str, sensitive: bool) -> None:
        _allow_access(top, name)
        folder = os.open(name, _DIRECTORY, dir_fd=top)
        try:
            for inner in os.listdir(folder):  # noqa: PTH208
                self._remove_entry(folder, inner, f"{where}/{inner}", top, sensitive)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)

    def _move_up(self, parent: int, name: str, top: int, sensitive: bool) -> None:
        _allow_access(parent, name)
        suffix = SENSITIVE if sensitive or name.endswith(SENSITIVE) else ""
        self._moved += 1
        os.rename(
            name, f".moved-{os.getpid()}-{self._moved}{suffix}", src_dir_fd=parent, dst_dir_fd=top
        )

    def _overwrite(self, parent: int, name: str, where: str) -> None:
        try:
            _allow_access(parent, name)
            flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open(name, flags, dir_fd=parent)
            try:
                seen = os.fstat(file)
                if seen.st_nlink == 1 and stat.S_ISREG(seen.st_mode):
                    _blank(file, seen.st_size)
                    self.overwritten += 1
            finally:
                os.close(file)
        except OSError as error:
            self.fail(f"{where} was not overwritten", error)


def _blank(file: int, size: int) -> None:
    """Write zeros over all data of a file, and not into its holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError:
            break  # nothing but holes to the end
        end = os.lseek(file, start, os.SEEK_HOLE)
        while start < end:
            start += os.pwrite(file, CHUNK[: end - start], start)
    os.fsync(file)


def _allow_access(parent: int | Path, name: str) -> None:
    """Give the owner every right on an entry, unless it is a link."""
    where = {"dir_fd": parent} if isinstance(parent, int) else {}
    if not hasattr(os, "O_PATH"):
        os.chmod(name, stat.S_IRWXU, follow_symlinks=False, **where)  # noqa: PTH101
        return
    path = name if isinstance(parent, int) else str(parent / name)
    entry = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, **where)
    try:
        mode = os.fstat(entry).st_mode
        if not stat.S_ISLNK(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
            # Through /proc: chmod by name would follow a link put there meanwhile.
            Path(f"/proc/self/fd/{entry}").chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
    finally:
        os.close(entry)
