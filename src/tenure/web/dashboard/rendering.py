"""Templates, and the values that all of them use."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT
from tenure.domain.values import amount, size_text
from tenure.web.authentication import CALLER, path_of
from tenure.web.context import state_of
from tenure.web.dashboard import formatting
from tenure.web.dashboard.attention import seen, seen_tenants
from tenure.web.dashboard.navigation import groups_for, places_for
from tenure.web.dashboard.sessions import COOKIE, form_token, remember_form_key
from tenure.web.dashboard.static import mark

REFRESHES = 20  # per second, of all open pages together
MIN_PAUSE = 250  # ms between two refreshes of one page
_VERSION = version("tenure")  # read once: it comes from a file

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
        *("plain", "exact", "clock", "machine", "age", "ago", "elapsed", "since", "took"),
        *("number", "pretty", "compact", "status_mark", "when"),
    )
}
_environment.filters["size"] = size_text
_environment.globals |= {"amount": amount, "mark": mark, "infinity": float("inf")}


def provide(**values: Any) -> None:
    """Make values available to all templates."""
    _environment.globals |= values


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Return a whole page, or only the part that a live page refreshes."""
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
    """Return a part that is the same for every user."""
    known = {"url": lambda path, **query: url(request, path, query)}
    return _environment.get_template(template).render(known | values)


def url(request: Request, path: str, query: Mapping[str, Any] | None = None) -> str:
    """Return the URL of a path, wherever the app is mounted."""
    root: str = request.scope.get("root_path", "").rstrip("/")
    given = {name: value for name, value in (query or {}).items() if value not in (None, "", [])}
    return quote(f"{root}{path}", safe="/:@") + (
        f"?{urlencode(given, doseq=True)}" if given else ""
    )


def redirect(
    request: Request, path: str, query: Mapping[str, Any] | None = None, place: str = ""
) -> Response:
    """Show another page after a form, at a place that has an id."""
    return RedirectResponse(url(request, path, query) + f"#{place}" * bool(place), 303)


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
        "navigation": list(groups_for(principal)) if principal is not None else [],
        "places": places_for(principal) if principal is not None else {},
        "attention": seen(request) if principal is not None else None,
        "open_tenants": seen_tenants(request),
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
    """Return the maximum pause of a page between two refreshes, in milliseconds."""
    return max(round(viewers / REFRESHES * 1000), MIN_PAUSE)


def _is_here(here: str, path: str) -> bool:
    return here == path or (path != "/" and here.startswith(f"{path}/"))
