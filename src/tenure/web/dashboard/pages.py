"""Pages that show the answer to a query or two."""

from datetime import UTC, datetime, timedelta
from math import exp

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.health import examine
from tenure.control.tokens import new_token
from tenure.domain.duration import in_words
from tenure.domain.job import NEVER
from tenure.domain.lifecycle import Rung
from tenure.domain.limits import shown_rates
from tenure.domain.options import read_duration
from tenure.domain.policy import GROUPS
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.store.calls import queries
from tenure.store.results import Token
from tenure.store.rollups import TaskRuns
from tenure.web.authentication import caller_of
from tenure.web.dashboard import forms
from tenure.web.dashboard.attention import attention_of
from tenure.web.dashboard.distribution import distribution
from tenure.web.dashboard.form import form_of, read_choice
from tenure.web.dashboard.jobs import PAGE_SIZE, read_below
from tenure.web.dashboard.rendering import render

_SAMPLE = TaskRuns(
    *("example", 240, 200, 40, 0, NEVER, NEVER),
    tuple((0.1 * 1.2**n, round(40 * exp(-(((n - 12) / 5) ** 2)))) for n in range(30)),
)


async def list_targets(request: Request) -> Response:
    query = request.query_params
    found = await caller_of(request).asend(
        queries.targets(query.get("target") or None, PAGE_SIZE, after=query.get("after") or None)
    )
    return render(
        request,
        "targets.html",
        targets=found,
        paused=(await attention_of(request)).paused("target"),
        wanted=query.get("target") or "",
        following=found[-1].name if len(found) == PAGE_SIZE else None,
        live="/live",
    )


async def list_pools(request: Request) -> Response:
    found = await caller_of(request).asend(queries.pools())
    paused = (await attention_of(request)).paused("pool")
    return render(request, "pools.html", pools=found, paused=paused, live="/live", every=5)


async def list_limits(request: Request) -> Response:
    found = await caller_of(request).asend(queries.limits())
    return render(request, "limits.html", limits=found, allows=shown_rates, live="/live", every=5)


async def list_policies(request: Request) -> Response:
    caller = caller_of(request)
    return render(
        request,
        "policies.html",
        policies=await caller.asend(queries.policies()),
        strategies=await caller.asend(queries.strategies()),
        filters=forms.FILTERS,
        conditions=forms.CONDITIONS,
        groups=GROUPS,
        every=5,
    )


async def list_strategies(request: Request) -> Response:
    found = await caller_of(request).asend(queries.strategies())
    rungs = [rung for rung in Rung if rung < Rung.EXPIRED]
    return render(
        request, "strategies.html", strategies=found, switches=forms.SWITCHES, rungs=rungs
    )


async def list_tenants(request: Request) -> Response:
    tenants = await caller_of(request).asend(queries.tenants())
    return render(request, "tenants.html", tenants=tenants)


async def create_token(request: Request) -> Response:
    """Show the new token. Only this page contains its secret, so there is no redirect."""
    caller, form = caller_of(request), form_of(request)
    role = read_choice("role", form.get("role"), Role.VIEWER)
    lifetime = _lifetime(form.get("lifetime"))
    made = new_token(caller, form.name, role, form.get("tenant"), lifetime)
    secret, token = await caller.aperform(made)
    return await list_tokens(request, made=token, secret=secret)


async def list_tokens(
    request: Request, made: Token | None = None, secret: str | None = None
) -> Response:
    found = await caller_of(request).asend(queries.tokens())
    return render(
        request,
        "tokens.html",
        tokens=[(token, _status(token)) for token in reversed(found)],
        roles=list(Role),
        lifetime=in_words(TOKEN_LIFETIME),
        made=made,
        secret=secret,
    )


def _status(token: Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    has_expired = token.expires_at is not None and token.expires_at <= datetime.now(UTC)
    return "expired" if has_expired else "valid"


def _lifetime(text: str | None) -> timedelta | None:
    if text is None:
        return TOKEN_LIFETIME
    return None if text.strip() == "never" else read_duration("lifetime", text)


async def audit(request: Request) -> Response:
    query = request.query_params
    subject, name = query.get("subject") or None, query.get("name") or None
    below = read_below(request)
    found = await caller_of(request).asend(
        queries.audit_log(subject, name, below=below, n=PAGE_SIZE + 1)
    )
    rows = found[:PAGE_SIZE]
    return render(
        request,
        "audit.html",
        rows=rows,
        subject=subject or "",
        name=name or "",
        below=below,
        following=rows[-1].id if len(found) > PAGE_SIZE else None,
    )


async def system(request: Request) -> Response:
    findings = [finding async for finding in examine(caller_of(request))]
    return render(request, "system.html", findings=findings)


async def components(request: Request) -> Response:
    """Show each part of the design with a sentence on its use."""
    return render(request, "components.html", sample=distribution(_SAMPLE))
