"""What is sent back: structs, written as JSON once."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

_encoder = msgspec.json.Encoder()
_GUARDS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class JsonResponse(Response):
    """A struct, a list of them, or anything else that msgspec writes as JSON."""

    media_type = "application/json"

    def __init__(
        self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(
            _encoder.encode(content), status, {**_GUARDS, **headers} if headers else _GUARDS
        )


def location(request: Request, path: str) -> str:
    """A path of this API as its callers see it, wherever the app is mounted."""
    root: str = request.scope.get("root_path", "")
    return quote(f"{root.rstrip('/')}{path}", safe="/:@!$&'()*+,;=")


def paged(request: Request, found: tuple[Any, ...], limit: int, last: int | None) -> JsonResponse:
    """A page of things, newest first; the header Link names the next one, if there may be one."""
    if len(found) < limit or last is None:
        return JsonResponse(found)
    following = request.url.include_query_params(below=last)
    return JsonResponse(
        found, headers={"link": f'<{following.path}?{following.query}>; rel="next"'}
    )
