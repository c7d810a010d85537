"""The style sheet and scripts, read once and cached by browsers until they change."""

import hashlib
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_FILES = {
    file.name: file.read_bytes()
    for file in files("tenure.web.dashboard").joinpath("static").iterdir()
    if file.name.endswith(tuple(_KINDS))
}
_MARKS = {name: hashlib.sha256(text).hexdigest()[:12] for name, text in _FILES.items()}


def mark(name: str) -> str:
    """Return a digest that changes with the file."""
    return _MARKS[name]


async def static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404, "there is nothing at this path")
    is_current = request.query_params.get("v") == mark(name)
    cached = "public, max-age=31536000, immutable" if is_current else "no-cache"
    kind = _KINDS[name[name.rindex(".") :]]
    return Response(_FILES[name], media_type=kind, headers={"cache-control": cached})
