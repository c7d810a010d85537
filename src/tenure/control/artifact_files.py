"""Artifacts, read where workers store them."""

import os
import stat
from collections.abc import Sequence
from typing import IO

import fsspec  # type: ignore[import-untyped]
import msgspec
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from tenure.config import Settings
from tenure.domain.job import Job
from tenure.domain.tenant import Tenant
from tenure.errors import NotFound


def with_result(settings: Settings, tenant: Tenant, job: Job) -> Job:
    """Return a job with its result, which is read from its artifact if it is large."""
    name = job.result_artifact
    if name is None:
        return job
    try:
        with open_artifact(settings, tenant, job.id, name) as file:
            result = msgspec.json.decode(file.read())
    except Exception as error:
        why = str(error) or type(error).__name__
        raise NotFound(
            f"the result of job {job.id} is stored as an artifact and cannot be read here: {why}; "
            f"set TENURE_ARTIFACTS as for the workers, or download {name!r} from the server"
        ) from error
    return msgspec.structs.replace(job, result=result)


def open_artifact(settings: Settings, tenant: Tenant, job: int, name: str) -> IO[bytes]:
    """Open an artifact; NotFound if it is not there."""
    files, base, parts = locate(settings, tenant, job, name)
    try:
        if isinstance(files, LocalFileSystem):
            return _open_below(base, parts)
        found: IO[bytes] = files.open("/".join([base.rstrip("/"), *parts]), "rb")
    except OSError:
        raise missing(job, name) from None
    return found


def locate(
    settings: Settings, tenant: Tenant, job: int, name: str
) -> tuple[fsspec.AbstractFileSystem, str, Sequence[str]]:
    """Return the store, its folder and the expected path; the one that a job reported may lie."""
    parts = [tenant.name, str(job), *name.split("/")]
    if {"", ".", ".."} & {*parts} or "::" in name or "\\" in name:
        raise missing(job, name)
    files, base = fsspec.core.url_to_fs(settings.artifacts_url)
    return files, base, parts


def missing(job: int, name: str) -> NotFound:
    return NotFound(f"artifact {name!r} of job {job} is not in the artifact storage of this host")


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
