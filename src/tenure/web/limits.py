"""How much one may send, ask for and keep open."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.requests import Request

from tenure.domain.bounds import LARGEST_ID, MOST_ARGS_BYTES, MOST_LEVELS
from tenure.domain.principal import Principal
from tenure.errors import InputRefused
from tenure.web.errors import Refused

T = TypeVar("T")

MOST_ON_A_PAGE = 1000
MOST_ID = LARGEST_ID
_TEXTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACES = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


@dataclass(frozen=True)
class Limits:
    """The limits of a request, and of the requests of a principal."""

    body: int = MOST_ARGS_BYTES + (64 << 10)  # bytes: the arguments of a job, and room for the rest
    depth: int = MOST_LEVELS + 2  # a body, a job of it, and its arguments within one another
    streams: int = 20  # of events that one principal may have open
    requests: int = 100  # of one principal that are under way at once, streams and waits included


async def read(request: Request, kind: type[T], limits: Limits) -> T:
    """The body of a request; one that is left out is an empty object."""
    text = await _body(request, limits.body)
    if not text:
        text = b"{}"
    else:
        require_json(request)
    try:
        taken = msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputRefused(f"the body cannot be taken: {error}") from None
    except RecursionError:
        raise _too_deep(limits) from None
    if _depth_exceeds(text, limits.depth):
        raise _too_deep(limits)
    return taken


async def _body(request: Request, most: int) -> bytes:
    too_large = Refused(413, f"the body is larger than the {most} bytes that are taken")
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and (len(length) > 19 or int(length) > most):
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def require_json(request: Request) -> None:
    if not _is_json(request):
        raise Refused(415, "the body is not application/json, and nothing else is read")


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind[-5:] == "+json")


def _too_deep(limits: Limits) -> InputRefused:
    return InputRefused(f"the body is nested more than {limits.depth} levels deep")


def _depth_exceeds(text: bytes, most: int) -> bool:
    """Whether valid JSON is nested deeper: each round takes the innermost brackets away."""
    if text.count(b"[") + text.count(b"{") <= most:
        return False
    left = _TEXTS.sub(b"", text).translate(_BRACES, _ALL_BUT_BRACKETS)
    for _ in range(most):
        left = left.replace(b"[]", b"")
    return bool(left)


class Places:
    """How many of something each principal has open: streams, or requests."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._taken: Counter[Principal] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    @contextmanager
    def place(self, principal: Principal) -> Iterator[None]:
        if self._taken[principal] >= self._most:
            raise Refused(429, f"{principal.name} has {self._most} {self._what}; close one first")
        self._taken[principal] += 1
        try:
            yield
        finally:
            self._taken[principal] -= 1
            if not self._taken[principal]:
                del self._taken[principal]
