"""In by a token, and out."""

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.tokens import arecognize
from tenure.errors import NotRecognized
from tenure.web.asking import shared
from tenure.web.page.forms import read_form
from tenure.web.page.rendering import go_to, page
from tenure.web.page.sessions import begin, end, refuse_foreign

_SENTENCE = "This token is not valid. Ask an admin for a new one, or make one: tenure token create"


async def login_form(request: Request) -> Response:
    wanted = _local(request.query_params.get("next"))
    return page(request, "login.html", next=wanted, problem=None)


async def login(request: Request) -> Response:
    refuse_foreign(request)
    form = await read_form(request)
    wanted, secret = _local(form.get("next")), form.get("token", "").strip()
    try:
        await arecognize(shared(request).client, secret)
    except NotRecognized:
        return page(request, "login.html", 401, next=wanted, problem=_SENTENCE)
    path, _, query = wanted.partition("?")
    response = go_to(request, path)
    if query:
        response.headers["location"] += f"?{query}"
    begin(request, response, secret)
    return response


async def logout(request: Request) -> Response:
    response = go_to(request, "/login")
    end(request, response)
    return response


def _local(path: str | None) -> str:
    """Where to go on: a path of the page, and nothing that leads elsewhere."""
    if path is None or not path.startswith("/") or path.startswith("//"):
        return "/"
    return path if path.isprintable() and "\\" not in path else "/"
