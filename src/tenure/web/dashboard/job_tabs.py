"""The tabs on the page of a job: its output, page by page, newest first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.job import Job
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import family_calls, queries
from tenure.web.artifacts import read_start
from tenure.web.limits import whole_number

TABS = ("log", "partials", "artifacts", "steps", "children", "attempts", "audit", "raw")
LEVELS = {
    "info": ("info", "warning", "error", "critical"),
    "warning": ("warning", "error", "critical"),
    "error": ("error", "critical"),
}
_OUTPUT: Mapping[str, Literal["logs", "partials", "steps"]] = {
    "log": "logs",
    "partials": "partials",
    "steps": "steps",
}
_ROWS = 50
_LINES = 200
_MAX_PREVIEW = 64_000  # bytes
_MAX_SEARCH = 200  # characters
_IMAGES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


@dataclass(frozen=True)
class Preview:
    """The beginning of an artifact, if it can be shown."""

    name: str
    text: str | None = None
    is_image: bool = False
    note: str = ""


@dataclass(frozen=True)
class Shown:
    """A tab with the rows of one page."""

    tab: str
    rows: tuple[Any, ...] = ()
    following: int | None = None  # ``below`` of the next page
    below: int | None = None
    level: str | None = None
    text: str | None = None
    preview: Preview | None = None


async def load_tab(caller: AuthorizedClient, job: Job, given: Mapping[str, str]) -> Shown:
    tab = given.get("tab") or TABS[0]
    if tab not in TABS:
        raise InputRefused(f"tab: must be one of {', '.join(TABS)}")
    below = _below(given)
    if tab in _OUTPUT:
        return await _output(caller, job, tab, below, given)
    if tab == "artifacts":
        name = given.get("show") or None
        preview = None if name is None else await preview_of(caller, job, name)
        return _page(tab, [*job.artifacts][::-1], below, preview=preview)
    if tab == "attempts":
        return _page(tab, list(job.attempts)[::-1], below)
    if tab == "audit":
        audit = await caller.asend(queries.audit_log("job", str(job.id), below=below, n=_ROWS + 1))
        return _keyed(tab, audit, below)
    if tab == "children":
        children = await caller.asend(
            queries.list_jobs({"parent": job.id}, below=below, n=_ROWS + 1)
        )
        return _keyed(tab, children, below)
    return Shown(tab, (msgspec.to_builtins(job),))


async def preview_of(caller: AuthorizedClient, job: Job, name: str) -> Preview:
    """Return the beginning of an artifact as text; an image is shown by its own address."""
    try:
        content = await read_artifact(caller, job, name, _MAX_PREVIEW + 1)
    except NotFound as missing:
        return Preview(name, note=str(missing))
    except Exception as error:  # noqa: BLE001  the store may raise anything; the page is shown
        why = str(error) or type(error).__name__
        return Preview(name, note=f"The artifact storage cannot be read here: {why}")
    if image_kind(content):
        return Preview(name, is_image=True)
    try:
        text = content[:_MAX_PREVIEW].decode(errors="strict" if len(content) < 4 else "ignore")
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        return Preview(name, note="It is neither text nor an image; download it to see it.")
    note = f"The first {_MAX_PREVIEW // 1000} kB." if len(content) > _MAX_PREVIEW else ""
    return Preview(name, text, note=note)


async def read_artifact(caller: AuthorizedClient, job: Job, name: str, limit: int) -> bytes:
    if name not in [artifact["name"] for artifact in job.artifacts]:
        raise NotFound(f"job {job.id} has no artifact {name!r}")
    settings, tenant = caller.client.settings, caller.principal.tenant
    return await read_start(settings, tenant, job.id, name, limit)


def image_kind(content: bytes) -> str | None:
    """Return the media type of an image that browsers show and that cannot hold a script."""
    return next((kind for start, kind in _IMAGES.items() if content.startswith(start)), None)


async def _output(
    caller: AuthorizedClient, job: Job, tab: str, below: int | None, given: Mapping[str, str]
) -> Shown:
    level, text = given.get("level") or None, given.get("q") or None
    if level is not None and level not in LEVELS:
        raise InputRefused(f"level: must be one of {', '.join(LEVELS)}")
    if text is not None and len(text) > _MAX_SEARCH:
        raise InputRefused(f"q: must have at most {_MAX_SEARCH} characters")
    size = _LINES if tab == "log" else _ROWS
    found = await caller.asend(
        family_calls.newest_output(
            job.id,
            _OUTPUT[tab],
            below=below,
            n=size + 1,
            levels=LEVELS.get(level or "") if tab == "log" else None,
            text=text if tab == "log" else None,
        )
    )
    rows = found[:size]
    following = rows[-1]["id"] if len(found) > size else None
    if tab == "log":
        rows = rows[::-1]
    return Shown(tab, rows, following, below, level, text)


def _keyed(tab: str, found: tuple[Any, ...], below: int | None) -> Shown:
    rows = found[:_ROWS]
    return Shown(tab, rows, rows[-1].id if len(found) > _ROWS else None, below)


def _page(tab: str, rows: list[Any], below: int | None, preview: Preview | None = None) -> Shown:
    """Return a page of rows that are numbered from the oldest, which is 0."""
    end = len(rows) if below is None else min(below, len(rows))
    begin = len(rows) - end
    page = rows[begin : begin + _ROWS]
    return Shown(tab, tuple(page), end - _ROWS if end > _ROWS else None, below, preview=preview)


def _below(given: Mapping[str, str]) -> int | None:
    text = given.get("below") or None
    below = None if text is None else whole_number(text)
    if text is not None and below is None:
        raise InputRefused("below: must be a number, 0 or more")
    return below
