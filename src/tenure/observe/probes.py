"""Probes of a worker over HTTP: is it to be restarted, and does it take jobs?"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Probed(Protocol):
    """A worker that is probed, from another thread."""

    def why_not_live(self) -> str:
        """Return why the worker is to be restarted; an empty string if it is not."""

    def why_not_ready(self) -> str:
        """Return why the worker takes no jobs; an empty string if it does."""


class Beginning:
    """A worker that is not registered: it imports its app, or waits for the database."""

    def why_not_live(self) -> str:
        return ""

    def why_not_ready(self) -> str:
        return "the worker has not begun, or waits for the database"


def with_probes(app: "WSGIApplication", probed: Callable[[], Probed]) -> "WSGIApplication":
    """Answer ``/healthz`` and ``/readyz``; leave other paths to another application."""

    def answer(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        match environ.get("PATH_INFO"):
            case "/healthz":
                problem = probed().why_not_live()
            case "/readyz":
                problem = probed().why_not_ready()
            case _:
                return app(environ, start)
        status = "503 Service Unavailable" if problem else "200 OK"
        start(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{problem or 'ok'}\n".encode()]

    return answer
