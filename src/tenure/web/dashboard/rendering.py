"""Templates, and the values that all of them use."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT
from tenure.domain.values import amount, size_text
from tenure.web.authentication import CALLER, caller_of, path_of
from tenure.web.context import state_of
from tenure.web.dashboard import formatting
from tenure.web.dashboard.attention import SidebarCount, seen, seen_tenants
from tenure.web.dashboard.job_lines import job_lines, progress_of
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
    auto_reload=False,
)
_environment.filters |= {
    name: getattr(formatting, name)
    for name in (
        *("plain", "exact", "clock", "machine", "age", "ago", "elapsed", "since", "took"),
        *("number", "pretty", "compact", "status_mark", "when"),
    )
}
_environment.filters["size"] = size_text
_environment.globals |= {
    "amount": amount,
    "mark": mark,
    "infinity": float("inf"),
    "job_lines": job_lines,
    "progress_of": progress_of,
}


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
    if not query:
        return _quoted(f"{root}{path}")
    given = tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in query.items()
        if value not in (None, "", [])
    )
    return _quoted(f"{root}{path}") + (_encoded(given) if given else "")


# A page has dozens of addresses, and most are those of the page before.
@lru_cache(maxsize=2000)
def _quoted(path: str) -> str:
    return quote(path, safe="/:@")


@lru_cache(maxsize=500)
def _encoded(query: tuple[tuple[str, Any], ...]) -> str:
    return f"?{urlencode(query, doseq=True)}"


def redirect(
    request: Request, path: str, query: Mapping[str, Any] | None = None, place: str = ""
) -> Response:
    """Show another page after a form, at a place that has an id."""
    return RedirectResponse(url(request, path, query) + f"#{place}" * bool(place), 303)


def _common(request: Request) -> dict[str, Any]:
    caller: AuthorizedClient | None = request.scope.get(CALLER)
    principal = None if caller is None else caller.principal
    is_admin = principal is not None and principal.role is Role.ADMIN
    is_root = is_admin and principal is not None and principal.tenant == DEFAULT
    return {
        "who": principal,
        "is_admin": is_admin,
        "is_root": is_root,
        "sidebar": lambda: _sidebar(request),
        "places": lambda: _options(_anybody(request)),
        "open_tenants": seen_tenants(request),
        "has_session": COOKIE in request.cookies,
        "form_token": form_token(request) if principal is not None else "",
        "url": lambda path, **query: url(request, path, query),
        "now": datetime.now(UTC),
        "pause": lambda: _pause(state_of(request).streams.taken),
        "live": None,
        "every": None,
    }


def _pause(viewers: int) -> int:
    """Return the maximum pause of a page between two refreshes, in milliseconds."""
    return max(round(viewers / REFRESHES * 1000), MIN_PAUSE)


def _sidebar(request: Request) -> Markup:
    attention = seen(request)
    counts = () if attention is None else tuple(attention.counts.items())
    path = path_of(request.scope)
    here = path if path == "/" else "/" + path.split("/", 2)[1]
    return _drawn_sidebar(url(request, ""), _anybody(request), here, counts)


@lru_cache(maxsize=500)
def _drawn_sidebar(
    root: str, principal: Principal, here: str, counts: tuple[tuple[str, SidebarCount], ...]
) -> Markup:
    text = _environment.get_template("sidebar.html").render(
        root=root,
        live=f"{root}/live",
        groups=list(groups_for(principal)),
        here=here,
        counts=dict(counts),
        version=_VERSION,
    )
    return Markup(text)  # noqa: S704  what a template has made


@lru_cache(maxsize=100)
def _options(principal: Principal) -> Markup:
    names = places_for(principal)
    return Markup("").join(Markup('<option value="{}">').format(name) for name in names)


def _anybody(request: Request) -> Principal:
    """Return a principal without a name, who sees the same pages as the caller."""
    principal = caller_of(request).principal
    return Principal("", principal.role, principal.tenant)
