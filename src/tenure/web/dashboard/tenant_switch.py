"""The tenant that an admin of the default tenant looks at: their own, or another one."""

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, NotAllowed, NotFound
from tenure.web.api.tenants import in_tenant
from tenure.web.dashboard.attention import HOME
from tenure.web.dashboard.form import form_of
from tenure.web.dashboard.rendering import redirect
from tenure.web.dashboard.sessions import cookie_path
from tenure.web.origins import is_https

_COOKIE = "tenure_tenant"


async def in_chosen_tenant(request: Request, caller: AuthorizedClient) -> AuthorizedClient:
    """Return the caller in the tenant that they chose; in their own if they may not."""
    request.scope[HOME] = caller
    name = request.cookies.get(_COOKIE)
    if name is None or not caller.principal.controls_tenants:
        return caller
    try:
        return await in_tenant(caller, Tenant(name), "open")
    except (InputRefused, NotFound):  # it was dropped in the meantime
        return caller


async def switch_tenant(request: Request) -> Response:
    home: AuthorizedClient = request.scope[HOME]
    tenant = Tenant(form_of(request).name)
    if not home.principal.controls_tenants:
        raise NotAllowed("only an admin of the default tenant may open another tenant")
    await in_tenant(home, tenant, "open")
    response = redirect(request, "/")
    response.set_cookie(
        _COOKIE,
        tenant.name,
        path=cookie_path(request),
        httponly=True,
        samesite="strict",
        secure=is_https(request),
    )
    return response
