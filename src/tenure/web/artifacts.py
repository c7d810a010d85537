"""Downloads of artifacts: streamed, or by a link to their store."""

import asyncio
from collections.abc import AsyncIterator
from typing import IO
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response, StreamingResponse

from tenure.config import Settings
from tenure.control.artifact_files import locate, missing, open_artifact
from tenure.domain.tenant import Tenant

CHUNK = 1 << 20
MEDIA = "application/octet-stream"


class Download(StreamingResponse):
    """A file to save; a browser does not display it, whatever it contains."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        super().__init__(
            _chunks(file),
            media_type=MEDIA,
            headers={
                "content-disposition": _saved_as(name),
                "x-content-type-options": "nosniff",
                "cache-control": "no-store",
            },
        )


async def artifact_response(settings: Settings, tenant: Tenant, job: int, name: str) -> Response:
    """Return the file, or a redirect to a link of its store, as the settings say."""
    found = await asyncio.to_thread(_find, settings, tenant, job, name)
    if isinstance(found, str):
        return RedirectResponse(found, 307, {"cache-control": "no-store"})
    return Download(name, found)


async def read_start(settings: Settings, tenant: Tenant, job: int, name: str, size: int) -> bytes:
    """Return at most the first ``size`` bytes of a file."""
    file = await asyncio.to_thread(open_artifact, settings, tenant, job, name)
    try:
        return await asyncio.to_thread(file.read, size)
    finally:
        await asyncio.to_thread(file.close)


def _find(settings: Settings, tenant: Tenant, job: int, name: str) -> IO[bytes] | str:
    """Open the file, or return a link to it, as the settings say."""
    files, base, parts = locate(settings, tenant, job, name)
    if settings.artifact_links is None or "s3" not in files.protocol:
        return open_artifact(settings, tenant, job, name)
    try:
        link: str = files.sign(
            "/".join([base.rstrip("/"), *parts]),
            expiration=int(settings.artifact_links.total_seconds()),
            ResponseContentDisposition=_saved_as(name),
            ResponseContentType=MEDIA,
        )
    except OSError:
        raise missing(job, name) from None
    return link


def _saved_as(name: str) -> str:
    return f"attachment; filename*=UTF-8''{quote(name.rpartition('/')[2], safe='')}"


async def _chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            yield chunk
    finally:
        await asyncio.to_thread(file.close)
