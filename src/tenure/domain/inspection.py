"""What can be seen inside a running job: where its code is, and what its processes take."""

from datetime import datetime

import msgspec

MAX_STACKS = 50
MAX_FRAMES = 100  # of one stack, the innermost ones
MAX_PROCESSES = 100


class Frame(msgspec.Struct, frozen=True):
    """One call on a stack. Never a value: those may be secrets."""

    file: str
    line: int
    function: str
    code: str = ""  # that line, where its file can be read


class Stack(msgspec.Struct, frozen=True):
    """Where one coroutine, task or thread of a job is; the innermost call comes last."""

    name: str
    frames: tuple[Frame, ...]

    def __str__(self) -> str:
        """As Python writes one."""
        calls = (f'File "{one.file}", line {one.line}, in {one.function}' for one in self.frames)
        codes = (f"\n  {one.code}" if one.code else "" for one in self.frames)
        return "\n".join(map("".join, zip(calls, codes, strict=True)))


class Process(msgspec.Struct, frozen=True):
    pid: int
    name: str
    state: str  # in a word: running, sleeping, waiting for a device, ...
    cpu_seconds: float
    memory: int  # bytes that it has in memory


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """A look into a running job: who asked, and what its worker saw."""

    id: int
    job_id: int
    asked_by: str
    asked_at: datetime
    answered_at: datetime | None = None  # none: its worker has not answered yet
    stacks: tuple[Stack, ...] = ()
    processes: tuple[Process, ...] = ()
    notes: tuple[str, ...] = ()  # what is to be known about it, or could not be seen, as sentences


class InspectionAnswer(msgspec.Struct, frozen=True):
    """The part of a look that a worker answers."""

    stacks: tuple[Stack, ...]
    processes: tuple[Process, ...]
    notes: tuple[str, ...]
