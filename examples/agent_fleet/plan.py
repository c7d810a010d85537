"""A plan: a job, its tasks, and which task comes after which."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task of a plan, and how its agent behaves."""

    name: str
    writes: Sequence[str]
    after: Sequence[str] = ()
    in_repo: bool = True  # false: its agent needs no worktree
    seconds: float = 0.1  # of work
    manner: Literal["obeys", "ignores", "forks"] = "obeys"


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    job: str
    tasks: Sequence[Step]

    @classmethod
    def read(cls, path: Path) -> "Plan":
        return msgspec.json.decode(path.read_bytes(), type=cls)
