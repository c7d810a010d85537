"""Log in with a token or a link, and log out.

A link of `tenure up` has its code after the #. Browsers do not send that part, so the code appears
in no log of a server or proxy, and in no Referer. The script of the login page posts it.
"""

from starlette.requests import Request
from starlette.responses import Response

from tenure.errors import NotRecognized
from tenure.web.dashboard.form import read_form
from tenure.web.dashboard.rendering import redirect, render
from tenure.web.dashboard.sessions import sessions_of

_NOT_VALID = "This token is not valid. Ask an admin for a new one, or run: tenure token create"
_USED = (
    "This link is not valid. A link works once, within an hour, on the machine where tenure up "
    "printed it. Log in with a token, or run tenure up again for a new link."
)


async def login_form(request: Request) -> Response:
    wanted = _local(request.query_params.get("next"))
    return render(request, "login.html", next=wanted, problem=None)


async def login(request: Request) -> Response:
    sessions_of(request).refuse_foreign(request)
    form = await read_form(request)
    wanted, secret = _local(form.get("next")), form.get("token", "").strip()
    code = form.get("code")
    path, _, query = wanted.partition("?")
    response = redirect(request, path)
    if query:
        response.headers["location"] += f"?{query}"
    try:
        if code is not None:
            await sessions_of(request).begin_by_code(request, response, code)
        else:
            await sessions_of(request).begin(request, response, secret)
    except NotRecognized:
        problem = _NOT_VALID if code is None else _USED
        return render(request, "login.html", 401, next=wanted, problem=problem)
    return response


async def logout(request: Request) -> Response:
    response = redirect(request, "/login")
    await sessions_of(request).end(request, response)
    return response


def _local(path: str | None) -> str:
    """Return the path to show after the login, if it is one of this site."""
    if path is None or not path.startswith("/") or path.startswith("//"):
        return "/"
    return path if path.isprintable() and "\\" not in path else "/"
