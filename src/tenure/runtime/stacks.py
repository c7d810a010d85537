"""Stacks for people to read: the code of a job, without the frames of its runner around it."""

import asyncio
import concurrent.futures
import re
import threading
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from tenure.domain.inspection import MAX_FRAMES, Frame

RUNNER = str(Path(__file__).with_name("runner"))
_AROUND = (  # files between the runner and the code of a job
    RUNNER,
    str(Path(asyncio.__file__).parent),
    str(Path(concurrent.futures.__file__).parent),
    threading.__file__,
)
_CALL = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


def is_of_runner(frame: Frame) -> bool:
    return frame.file.startswith(RUNNER)


def of_job(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames from where the runner calls the job, outermost first; else all of them."""
    start = 0
    while start < len(frames) and not is_of_runner(frames[start]):
        start += 1
    while start < len(frames) and frames[start].file.startswith(_AROUND):
        start += 1
    return tuple(frames[start:] or frames)[-MAX_FRAMES:]


def read_dump(text: str) -> tuple[Frame, ...]:
    """Read the dump of faulthandler, which is innermost first."""
    calls = _CALL.findall(text)[::-1]
    frames = [Frame(file, int(line), function) for file, line, function in calls]
    return tuple(
        Frame(frame.file, frame.line, frame.function, _line(frame)) for frame in of_job(frames)
    )


def _line(frame: Frame) -> str:
    path = Path(frame.file)
    try:
        if path.suffix != ".py" or not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as source:
            return next(islice(source, frame.line - 1, None), "").strip()
    except (OSError, ValueError):
        return ""
