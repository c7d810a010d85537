"""What the clean-up asks of a resource."""

from abc import ABC, abstractmethod


class ResourceManager(ABC):
    """One thing that a job holds and that must be closed when the job ends, however it ends."""

    name: str = ""  # in the report; empty: the name of the class
    close_timeout: float | None = None  # seconds to close in; none: the coordinator's
    same_thread: bool = False  # closed in the thread that closes all; only force may come elsewhere
    ended_by: BaseException | None = None  # why the job ended, told by the coordinator

    @abstractmethod
    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        """Let it finish what it does, and close it; say whether that was done in time."""

    @abstractmethod
    async def force_close(self) -> None:
        """Close it now, whatever it does; raise if that cannot be done."""

    @abstractmethod
    def is_active(self) -> bool:
        """Whether it is in the middle of something."""
