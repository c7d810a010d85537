"""Artifacts, read from where workers keep them and passed on piece by piece."""

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
    """A file to be saved; no browser shows it, whatever is in it."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        saved_as = quote(name.rpartition("/")[2], safe="")
        super().__init__(
            _pieces(file),
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
    """Where it must be, and not where the job said that it is: job code could say anything."""
    missing = NotFound(f"artifact {name!r} of job {job} is not where this server looks for it")
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
    """A plain file that is reached without a link: job code may have put one there."""
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


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while piece := await asyncio.to_thread(file.read, CHUNK):
            yield piece
    finally:
        await asyncio.to_thread(file.close)
