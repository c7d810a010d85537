"""Memory that keeper and guard share, so that no message can be late or stuck."""

import mmap
import os

from .system import boottime as boottime
from .system import make_memory

SIZE = mmap.PAGESIZE
_DEADLINE, _STAMP, _FROZEN = range(3)


class GuardState:
    """Three numbers, each written by one side only, in a single store."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._memory = mmap.mmap(fd, SIZE)
        self._bytes = memoryview(self._memory)
        self._numbers = self._bytes.cast("d")

    @classmethod
    def create(cls) -> "GuardState":
        fd = make_memory("tenure-guard")
        os.ftruncate(fd, SIZE)
        return cls(fd)

    def close(self) -> None:
        self._numbers.release()
        self._bytes.release()
        self._memory.close()
        os.close(self.fd)

    @property
    def deadline(self) -> float:
        """The time until which the keeper is trusted; 0 before it was first set."""
        return float(self._numbers[_DEADLINE])

    @deadline.setter
    def deadline(self, when: float) -> None:
        self._numbers[_DEADLINE] = when  # type: ignore[call-overload,unused-ignore]

    @property
    def stamp(self) -> float:
        """The time of the guard's last round."""
        return float(self._numbers[_STAMP])

    @stamp.setter
    def stamp(self, when: float) -> None:
        self._numbers[_STAMP] = when  # type: ignore[call-overload,unused-ignore]

    @property
    def frozen(self) -> bool:
        """True if there are runners and all of them are stopped."""
        return bool(self._numbers[_FROZEN])

    @frozen.setter
    def frozen(self, frozen: bool) -> None:
        self._numbers[_FROZEN] = float(frozen)  # type: ignore[call-overload,unused-ignore]
