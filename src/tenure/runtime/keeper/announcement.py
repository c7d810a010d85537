"""The tasks and schedules of an app, as its first runner announces them."""

from collections.abc import Mapping
from typing import Any

from tenure.runtime.messages import Kind

_KINDS: Mapping[str, Kind] = {
    "async": "async",
    "thread": "thread",
    "process": "process",
    "command": "process",
}


class Announcement:
    def __init__(self, announcement: Mapping[str, Any]) -> None:
        self.schedules: list[Mapping[str, Any]] = list(announcement["schedules"])
        self.catalogue: list[Mapping[str, Any]] = list(announcement["tasks"])
        self.tasks: dict[Kind, list[str]] = {}
        for task in announcement["tasks"]:
            self.tasks.setdefault(_KINDS[task["executor"]], []).append(task["name"])

    @property
    def names(self) -> list[str]:
        return sorted(name for names in self.tasks.values() for name in names)
