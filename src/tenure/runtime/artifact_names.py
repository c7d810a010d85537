"""Names of artifacts: what they may be, on every file system that may have to keep them."""

import unicodedata

from tenure.errors import InputRefused

LONGEST = 200  # characters of a whole name, and bytes of each of its parts
PART = ".tenure-"  # how the names of files that are still being written begin

_DEVICES = {"con", "prn", "aux", "nul", "clock$"} | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(10)
}


def checked(name: str) -> str:
    """The name, if it stays below the job's folder wherever that is; sub-folders are fine."""
    if not isinstance(name, str):
        raise InputRefused(f"the name of an artifact is a text, not {type(name).__name__}")
    name = str.__str__(name)
    why = _objection(name)
    if why is not None:
        shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}..."
        raise InputRefused(f"{shown!r} cannot be the name of an artifact: {why}")
    return name


def folded(name: str) -> str:
    """The same text for all names that some file system takes for one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def folders_of(name: str) -> list[str]:
    """For "a/b/c": "a" and "a/b"."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _objection(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    # Some stores normalize names, and a full-width dot is a dot afterwards.
    for form in (name, unicodedata.normalize("NFKC", name)):
        if any(unicodedata.category(character).startswith("C") for character in form):
            return "it has a control character or an invisible one in it"
        if "\\" in form:
            return "it has a backslash in it"
        if form.startswith("/"):
            return "it is absolute"
        if "::" in form:
            return "it has a :: in it, which has a meaning in URLs of stores"
        for part in form.split("/"):
            why = _objection_to_part(part)
            if why is not None:
                return why
    return None


def _objection_to_part(part: str) -> str | None:
    if not part:
        return "it has an empty part"
    if part in (".", ".."):
        return f"it has a {part} in it"
    if len(part.encode()) > LONGEST:
        return f"a part of it takes more than {LONGEST} bytes"
    if part != part.strip() or part.endswith("."):
        return "a part of it begins or ends with a space, or ends with a dot"
    plain = folded(part)
    if plain.startswith(PART) or plain.partition(".")[0].rstrip() in _DEVICES:
        return f"{part} is reserved"
    return None
