"""The memory that a keeper shares with one runner.

A stop must not queue behind data, and a runner that holds its interpreter's lock cannot answer. So
shared memory holds the run that is on the CPU and the run that an interrupt is for. A process
runner also notes there which run began last, and the endings that it has not sent yet: they
survive its death.
"""

import mmap
import os

SIZE = 1 << 16
_ENDINGS = 4096  # where the endings begin
_ON_CPU, _INTERRUPT_TARGET, _STAMP, _BEGUN, _BEGUN_AT, _SIZE, _HAS_OUTPUT, _HANDLED = range(8)


class SharedState:
    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)
        self._bytes = memoryview(self._memory)
        self._words = self._bytes.cast("q")

    def close(self) -> None:
        self._words.release()
        self._bytes.release()
        self._memory.close()

    @staticmethod
    def create(name: str) -> int:
        """Return a descriptor of new shared memory."""
        descriptor = os.memfd_create(name)
        os.ftruncate(descriptor, SIZE)
        return descriptor

    @property
    def words(self) -> memoryview:
        """The memory itself, for code on the hot path that cannot afford a property."""
        return self._words

    @property
    def on_cpu(self) -> int:
        """The run whose code is executing now; 0 if none is."""
        return int(self._words[_ON_CPU])

    @on_cpu.setter
    def on_cpu(self, run: int) -> None:
        self._words[_ON_CPU] = run

    @property
    def interrupt_target(self) -> int:
        """The run that the next interrupt is for."""
        return int(self._words[_INTERRUPT_TARGET])

    @interrupt_target.setter
    def interrupt_target(self, run: int) -> None:
        self._words[_INTERRUPT_TARGET] = run

    @property
    def stamp(self) -> int:
        """The last time the runner's event loop turned, in nanoseconds of CLOCK_MONOTONIC."""
        return int(self._words[_STAMP])

    @stamp.setter
    def stamp(self, nanoseconds: int) -> None:
        self._words[_STAMP] = nanoseconds

    @property
    def begun(self) -> tuple[int, float]:
        """The run that began last, 0 if none did, and when, by CLOCK_MONOTONIC."""
        while True:
            run, at = self._words[_BEGUN], self._words[_BEGUN_AT]
            if run == self._words[_BEGUN]:
                return int(run), at / 1e9

    def note_begun(self, run: int, nanoseconds: int) -> None:
        self._words[_BEGUN] = 0
        self._words[_BEGUN_AT] = nanoseconds
        self._words[_BEGUN] = run

    @property
    def endings(self) -> bytes:
        """Frames with the endings that were not sent."""
        return bytes(self._bytes[_ENDINGS : _ENDINGS + max(self._words[_SIZE], 0)])

    def add_ending(self, frame: bytes) -> bool:
        """Keep an ending; return whether there was room for it."""
        start = _ENDINGS + self._words[_SIZE]
        if start + len(frame) > SIZE:
            return False
        self._bytes[start : start + len(frame)] = frame
        self._words[_SIZE] = start + len(frame) - _ENDINGS
        return True

    def forget_endings(self) -> None:
        self._words[_SIZE] = 0

    @property
    def has_output(self) -> bool:
        """True while the keeper holds output of the runner that it has not assigned to a run."""
        return bool(self._words[_HAS_OUTPUT])

    @has_output.setter
    def has_output(self, value: bool) -> None:
        self._words[_HAS_OUTPUT] = value

    @property
    def handled(self) -> int:
        """The last run of a process runner whose ending and output the keeper has handled."""
        return int(self._words[_HANDLED])

    @handled.setter
    def handled(self, run: int) -> None:
        self._words[_HANDLED] = run
