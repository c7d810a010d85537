"""Artifacts, streamed from where workers store them."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Sequence
from typing import IO
from urllib.parse import quote

import fsspec  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from starlette.responses import StreamingResponse

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.errors import NotFound

CHUNK = 1 << 20


class Download(StreamingResponse):
    """A file to save; a browser does not display it, whatever it contains."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        saved_as = quote(name.rpartition("/")[2], safe="")
        super().__init__(
            _chunks(file),
            media_type="application/octet-stream",
            headers={
                "content-disposition": f"attachment; filename*=UTF-8''{saved_as}",
                "x-content-type-options": "nosniff",
                "cache-control": "no-store",
            },
        )


async def open_artifact(settings: Settings, tenant: Tenant, job: int, name: str) -> IO[bytes]:
    return await asyncio.to_thread(_open, settings, tenant, job, name)


def _open(settings: Settings, tenant: Tenant, job: int, name: str) -> IO[bytes]:
    """Open the file at its expected path; the path that a job reported is not trusted."""
    missing = NotFound(
        f"artifact {name!r} of job {job} is not in the artifact storage of this server"
    )
    parts = [tenant.name, str(job), *name.split("/")]
    if {"", ".", ".."} & {*parts} or "::" in name or "\\" in name:
        raise missing
    url = settings.artifacts or str(settings.folder.absolute() / "artifacts")
    files, base = fsspec.core.url_to_fs(url)
    try:
        if isinstance(files, LocalFileSystem):
            return _open_below(base, parts)
        found: IO[bytes] = files.open("/".join([base.rstrip("/"), *parts]), "rb")
    except OSError:
        raise missing from None
    return found


def _open_below(base: str, parts: Sequence[str]) -> IO[bytes]:
    """Open a regular file without following links: job code may have created some."""
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        number = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise OSError
    return file


async def _chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            yield chunk
    finally:
        await asyncio.to_thread(file.close)
