"""JSON responses, and the paths and links in their headers."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class JsonResponse(Response, Generic[T]):
    """A struct, a list of structs, or any other value that msgspec writes as JSON."""

    media_type = "application/json"

    def __init__(
        self, content: T, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(
            _encoder.encode(content), status, {**_HEADERS, **headers} if headers else _HEADERS
        )


def location(request: Request, path: str) -> dict[str, str]:
    """Return the header that names a path of this API, wherever the app is mounted."""
    root: str = request.scope.get("root_path", "")
    return {"location": quote(f"{root.rstrip('/')}{path}", safe="/:@!$&'()*+,;=")}


def paged(request: Request, rows: tuple[Any, ...], limit: int) -> JsonResponse[Any]:
    """Return rows, newest first; the header Link names the next page if there may be one."""
    if len(rows) < limit:
        return JsonResponse(rows)
    next_page = request.url.include_query_params(below=rows[-1].id)
    link = f'<{next_page.path}?{next_page.query}>; rel="next"'
    return JsonResponse(rows, headers={"link": link})
