"""Templates, and what all of them know."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.amount import amount
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT
from tenure.web.authentication import CALLER, path_of
from tenure.web.context import state_of
from tenure.web.dashboard import formatting
from tenure.web.dashboard.sessions import COOKIE, form_token, remember_form_key
from tenure.web.dashboard.static import mark

PLACES = (
    ("/", "Overview"),
    ("/jobs", "Jobs"),
    ("/cancellations", "Cancellations"),
    ("/queues", "Queues"),
    ("/targets", "Targets"),
    ("/workers", "Workers"),
    ("/pools", "Pools"),
    ("/policies", "Policies"),
    ("/strategies", "Strategies"),
    ("/bulks", "Bulk operations"),
    ("/schedules", "Schedules"),
    ("/audit", "Audit"),
    ("/system", "System"),
)
ADMINS_PLACES = (*PLACES, ("/tokens", "Tokens"))
SHARED_PLACES = (*ADMINS_PLACES, ("/tenants", "Tenants"))
LOOKS = 20  # in a second, by all who have a page open that may change
SHORTEST = 250  # ms between two looks of one of them
_VERSION = version("tenure")  # read once: it stands in a file

_environment = Environment(
    loader=PackageLoader("tenure.web.dashboard"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {
    name: getattr(formatting, name)
    for name in (
        *("shape", "tone", "plain", "exact", "clock", "machine", "age", "ago", "elapsed", "since"),
        *("size", "number", "pretty", "compact", "status_mark", "when"),
    )
}
_environment.globals |= {"amount": amount, "mark": mark, "infinity": float("inf")}


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A whole page, or only the part of it that a live page wants anew."""
    made = _environment.get_template(template)
    known = {**_common(request), **values}
    fragment = request.headers.get("x-fragment")
    if fragment is not None and fragment in made.blocks:
        text = "".join(made.blocks[fragment](made.new_context(known)))
    else:
        text = made.render(known)
    response = HTMLResponse(text, status)
    remember_form_key(request, response)
    return response


def render_part(request: Request, template: str, **values: Any) -> str:
    """A part that is the same for everybody who sees it at all."""
    known = {"url": lambda path, **query: url(request, path, query)}
    return _environment.get_template(template).render(known | values)


def url(request: Request, path: str, query: Mapping[str, Any] | None = None) -> str:
    """A path of the page as browsers see it, wherever the app is mounted."""
    root: str = request.scope.get("root_path", "").rstrip("/")
    given = {name: value for name, value in (query or {}).items() if value not in (None, "", [])}
    return quote(f"{root}{path}", safe="/:@") + (
        f"?{urlencode(given, doseq=True)}" if given else ""
    )


def redirect(request: Request, path: str, query: Mapping[str, Any] | None = None) -> Response:
    """See another page: what every form that was carried out ends with."""
    return RedirectResponse(url(request, path, query), 303)


def _common(request: Request) -> dict[str, Any]:
    caller: AuthorizedClient | None = request.scope.get(CALLER)
    here = path_of(request.scope)
    principal = None if caller is None else caller.principal
    is_admin = principal is not None and principal.role is Role.ADMIN
    is_root = is_admin and principal is not None and principal.tenant == DEFAULT
    return {
        "who": principal,
        "is_admin": is_admin,
        "is_root": is_root,
        "places": SHARED_PLACES if is_root else ADMINS_PLACES if is_admin else PLACES,
        "is_here": lambda path: _is_here(here, path),
        "has_session": COOKIE in request.cookies,
        "form_token": form_token(request) if principal is not None else "",
        "url": lambda path, **query: url(request, path, query),
        "now": datetime.now(UTC),
        "version": _VERSION,
        "pause": lambda: _pause(state_of(request).streams.taken),
        "live": None,
        "every": None,
    }


def _pause(viewers: int) -> int:
    """The most milliseconds that a page waits before it looks again."""
    return max(round(viewers / LOOKS * 1000), SHORTEST)


def _is_here(here: str, path: str) -> bool:
    return here == path or (path != "/" and here.startswith(f"{path}/"))
