"""Somebody who looks at the page, and fills in its forms."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx

from tests.web.http_client import Http

Tag = tuple[str, dict[str, str]]

_TOKEN = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


def session_of(http: Http, secret: str) -> str:
    """Log in by a token, as a browser of its own; what its cookie holds."""
    answer = http.as_({}).send("POST", "/login", data={"token": secret})
    assert answer.status_code == 303, answer.text
    return str(answer.cookies["tenure_session"])


class Visitor:
    def __init__(self, http: Http, secret: str) -> None:
        self._http = http.as_({})
        self.secret = secret
        self.headers = {"cookie": f"tenure_session={session_of(self._http, secret)}"}

    def see(self, path: str, **headers: str) -> httpx.Response:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._http.get(path, headers={**self.headers, **told})

    def sees(self, path: str) -> str:
        """The page at this path, which is there."""
        answer = self.see(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return answer.text

    @property
    def token(self) -> str:
        """What its forms carry."""
        found = _TOKEN.search(self.sees("/jobs"))
        assert found is not None
        return found[1]

    def send(self, path: str, fields: dict[str, str], **headers: str) -> httpx.Response:
        """A form, just as it is given."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._http.send("POST", path, data=fields, headers={**self.headers, **told})

    def does(self, path: str, **fields: str) -> httpx.Response:
        """A form of the page."""
        return self.send(path, {"csrf": self.token, **fields})


def tags(text: str) -> list[Tag]:
    """All tags of a page, with their attributes."""
    found: list[Tag] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, Any]]) -> None:
            found.append((tag, {name: value or "" for name, value in attributes}))

    reader = Reader()
    reader.feed(text)
    reader.close()
    return found


def actions(text: str) -> set[str]:
    """Where the forms of a page go that change something."""
    return {
        told["action"] for tag, told in tags(text) if tag == "form" and told.get("method") == "post"
    }


def texts(text: str) -> Iterator[str]:
    """What a page says, piece by piece."""
    pieces: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            pieces.append(data)

    reader = Reader()
    reader.feed(text)
    reader.close()
    return iter(pieces)


def said(text: str) -> str:
    """What a page says, in one line."""
    return " ".join(" ".join(texts(text)).split())
