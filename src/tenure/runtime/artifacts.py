"""Artifacts: files that a job keeps, in a folder or in any store that fsspec supports."""

import io
import json
import tempfile
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import fsspec  # type: ignore[import-untyped]

from tenure.domain.tenant import Tenant
from tenure.domain.values import shown
from tenure.errors import InputRefused, NotFound
from tenure.runtime.artifact_ledger import Ledger
from tenure.runtime.artifact_names import PART, checked
from tenure.store.outcomes import Artifact
from tenure.store.private_files import make_private_folder, open_private, write_private

if TYPE_CHECKING:
    from tenure.runtime.runner.attempt import Attempt

CHUNK = 1 << 20
IN_MEMORY = 4 << 20  # bytes buffered in memory for an upload; more are buffered on disk
# Stores in which an object appears whole or not at all.
_WHOLE = {"memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss"}


class Artifacts:
    """The artifacts of one job, at ``<url>/<tenant>/<job id>/<name>``.

    ``limit_bytes`` limits all of them together, ``each_limit_bytes`` each of them. An artifact is
    stored whole or not at all, and replaces an earlier artifact of the same name.
    """

    def __init__(
        self,
        url: str | Path,
        tenant: Tenant | str,
        job_id: int,
        limit_bytes: int | None = None,
        *,
        each_limit_bytes: int | None = None,
    ) -> None:
        name = tenant.name if isinstance(tenant, Tenant) else Tenant(tenant).name
        self._fs, base = fsspec.core.url_to_fs(str(url))
        protocols = (
            {self._fs.protocol} if isinstance(self._fs.protocol, str) else {*self._fs.protocol}
        )
        self._is_local = "file" in protocols
        self._writes_whole = bool(protocols & _WHOLE)
        self._root = f"{base.rstrip('/')}/{name}/{int(job_id)}"
        self._gone = Path(f"{base.rstrip('/')}/{name}/{PART}gone-{int(job_id)}")
        self._limits = [limit for limit in (each_limit_bytes, limit_bytes) if limit is not None]
        self._ledger = Ledger(self.list, limit_bytes)

    def of_job(self, job_id: int) -> "Artifacts":
        """Return the artifacts of another job in the same store."""
        other = copy(self)
        base, _, _ = self._root.rpartition("/")
        other._root = f"{base}/{job_id}"
        return other

    def put(self, name: str, data: Any) -> Artifact:
        """Store bytes, a str, the file at a Path, the rest of an open file, or JSON."""
        path = self._path(name)
        with _source(name, data) as source, self._staged(name, source) as (staged, size):
            before = self._ledger.reserve(name, size)
            try:
                staged(path)
            except BaseException:
                self._ledger.release(name, before)
                raise
        return Artifact(name, self._fs.unstrip_protocol(path), size)

    def open(self, name: str) -> IO[bytes]:
        try:
            opened: IO[bytes] = self._fs.open(self._path(name), "rb")
        except (FileNotFoundError, IsADirectoryError):
            raise NotFound(f"there is no artifact {name!r}") from None
        return opened

    def list(self) -> list[Artifact]:
        """Return the stored artifacts, by name."""
        if self._is_local and Path(self._root).is_symlink():
            return []
        self._fs.invalidate_cache()
        found = self._fs.find(self._root, detail=True)
        names = {path[len(self._root) + 1 :]: info for path, info in found.items()}
        return [
            Artifact(name, self._fs.unstrip_protocol(info["name"]), int(info["size"] or 0))
            for name, info in sorted(names.items())
            if info["type"] == "file" and not info.get("islink") and not name.startswith(PART)
        ]

    def delete_all(self) -> None:
        with suppress(FileNotFoundError):
            self._fs.rm(self._root, recursive=True)
        self._ledger.forget()

    def discard(self, urls: Collection[str], *, last: bool) -> Sequence[str]:
        """Delete all artifacts; return which of these URLs are gone.

        A folder may be on another host: what was not in it counts as gone only in the ``last``
        call. What was in it is noted next to it until ``forget``, for the next call after a process
        that was killed before it could report what it had deleted.
        """
        gone = {artifact.url for artifact in self.list()}
        if self._is_local:
            gone |= self._noted()
            if gone:
                write_private(self._gone, json.dumps(sorted(gone)).encode())
        self.delete_all()
        return [url for url in urls if url in gone or last or not self._is_local]

    def forget(self) -> None:
        """Remove the note: the deletion is recorded."""
        if self._is_local:
            self._gone.unlink(missing_ok=True)

    def _noted(self) -> set[str]:
        try:
            return set(json.loads(self._gone.read_text()))
        except (FileNotFoundError, ValueError):
            # A truncated note was written by a process that had deleted nothing yet.
            return set()

    def _path(self, name: str) -> str:
        path = f"{self._root}/{checked(name)}"
        if self._is_local:
            step = Path(self._root)
            for part in ("", *name.split("/")):
                step = step / part
                if step.is_symlink():
                    raise InputRefused(f"artifact {name!r}: {part or 'its folder'} is a link")
        return path

    @contextmanager
    def _staged(self, name: str, source: IO[bytes]) -> Iterator[tuple[Any, int]]:
        """Yield what publishes the data under its name, and its size; a failure leaves nothing."""
        if self._is_local:
            make_private_folder(Path(self._root))
            part = Path(self._root) / f"{PART}{uuid.uuid4().hex}"
            try:
                with open_private(part, "xb") as target:
                    size = self._copy(name, source, target)
                yield lambda path: _rename(part, Path(path)), size
            finally:
                part.unlink(missing_ok=True)
        else:
            with tempfile.SpooledTemporaryFile(IN_MEMORY) as waiting:
                size = self._copy(name, source, waiting)
                waiting.seek(0)
                yield lambda path: self._upload(waiting, path), size

    def _copy(self, name: str, source: IO[bytes], target: Any) -> int:
        size = 0
        while chunk := source.read(CHUNK):
            chunk = chunk.encode() if isinstance(chunk, str) else chunk
            if not isinstance(chunk, bytes):
                raise InputRefused(
                    f"artifact {name!r}: reading the file returned {shown(chunk)}, not bytes"
                )
            size += len(chunk)
            if self._limits and size > min(self._limits):
                raise InputRefused(
                    f"artifact {name!r} is larger than its limit of {min(self._limits)} bytes"
                )
            target.write(chunk)
        return size

    def _upload(self, waiting: Any, path: str) -> None:
        self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        target = path if self._writes_whole else f"{self._root}/{PART}{uuid.uuid4().hex}"
        try:
            with self._fs.open(target, "wb") as upload:
                while chunk := waiting.read(CHUNK):
                    upload.write(chunk)
            if target != path:
                self._fs.mv(target, path)
        except BaseException:
            with suppress(Exception):
                self._fs.rm_file(target)
            raise


_of_attempts: "WeakKeyDictionary[Attempt, Artifacts]" = WeakKeyDictionary()


def artifacts_of(attempt: "Attempt") -> Artifacts:
    """Return the artifacts of this attempt's job."""
    if attempt not in _of_attempts:
        link = attempt.link
        limit = int(link.settings["max_artifact_bytes"])
        made = Artifacts(str(link.settings["artifacts"]), link.tenant, attempt.work.id, limit)
        _of_attempts.setdefault(attempt, made)
    return _of_attempts[attempt]


@contextmanager
def _source(name: str, data: Any) -> Iterator[IO[bytes]]:
    """Open the given data for reading."""
    if isinstance(data, Path):
        if "\0" in str(data) or not data.is_file():
            raise InputRefused(f"artifact {name!r}: {shown(data)} is not a file")
        with data.open("rb") as file:
            yield file
    elif callable(getattr(data, "read", None)):
        yield data
    elif isinstance(data, (bytes, bytearray, memoryview)):
        yield io.BytesIO(data)
    else:
        yield io.BytesIO(_text(name, data))


def _text(name: str, data: Any) -> bytes:
    try:
        text = data if isinstance(data, str) else json.dumps(data, allow_nan=False)
        return text.encode()
    except UnicodeError:
        raise InputRefused(f"artifact {name!r}: the string cannot be encoded as UTF-8") from None
    except Exception as error:  # noqa: BLE001 - encoding runs code of the job
        raise InputRefused(
            f"artifact {name!r}: the data must be bytes, a str, a Path, an open file or JSON, not "
            f"{type(data).__name__}: {shown(error)}"
        ) from None


def _rename(part: Path, path: Path) -> None:
    make_private_folder(path.parent)
    part.replace(path)
