"""The list of jobs."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tenure.control.bulk import WORDS
from tenure.domain.lifecycle import Status
from tenure.domain.policy import FILTERS, SEVERAL
from tenure.domain.principal import Role
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.store.job_rows import JobRows
from tenure.web.authentication import caller_of
from tenure.web.dashboard.rendering import render, url
from tenure.web.dashboard.rows import tree
from tenure.web.dashboard.search import complete, read_past, read_search, write_search
from tenure.web.dashboard.status_counts import COUNTS, LIMIT, Counts, StatusCounts
from tenure.web.limits import whole_number

Given = Mapping[str, str | list[str]]

PAGE_SIZE = 50
TABS: Mapping[str, tuple[Status, ...]] = {
    "Running": (Status.RUNNING, Status.CANCELLING, Status.PAUSING, Status.DRAINING),
    "Queued": (Status.QUEUED,),
    "Waiting": (
        *(Status.PENDING, Status.SCHEDULED, Status.RETRYING, Status.WAITING, Status.BLOCKED),
    ),
    "Paused": (Status.PAUSED,),
    "Failed": (Status.FAILED,),
    "Completed": (Status.COMPLETED,),
    "Cancelled": (Status.CANCELLED,),
}
_FIELDS = ("queue", "task", "target", "owner", "tag", "key")  # of the form with a field for each
_WITHOUT_FIELD = ("id", "state", "parent", "root", "worker")
_ROOTS = {"parent": "none"}
_MAX_OPEN = 20


async def list_jobs(request: Request) -> Response:
    """List the jobs that match a search; without a search, those without a parent."""
    caller, query = caller_of(request), request.query_params
    opened, below = _opened(query.getlist("open")), read_below(request)
    given: Given = {}
    counts: Counts = {}
    page, problem = JobRows((), ()), None
    try:
        given = filters_of(query)
        filters = read_filters(given)
        rows = queries.job_rows(
            filters or _ROOTS, below=below, n=PAGE_SIZE + 1, open=sorted(opened)
        )
        counted: StatusCounts = request.scope[COUNTS]
        page, counts = await asyncio.gather(caller.asend(rows), counted.of(caller, given, filters))
    except InputRefused as error:
        problem = str(error)
    search = query.get("q", "") if problem else write_search(given)
    ids = page.ids[:PAGE_SIZE]

    def toggle(job: int) -> str:
        """Return the address of this page with the children of a job shown, or not."""
        shown = sorted(opened.symmetric_difference([job]))
        return url(request, "/jobs", {**given, "below": below, "open": shown}) + f"#j{job}"

    return render(
        request,
        "jobs.html",
        status=422 if problem else 200,
        problem=problem,
        rows=tree(page, ids, opened),
        statuses=list(Status),
        fields=_FIELDS,
        tabs=_tabs(given, counts),
        search=search,
        given={**dict.fromkeys(FILTERS, ""), **given, "status": _several(given.get("status"))},
        others={name: given[name] for name in _WITHOUT_FIELD if name in given},
        filters=given,
        toggle=toggle,
        intents=WORDS,
        may_select=caller.principal.role.includes(Role.OPERATOR),
        below=below,
        following=ids[-1] if len(page.ids) > PAGE_SIZE else None,
        live="/live",
    )


async def complete_search(request: Request) -> Response:
    """Return the words that a word of a search may become, as JSON."""
    return JSONResponse(await complete(caller_of(request), request.query_params.get("word", "")))


class Tab(NamedTuple):
    name: str
    filters: Given
    is_current: bool
    n: int | None  # none: they were not counted
    is_more: bool = False  # not all of them were counted

    @property
    def number(self) -> str:
        return "" if self.n is None else f"{LIMIT:,}+" if self.is_more else f"{self.n:,}"


def _tabs(given: Given, counts: Counts) -> list[Tab]:
    others = {name: value for name, value in given.items() if name != "status"}
    current = set(_several(given.get("status")))
    tabs = [Tab("All", others, not current, None)]
    for name, statuses in TABS.items():
        found = [counts[status] for status in statuses] if counts else []
        n = sum(found) if found else None
        filters = {**others, "status": [str(status) for status in statuses]}
        is_more = any(each > LIMIT for each in found)
        tabs.append(Tab(name, filters, current == set(statuses), n, is_more))
    return tabs


def filters_of(fields: Any) -> dict[str, str | list[str]]:
    """Return the given filters; a filter with several values is a list."""
    found: dict[str, str | list[str]] = {}
    searched = [pair for text in fields.getlist("q") for pair in read_search(text)]
    for name in FILTERS:
        texts = [*fields.getlist(name), *(text for other, text in searched if other == name)]
        if name == "id":
            texts = [part for text in texts for part in text.split(",")]
        values = [value for given in texts if (value := given.strip())]
        if values:
            found[name] = values if name in SEVERAL and len(values) > 1 else values[-1]
    return found


def read_filters(given: Given) -> dict[str, Any]:
    return {
        name: read_past(name, str(value)) if name in ("since", "until") else value
        for name, value in given.items()
    }


def _several(value: str | list[str] | None) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _opened(texts: Collection[str]) -> frozenset[int]:
    """Return the jobs whose children are shown."""
    ids = {number for text in texts if (number := whole_number(text)) is not None}
    return frozenset(sorted(ids, reverse=True)[:_MAX_OPEN])


def read_below(request: Request) -> int | None:
    text = request.query_params.get("below")
    if text is None:
        return None
    if (below := whole_number(text)) is None:
        raise InputRefused("below: must be the id of a row")
    return below
