"""Odd input at every path of the page and in every field: never a 5xx."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from starlette.routing import Route

from tenure.domain.policy import FILTERS
from tenure.store.store import Store
from tenure.web.dashboard.routes import ROUTES
from tests.factories import make_job, make_worker
from tests.web.dashboard.visitor import Visitor

ODD = (
    "", " ", "0", "-1", "1e9", "9" * 30, "9223372036854775808", "\x00", "a\x00b", "\x7f\x1b[31m",
    "\ud800", "\u202e", "\U0001f4a9" * 50, "%", "%00", "%zz", "..", "../../etc/passwd", "'\"<>\\",
    "null", "{}", "[]", "true", "infinity", "-infinity", "0001-01-01T00:00", "9999-12-31T23:59",
    "294277-01-01T00:00", "2030-01-01", "999999999d", "-1s", "1e400", "x" * 1000, "cancel-999999",
)  # fmt: skip
QUERY = {  # what pages take; none of the others looks at its query
    "/": ("span", "queue"),
    "/jobs": (*FILTERS, "q", "open", "below"),
    "/bulk": (*FILTERS, "from", "all", "intent"),
    "/complete": ("word",),
    "/audit": ("below", "subject", "name"),
    "/targets": ("target", "after"),
    "/jobs/{job}": ("tab", "below", "level", "q", "show", "from", "to", "after", "state"),
    "/tasks": ("order",),
    "/jump": ("q",),
    "/jump/names": ("q",),
    "/cancellations": ("skip",),
    "/login": ("next",),
}
FIELDS = (
    *("reason", "grace", "strategy", "name", "role", "lifetime", "tenant", "queue", "target"),
    *("pool", "slot", "add", "remove", "filter", "when", "intent", "status", "text", "since"),
    *("until", "confirm", "force", "enabled", "owner", "tag", "key", "job", "tasks", "options"),
    *("question", "value", "rates", "at_once", "for", "delivery", "url", "keep", "event", "worker"),
)


def _parts(path: str) -> list[str]:
    return re.findall(r"\{[^}]+\}", path)


def _written(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


PAGES = [
    (sorted((route.methods or set()) - {"HEAD"})[0], route.path)
    for route in ROUTES
    if isinstance(route, Route) and not route.path.endswith(("/live", "/logout"))
]


def paths(path: str) -> Iterator[str]:
    """The path with everything odd in the place of each of its parameters."""
    if not _parts(path):
        yield path
        return
    for odd in ODD:
        filled = path
        for part in _parts(path):
            filled = filled.replace(part, _written(odd))
        yield filled


@pytest.mark.parametrize(("method", "path"), PAGES)
def test_no_path_and_no_field_of_the_page_ends_in_a_fault(
    method: str, path: str, root: Visitor, store: Store
) -> None:
    make_worker(store)
    job = str(make_job(store))
    token = root.token
    plain = path
    for part in _parts(path):
        plain = plain.replace(part, job)
    for place in paths(path):
        answer = (
            root.see(place) if method == "GET" else root.send(place, {"csrf": token, "reason": "x"})
        )
        assert answer.status_code < 500, (place, answer.text)
    for odd in ODD:
        if method == "GET":
            names = QUERY.get(path, ())
            places = [f"{plain}?{name}={_written(odd)}" for name in names]
            answers = [root.see(place) for place in places]
        else:
            text = odd.encode("utf-8", "replace").decode()
            answers = [root.send(plain, {"csrf": token, **dict.fromkeys(FIELDS, text)})]
        for answer in answers:
            assert answer.status_code < 500, (plain, odd, answer.text)
