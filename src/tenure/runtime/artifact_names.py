"""Names of artifacts that are valid on every file system."""

import unicodedata

from tenure.errors import InputRefused

MAX_LENGTH = 200  # characters of a whole name, and bytes of each of its parts
PART = ".tenure-"  # prefix of files that are still being written

_DEVICES = {"con", "prn", "aux", "nul", "clock$"} | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(10)
}


def checked(name: str) -> str:
    """Return the name if it stays below the job's folder on every store; it may have folders."""
    if not isinstance(name, str):
        raise InputRefused(f"the name of an artifact must be a str, not {type(name).__name__}")
    name = str.__str__(name)
    why = _problem(name)
    if why is not None:
        shown = name if len(name) <= MAX_LENGTH else f"{name[:MAX_LENGTH]}..."
        raise InputRefused(f"{shown!r} cannot be the name of an artifact: {why}")
    return name


def folded(name: str) -> str:
    """Return the same string for all names that some file system takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def folders_of(name: str) -> list[str]:
    """Return "a" and "a/b" for "a/b/c"."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _problem(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > MAX_LENGTH:
        return f"it is longer than {MAX_LENGTH} characters"
    # Some stores normalize names: a full-width dot becomes a dot.
    for form in (name, unicodedata.normalize("NFKC", name)):
        if any(unicodedata.category(character).startswith("C") for character in form):
            return "it contains a control character or an invisible character"
        if "\\" in form:
            return "it contains a backslash"
        if form.startswith("/"):
            return "it is absolute"
        if "::" in form:
            return "it contains ::, which has a meaning in URLs of stores"
        for part in form.split("/"):
            why = _problem_to_part(part)
            if why is not None:
                return why
    return None


def _problem_to_part(part: str) -> str | None:
    if not part:
        return "it has an empty part"
    if part in (".", ".."):
        return f"it contains the part {part}"
    if len(part.encode()) > MAX_LENGTH:
        return f"a part of it takes more than {MAX_LENGTH} bytes"
    if part != part.strip() or part.endswith("."):
        return "a part of it begins or ends with a space, or ends with a dot"
    plain = folded(part)
    if plain.startswith(PART) or plain.partition(".")[0].rstrip() in _DEVICES:
        return f"{part} is reserved"
    return None
