"""The interface between the clean-up and a resource."""

from abc import ABC, abstractmethod


class ResourceManager(ABC):
    """A resource that a job holds, and that is closed when the job ends, however it ends."""

    name: str = ""  # in the report; empty: the class name
    close_timeout: float | None = None  # seconds for a graceful close; None: the coordinator's
    same_thread: bool = False  # close gracefully only in the thread that closes all
    ended_by: BaseException | None = None  # the error that ended the job, set by the coordinator

    @abstractmethod
    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        """Let it finish its work, and close it; return whether that was done in time."""

    @abstractmethod
    async def force_close(self) -> None:
        """Close it now, whatever it is doing; raise if it cannot be closed."""

    @abstractmethod
    def is_active(self) -> bool:
        """Tell whether it is in the middle of work."""
