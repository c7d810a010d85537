"""The inspection of a running job: its stacks, and the usage of its processes."""

from datetime import datetime

import msgspec

MAX_STACKS = 50
MAX_FRAMES = 100  # of one stack, the innermost ones
MAX_PROCESSES = 100


class Frame(msgspec.Struct, frozen=True):
    """A call on a stack, without values: those may be secrets."""

    file: str
    line: int
    function: str
    code: str = ""  # that line, where its file can be read


class Stack(msgspec.Struct, frozen=True):
    """The stack of a coroutine, task or thread; the innermost call comes last."""

    name: str
    frames: tuple[Frame, ...]

    def __str__(self) -> str:
        """Return the stack as Python writes it."""
        return "\n".join(
            f'File "{frame.file}", line {frame.line}, in {frame.function}'
            + (f"\n  {frame.code}" if frame.code else "")
            for frame in self.frames
        )


class Process(msgspec.Struct, frozen=True):
    pid: int
    name: str
    state: str  # in a word: running, sleeping, waiting for a device, ...
    cpu_seconds: float
    memory: int  # bytes that it has in memory


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """An inspection of a running job: the request, and what its worker saw."""

    id: int
    job_id: int
    asked_by: str
    asked_at: datetime
    answered_at: datetime | None = None  # none: its worker has not answered yet
    stacks: tuple[Stack, ...] = ()
    processes: tuple[Process, ...] = ()
    notes: tuple[str, ...] = ()  # remarks, and what could not be seen, as sentences


class InspectionAnswer(msgspec.Struct, frozen=True):
    """The part of an inspection that a worker fills in."""

    stacks: tuple[Stack, ...]
    processes: tuple[Process, ...]
    notes: tuple[str, ...]
