"""One POST to a receiver outside, within limits that the receiver cannot stretch.

The host is resolved once, every address is checked, and the connection goes to a checked address:
a name that resolves differently a moment later reaches nothing else. Redirects are not followed.
Of the response only the head is read: no user sees what the receiver wrote.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from tenure.runtime.webhooks.addresses import AllowedHosts, is_public, read_address

_RESOLVERS = 64  # threads
TIMEOUT = 15.0  # seconds for all of it: name, connection, encryption, request and response
_CONNECT_TIMEOUT = 5.0  # seconds for one of several addresses
_MAX_HEAD = 65_536  # bytes of a response
_MAX_RESPONSES = 10  # with the interim ones
_MAX_WAIT = 3600.0  # seconds that a receiver may ask to be left alone
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: |\r)")
_RETRY_AFTER = re.compile(rb"(?im)^retry-after:[ \t]*([0-9]{1,9})[ \t]*\r?$")


class RequestFailed(Exception):
    """The receiver was not reached, may not be reached, or did not answer in time."""


class Response(NamedTuple):
    status: int
    wait: float  # seconds that the receiver asked to be left alone


class _Place(NamedTuple):
    is_encrypted: bool
    host: str
    port: int
    authority: str
    target: str


async def post(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    allowed: AllowedHosts,
    context: ssl.SSLContext | None = None,
) -> Response:
    """Send a request and return what the head of the response says; RequestFailed if none came."""
    place = _place(url)
    try:
        async with asyncio.timeout(TIMEOUT):
            addresses = await _addresses(place, allowed)
            reader, writer = await _connect(place, addresses, context)
            try:
                writer.write(_head(place, headers, len(body)) + body)
                await writer.drain()
                return await _response(reader)
            finally:
                writer.transport.abort()
    except TimeoutError:
        raise RequestFailed(f"{place.host} did not answer within {TIMEOUT:g} s") from None
    except asyncio.IncompleteReadError:
        raise RequestFailed(f"{place.host} closed the connection without a response") from None
    except asyncio.LimitOverrunError:
        raise RequestFailed(f"the head of the response is larger than {_MAX_HEAD} bytes") from None
    except (OSError, ValueError) as error:
        raise RequestFailed(f"{place.host} cannot be reached: {error}") from None


def _place(url: str) -> _Place:
    """Return the parts of a URL, which the database checked when it was set."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise RequestFailed(f"the URL is not valid: {error}") from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or port == 0:
        raise RequestFailed("the URL does not name a host by https:// or http://")
    is_encrypted = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Place(
        is_encrypted, host, port or (443 if is_encrypted else 80), parts.netloc.lower(), target
    )


async def _addresses(place: _Place, allowed: AllowedHosts) -> list[str]:
    """Return the addresses of a host; refuse it if any of them is inside and not allowed."""
    found = await asyncio.get_running_loop().run_in_executor(_resolvers(), _resolve, place)
    addresses = [read_address(text) for text in found]
    by_name = allowed.includes_name(place.host)
    if not by_name and not all(is_public(each) or allowed.includes(each) for each in addresses):
        raise RequestFailed(
            f"{place.host} is a private address; webhooks reach it only if the setting "
            f"webhook_hosts of the workers names it"
        )
    if not (place.is_encrypted or by_name or all(map(allowed.includes, addresses))):
        raise RequestFailed("http:// is only for hosts of the setting webhook_hosts; use https://")
    return list(dict.fromkeys(map(str, addresses)))


def _resolve(place: _Place) -> list[str]:
    found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@cache
def _resolvers() -> ThreadPoolExecutor:
    """Return threads of their own: a name server that hangs holds up no other work."""
    return ThreadPoolExecutor(_RESOLVERS, "resolver")


async def _connect(
    place: _Place, addresses: list[str], context: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    encryption = (context or _default_context()) if place.is_encrypted else None
    problem = OSError("it has no address")
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                return await asyncio.open_connection(
                    address,
                    place.port,
                    ssl=encryption,
                    server_hostname=place.host if encryption else None,
                    limit=_MAX_HEAD,
                )
        except TimeoutError:
            problem = OSError(f"no connection within {_CONNECT_TIMEOUT:g} s")
        except OSError as error:
            problem = error
    raise problem


@cache
def _default_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _head(place: _Place, headers: Mapping[str, str], size: int) -> bytes:
    lines = [
        f"POST {place.target} HTTP/1.1",
        f"host: {place.authority}",
        f"content-length: {size}",
        "connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "\r\n"]).encode("ascii")


async def _response(reader: asyncio.StreamReader) -> Response:
    for _ in range(_MAX_RESPONSES):
        head = await reader.readuntil(b"\r\n\r\n")
        found = _STATUS.match(head)
        if found is None:
            raise RequestFailed("the response is not HTTP/1.1")
        status = int(found[1])
        if status >= 200:
            wait = _RETRY_AFTER.search(head)
            return Response(status, min(float(wait[1]), _MAX_WAIT) if wait else 0.0)
    raise RequestFailed(f"the receiver sent {_MAX_RESPONSES} interim responses and no answer")
