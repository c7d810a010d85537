"""Which sites may act through somebody's browser, and which hosts this server answers for.

A browser sends cookies and uses its place in the network for whichever site asks it to, so what it
brings by itself proves nothing. A bearer token does: no site can make a browser add one.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from tenure.errors import NotAllowed

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # methods that change nothing
_OURS = ("same-origin", "none")
_PORTS = {"http": 80, "https": 443}


class Hosts:
    """Names under which the server may be reached by whoever needs no token.

    Another site can give its own name the address of this server, and is then of the same origin as
    far as a browser knows. So the name counts: loopback and addresses always do, for nobody can
    own them in the DNS; any other name has to be set.
    """

    def __init__(self, names: Iterable[str] = (), *, is_strict: bool = False) -> None:
        self._names = frozenset(map(_normal, names))
        self.is_strict = is_strict  # checked also for those who bring a cookie

    def require(self, request: Request) -> None:
        host = request.headers.get("host", "")
        name = _normal(_place(host, "http")[0])
        if not (name in self._names or _is_loopback_name(name) or _is_address(name)):
            raise NotAllowed(
                f"this server does not answer for the host {host[:200]!r}; if that is its name, "
                f"set TENURE_HOSTS"
            )


def refuse_foreign(request: Request) -> None:
    """Refuse what another site sends in somebody's name, as far as the browser says so.

    A visit from a link on another site is none of that.
    """
    headers = request.headers
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        is_visit = request.method in SAFE and headers.get("sec-fetch-mode") == "navigate"
        is_ours = site in _OURS or is_visit
    elif origin is not None:
        scheme, _, place = origin.lower().partition("://")
        hosts = (headers.get("host"), headers.get("x-forwarded-host"))
        is_ours = _place(place, scheme) in [_place(host, scheme) for host in hosts if host]
    else:
        is_ours = True
    if not is_ours:
        raise NotAllowed("this form or request was sent by another site, which may not act here")


def is_https(request: Request) -> bool:
    """Return whether the browser speaks HTTPS, also where a proxy does that for this server."""
    origin = request.headers.get("origin", "")
    return request.url.scheme == "https" or origin.lower().startswith("https://")


def is_loopback(host: str) -> bool:
    """Return whether this is the address of the machine itself."""
    return _is_address(host) and ip_address(host).is_loopback


def _place(host: str, scheme: str) -> tuple[str, int | None]:
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
