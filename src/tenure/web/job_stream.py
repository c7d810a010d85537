"""The stream of a job as the response of your own route."""

from contextlib import nullcontext
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.control.handle import Handle
from tenure.control.job_stream import StreamBatch
from tenure.errors import InputRefused, JobNotFound
from tenure.web.streams import Stream, encode_batch


def stream_response(handle: Handle[Any], request: Request, *, after: int | str = 0) -> Response:
    """Return the stream of a job as server-sent events, for a route of FastAPI or Starlette.

    Your route decides who may read the job. ``after`` is where a new reader begins; a browser that
    reconnects continues after the last event that it has received. The response waits for a slow
    reader, and holds at most one page of output for it.
    """
    try:
        stream = handle.stream(request.headers.get("last-event-id") or after)
    except InputRefused as error:
        raise HTTPException(400, str(error)) from None
    return _OwnStream(stream.batches(), encode_batch, nullcontext(), _allowed)


class _OwnStream(Stream[StreamBatch]):
    """Tells what is wrong with a request in the way of the app that has the route."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except JobNotFound as error:
            raise HTTPException(404, str(error)) from None
        except InputRefused as error:
            raise HTTPException(400, str(error)) from None


async def _allowed() -> None:
    """Your route has decided it."""
