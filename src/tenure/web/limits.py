"""Limits on the size of requests, and on how many a principal has in progress."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.requests import Request

from tenure.domain.bounds import LARGEST_ID, MAX_ARGS_BYTES, MAX_LEVELS
from tenure.domain.principal import Principal
from tenure.errors import InputRefused
from tenure.web.errors import Refused

T = TypeVar("T")

MAX_ROWS = 1000
MAX_ID = LARGEST_ID
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACES = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


@dataclass(frozen=True)
class RequestLimits:
    """Limits of one app."""

    body: int = MAX_ARGS_BYTES + (64 << 10)  # bytes: the arguments of a job, and 64 kB for the rest
    depth: int = MAX_LEVELS + 2  # levels of nesting: the body, the job, its arguments
    streams: int = 20  # event streams that one principal may have open
    requests: int = 100  # in progress for one principal, streams and waits included


async def read_body(request: Request, kind: type[T], limits: RequestLimits) -> T:
    """Decode the body of a request; no body is an empty object."""
    text = await read_bytes(request, limits.body)
    if not text:
        text = b"{}"
    else:
        require_json(request)
    try:
        decoded = msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputRefused(f"the body is not valid: {error}") from None
    except RecursionError:
        raise _too_deep(limits) from None
    if _depth_exceeds(text, limits.depth):
        raise _too_deep(limits)
    return decoded


async def read_bytes(request: Request, limit: int, what: str = "body") -> bytes:
    too_large = Refused(413, f"the {what} is larger than the maximum of {limit} bytes")
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and (len(length) > 19 or int(length) > limit):
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def whole_number(text: str, limit: int = MAX_ID) -> int | None:
    """Return the number that digits write; none for another text, and for one above the limit."""
    is_short = text.isascii() and text.isdigit() and len(text) <= len(str(limit))
    return int(text) if is_short and int(text) <= limit else None


def require_json(request: Request) -> None:
    if not _is_json(request):
        raise Refused(415, "the body must be application/json")


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind[-5:] == "+json")


def _too_deep(limits: RequestLimits) -> InputRefused:
    return InputRefused(f"the body has more than {limits.depth} levels of nesting")


def _depth_exceeds(text: bytes, limit: int) -> bool:
    """Return whether valid JSON is nested deeper; each round removes the innermost brackets."""
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    left = _STRINGS.sub(b"", text).translate(_BRACES, _ALL_BUT_BRACKETS)
    for _ in range(limit):
        left = left.replace(b"[]", b"")
    return bool(left)


class Quota:
    """A limit on how many streams or requests each principal has open."""

    def __init__(self, limit: int, what: str) -> None:
        self._limit = limit
        self._what = what
        self._taken: Counter[Principal] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    @contextmanager
    def hold(self, principal: Principal) -> Iterator[None]:
        if self._taken[principal] >= self._limit:
            raise Refused(
                429, f"{principal.name} already has {self._limit} {self._what}; close one first"
            )
        self._taken[principal] += 1
        try:
            yield
        finally:
            self._taken[principal] -= 1
            if not self._taken[principal]:
                del self._taken[principal]
