"""Protection against requests that another site makes a browser send.

A browser sends its cookies with the request of any site, and reaches any server that its network
does. Neither proves that the user meant it. A bearer token does: no site can make a browser add it.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from tenure.errors import NotAllowed

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # methods that change nothing
_SAME = ("same-origin", "none")
_PORTS = {"http": 80, "https": 443}


class Hosts:
    """The host names under which callers without a token may reach the server.

    Another site can point its own name at the address of this server, and then has the same origin
    for a browser (DNS rebinding). Loopback names and IP addresses are always allowed, for nobody
    can own them in the DNS; any other name must be configured.
    """

    def __init__(self, names: Iterable[str] = (), *, is_strict: bool = False) -> None:
        self._names = frozenset(map(_normal, names))
        self.is_strict = is_strict  # also checked for requests with a cookie

    def require(self, request: Request) -> None:
        host = request.headers.get("host", "")
        name = _normal(_name_and_port(host, "http")[0])
        if not (name in self._names or _is_loopback_name(name) or _is_address(name)):
            raise NotAllowed(
                f"the host {host[:200]!r} is not known; if it is a name of this server, "
                f"add it to TENURE_HOSTS"
            )


def refuse_foreign(request: Request) -> None:
    """Refuse a request that a browser reports as sent by another site.

    Following a link from another site is allowed.
    """
    headers = request.headers
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        is_visit = request.method in SAFE and headers.get("sec-fetch-mode") == "navigate"
        is_allowed = site in _SAME or is_visit
    elif origin is not None:
        scheme, _, sender = origin.lower().partition("://")
        hosts = (headers.get("host"), headers.get("x-forwarded-host"))
        is_allowed = _name_and_port(sender, scheme) in [
            _name_and_port(host, scheme) for host in hosts if host
        ]
    else:
        is_allowed = True
    if not is_allowed:
        raise NotAllowed("this form or request was sent by another site, which is not allowed")


def is_https(request: Request) -> bool:
    """Return whether the browser uses HTTPS, also when a proxy terminates it."""
    origin = request.headers.get("origin", "")
    return request.url.scheme == "https" or origin.lower().startswith("https://")


def is_loopback(host: str) -> bool:
    """Return whether this is a loopback address."""
    return _is_address(host) and ip_address(host).is_loopback


def _name_and_port(host: str, scheme: str) -> tuple[str, int | None]:
    """Return the name and the port of a host as a header writes it; an empty name is no host."""
    try:
        split = urlsplit(f"//{host}")
        return split.hostname or "", split.port or _PORTS.get(scheme)
    except ValueError:
        return "", None


def _normal(name: str) -> str:
    return name.strip().lower().rstrip(".")


def _is_loopback_name(name: str) -> bool:
    return name == "localhost" or name.endswith(".localhost")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
