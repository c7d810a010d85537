"""A tenant: a schema with its jobs."""

import re
from dataclasses import dataclass

from tenure.domain.values import shown
from tenure.errors import InputRefused

_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")


@dataclass(frozen=True)
class Tenant:
    """A tenant by its name, which is checked because it becomes part of an SQL identifier."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InputRefused(
                f"{shown(self.name)} cannot be the name of a tenant; it takes a lower-case letter, "
                f"then up to 47 lower-case letters, digits or underscores"
            )

    @property
    def schema(self) -> str:
        """Return the name of its schema."""
        return "tenure" if self.name == "default" else f"tenure_{self.name}"


DEFAULT = Tenant("default")
