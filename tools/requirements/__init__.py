"""The requirements of the five systems: a file for each, with the tests that prove them."""

from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wish of a system; it has a test, or a page if it is about documentation."""

    says: str
    tests: tuple[str, ...] = ()
    """The tests that fail if it does not hold: ``store/test_stop.py::test_...``, below tests."""
    page: str | None = None
    """Where it is documented or decided, as a link from the folder docs."""
    differs: str | None = None
    """How Tenure differs on purpose, and honours the wish all the same; the page says why."""


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a system, and the example that is built from it."""

    title: str
    example: str
    requirements: dict[str, Requirement]


def documents() -> list[Document]:
    """Return the five documents in the order of their files."""
    return [_read(file) for file in sorted(FOLDER.glob("*.toml"))]


def _read(file: Path) -> Document:
    try:
        return msgspec.toml.decode(file.read_text(), type=Document)
    except msgspec.DecodeError as error:
        raise SystemExit(f"{file.name}: {error}") from None
