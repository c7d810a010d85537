"""Bulk operations: the preview, the list, and the progress of each."""

from collections.abc import Mapping

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.bulk import WORDS, consequence
from tenure.domain.lifecycle import BulkIntent
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import queries
from tenure.store.policy_results import Bulk
from tenure.web.api.bulk import advance_bulk, begin_bulk
from tenure.web.authentication import caller_of
from tenure.web.dashboard.form import Form, read_choice
from tenure.web.dashboard.jobs import PAGE_SIZE, Given, filters_of, read_filters
from tenure.web.dashboard.rendering import render
from tenure.web.dashboard.rows import tree
from tenure.web.limits import whole_number
from tenure.web.models import BulkBody

_SHOWN = 10  # jobs of a preview
_ADVANCED_FOR = 3.0  # seconds that a request advances it; then workers do


async def preview(request: Request) -> Response:
    """Count the jobs that would be changed, and say what would be done to them."""
    caller = caller_of(request)
    given, intent = _chosen(request.query_params), _intent(request.query_params)
    filters = read_filters(given)
    found = await caller.asend(queries.bulk_preview(filters, intent))
    newest = await caller.asend(queries.job_rows(filters, n=_SHOWN))
    return render(
        request,
        "bulk_preview.html",
        given=given,
        intent=intent,
        intents=WORDS,
        consequence=consequence(found, intent),
        preview=found,
        rows=tree(newest, newest.ids, ()),
        strategies=await caller.asend(queries.strategies()),
    )


async def start_bulk(caller: AuthorizedClient, form: Form) -> Bulk:
    given = {
        "filter": read_filters(filters_of(form)),
        "intent": _intent(form),
        "reason": form.stated_reason,
        "fresh": "fresh" in form,
        "strategy": form.get("strategy"),
    }
    return await begin_bulk(caller, msgspec.convert(given, BulkBody), _ADVANCED_FOR)


async def carry_on_bulk(caller: AuthorizedClient, form: Form) -> Bulk:
    """Advance a bulk operation without a worker."""
    bulk = await caller.asend(queries.bulk(_number(form.path["bulk"])))
    return await advance_bulk(caller, bulk, _ADVANCED_FOR)


async def list_bulks(request: Request) -> Response:
    found = await caller_of(request).asend(queries.bulks(PAGE_SIZE))
    is_active = any(bulk.ended_at is None for bulk in found)
    return render(request, "bulks.html", bulks=found, every=2 if is_active else None)


async def show_bulk(request: Request) -> Response:
    bulk = await caller_of(request).asend(queries.bulk(_number(request.path_params["bulk"])))
    every = 1 if bulk.ended_at is None else None
    return render(request, "bulk.html", bulk=bulk, intents=WORDS, every=every)


def _chosen(fields: QueryParams) -> Given:
    """Return the filters of a link, or of the jobs that were selected in the list."""
    if "from" not in fields:
        return filters_of(fields)
    if "all" in fields:
        return filters_of(QueryParams({"q": fields.get("q", "")}))
    if not (ids := fields.getlist("id")):
        raise InputRefused("no job is selected; go back and select jobs, or all that match")
    return {"id": ids}


def _intent(fields: Mapping[str, str]) -> BulkIntent:
    return read_choice("intent", fields.get("intent"), BulkIntent.CANCEL)


def _number(text: str) -> int:
    if (number := whole_number(text)) is None:
        raise NotFound(f"there is no bulk operation {text[:20]!r}")
    return number
