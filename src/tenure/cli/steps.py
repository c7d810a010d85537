"""The steps of a stop in words."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Words:
    """A step as it is said of it: Terminated 3 runners, Terminating runners."""

    past: str
    present: str
    plain: str
    thing: str
    counted: str | None = None  # the detail that says how many

    def done(self, count: Any) -> str:
        return f"{self.past} {self._things(count)}"

    def doing(self, count: Any) -> str:
        return f"{self.present} {self._things(count)}"

    def undone(self, count: Any) -> str:
        return f"Could not {self.plain} {self._things(count)}"

    def of_a_pause(self) -> "Words":
        return replace(self, past="Paused", present="Pausing", plain="pause")

    def _things(self, count: Any) -> str:
        if self.counted is None:
            return self.thing
        things = self.thing if count == 1 else f"{self.thing}s"
        return things if count is None else f"{count} {things}"


WORDS = {
    "stop_assignment": Words("Stopped", "Stopping", "stop", "task assignment"),
    "terminate_runners": Words("Terminated", "Terminating", "terminate", "runner", "runners"),
    "cancel_pending": Words("Cancelled", "Cancelling", "cancel", "pending task", "tasks"),
    "update_tasks": Words("Updated", "Updating", "update", "task states"),
    "release_slots": Words("Released", "Releasing", "release", "slot", "slots"),
    "preserve_artifacts": Words("Preserved", "Preserving", "preserve", "artifact", "artifacts"),
}
