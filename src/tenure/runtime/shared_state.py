"""The memory that a keeper shares with one runner.

A stop must not queue behind data, and a runner that holds its interpreter's lock cannot answer. So
shared memory holds the run that is on the CPU and the run that an interrupt is for. A process
runner also notes there which run began last, and the endings that it has not sent yet: they
survive its death.
"""

import mmap
import os

from tenure.runtime.guard.system import make_memory

SIZE = 1 << 16
_ENDINGS = 4096  # where the endings begin
_BEGUN, _BEGUN_AT, _SIZE, _HAS_OUTPUT = range(3, 7)


class _Word:
    """One number in the shared memory, as an attribute."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, state: "SharedState", _kind: type) -> int:
        return int(state.words[self._place])

    def __set__(self, state: "SharedState", value: int) -> None:
        state.words[self._place] = value


class SharedState:
    on_cpu = _Word(0)  # the run whose code is executing now; 0 if none is
    interrupt_target = _Word(1)  # the run that the next interrupt is for
    handled = _Word(7)  # the last run of a process runner whose ending and output were handled
    stamp = _Word(2)  # when the runner's event loop last turned, nanoseconds of CLOCK_MONOTONIC

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)
        self._bytes = memoryview(self._memory)
        self.words = self._bytes.cast("q")

    def close(self) -> None:
        self.words.release()
        self._bytes.release()
        self._memory.close()

    @staticmethod
    def create(name: str) -> int:
        """Return a descriptor of new shared memory."""
        descriptor = make_memory(name)
        os.ftruncate(descriptor, SIZE)
        return descriptor

    @property
    def begun(self) -> tuple[int, float]:
        """The run that began last, 0 if none did, and when, by CLOCK_MONOTONIC."""
        while True:
            run, at = self.words[_BEGUN], self.words[_BEGUN_AT]
            if run == self.words[_BEGUN]:
                return int(run), at / 1e9

    def note_begun(self, run: int, nanoseconds: int) -> None:
        self.words[_BEGUN] = 0
        self.words[_BEGUN_AT] = nanoseconds
        self.words[_BEGUN] = run

    @property
    def endings(self) -> bytes:
        """Frames with the endings that were not sent."""
        return bytes(self._bytes[_ENDINGS : _ENDINGS + max(self.words[_SIZE], 0)])

    def add_ending(self, frame: bytes) -> bool:
        """Keep an ending; return whether there was room for it."""
        start = _ENDINGS + self.words[_SIZE]
        if start + len(frame) > SIZE:
            return False
        self._bytes[start : start + len(frame)] = frame
        self.words[_SIZE] = start + len(frame) - _ENDINGS
        return True

    def forget_endings(self) -> None:
        self.words[_SIZE] = 0

    @property
    def has_output(self) -> bool:
        """True while the keeper holds output of the runner that it has not assigned to a run."""
        return bool(self.words[_HAS_OUTPUT])

    @has_output.setter
    def has_output(self, value: bool) -> None:
        self.words[_HAS_OUTPUT] = value
