"""Text and links of an HTML page, and the splitting of a text into chunks that overlap."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit


class Page(HTMLParser):
    """What a reader of the page sees, and where it leads on the same site."""

    def __init__(self, url: str, html: str) -> None:
        super().__init__()
        self.url, self.title, self._links, self._texts = url, "", list[str](), list[str]()
        self._within = ""
        self.feed(html)

    @property
    def body(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self._texts)).strip()

    @property
    def links(self) -> list[str]:
        found = (urldefrag(urljoin(self.url, link)).url for link in self._links)
        return [link for link in found if urlsplit(link).netloc == urlsplit(self.url).netloc]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = tag
        if tag == "a":
            self._links += [value for name, value in attrs if name == "href" and value]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "title":
            self.title = data.strip()
        elif self._within not in ("script", "style"):
            self._texts.append(data)


def split(text: str, size: int = 300, overlap: int = 60) -> Iterator[str]:
    """Whole sentences up to a size; each chunk begins with the end of the one before."""
    chunk = ""
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        if chunk and len(chunk) + len(sentence) >= size:
            yield chunk
            chunk = chunk[-overlap:].partition(" ")[2]
        chunk = f"{chunk} {sentence}".strip()
    if chunk:
        yield chunk
