"""How the demo speaks: lines with the time since its start, and promises that held or did not."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenure.domain.job import Job

COLOURS = {
    "completed": "green",
    "failed": "red",
    "cancelled": "magenta",
    "paused": "yellow",
    "running": "cyan",
    "expired": "red",
    "stopped": "magenta",
}


@dataclass
class Show:
    console: Console = field(default_factory=lambda: Console(highlight=False))
    started: float = field(default_factory=time.monotonic)
    broken: list[str] = field(default_factory=list)

    def title(self, text: str) -> None:
        self.console.print()
        self.console.print(Text(text, style="bold"))

    def line(self, text: str) -> None:
        at = f"{time.monotonic() - self.started:6.2f} s  "
        self.console.print(Text(at, style="dim") + Text(text))

    def promise(self, text: str, *, held: bool) -> None:
        """A promise, and whether it held just now."""
        mark = Text("✓ ", style="green") if held else Text("✗ ", style="bold red")
        self.console.print(Text(" " * 10) + mark + Text(text))
        if not held:
            self.broken.append(text)

    def jobs(self, jobs: Iterable[Job]) -> None:
        table = Table(box=None, padding=(0, 2), header_style="dim")
        for column in ("", "job", "task", "status", "attempt", "why"):
            table.add_column(column)
        for job in jobs:
            why = job.cancellation_reason or job.error_message or ""
            attempt = f"{job.attempt} of {job.max_attempts}" if job.task else ""
            colour = COLOURS.get(job.status, "")
            table.add_row(
                " " * 8, str(job.id), job.key or "", Text(job.status, style=colour), attempt, why
            )
        self.console.print(table)


def timeline(show: Show, jobs: Iterable[Job], width: int = 56) -> None:
    """Each job as a bar over the real time it took: waiting, then its attempts."""
    shown = list(jobs)
    start = min(job.created_at for job in shown).timestamp()
    end = max((job.completed_at or job.created_at) for job in shown).timestamp()
    scale = width / max(end - start, 0.001)

    def column(moment: float) -> int:
        return min(width, max(0, round((moment - start) * scale)))

    for job in shown:
        bar = Text(" " * width)
        spans = [
            (_seconds(a["started_at"]), _seconds(a["ended_at"]), str(a["outcome"]))
            for a in job.attempts
        ]
        if job.status == "completed" and job.started_at and job.completed_at:
            last = (job.started_at.timestamp(), job.completed_at.timestamp(), "completed")
            spans = [span for span in spans if span[0] != last[0]] + [last]
        first = spans[0][0] if spans else (job.completed_at or job.created_at).timestamp()
        waited = "·" * max(0, column(first) - column(job.created_at.timestamp()))
        bar = Text(" " * column(job.created_at.timestamp())) + Text(waited, style="dim")
        for begin, over, outcome in spans:
            bar.append(" " * max(0, column(begin) - len(bar)))
            bar.append("━" * max(1, column(over) - len(bar)), style=COLOURS.get(outcome, "cyan"))
        show.console.print(Text(f"{'':8}{job.key or job.id!s:<8}") + bar)
    show.console.print(Text(f"{'':16}0 s{'':<{width - 8}}{end - start:4.1f} s", style="dim"))


def _seconds(moment: object) -> float:
    from datetime import datetime

    return datetime.fromisoformat(str(moment)).timestamp()
